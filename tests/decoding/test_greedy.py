"""One path through the decoder, and the limit on its length."""

import math

import pytest
import torch

from tests.decoding.fakes import FOREVER, TRAP, A, B, History, TableModel, one_table, searched, sources
from weft.data.codecs.subwords import END, START
from weft.decoding import Greedy

SHORT = {START: {A: 0.8, END: 0.2}, A: {END: 0.7, B: 0.3}}
LONG = {START: {B: 1.0}, B: {A: 0.6, B: 0.4}, A: {END: 0.9, B: 0.1}}


def test_greedy_takes_the_likeliest_token_at_each_step() -> None:
    ((hypothesis,),) = searched(Greedy(length_penalty=1.0), [one_table(LONG)], sources(2))
    assert hypothesis.ids == (B, A, END)
    assert hypothesis.finished
    assert [math.exp(p) for p in hypothesis.log_probs] == pytest.approx([1.0, 0.6, 0.9])
    assert hypothesis.score == pytest.approx(math.log(0.54) / 3)


def test_each_sentence_has_its_own_limit() -> None:
    found = searched(Greedy(), [one_table(FOREVER)], sources(1, 4, 2))
    assert [len(hypothesis.ids) for (hypothesis,) in found] == [22, 28, 24], "2 S + 20, padding not counted"
    assert not any(hypothesis.finished for (hypothesis,) in found)


def test_position_limit_caps_the_length() -> None:
    ((hypothesis,),) = searched(Greedy(), [one_table(FOREVER, limit=7)], sources(4))
    assert (len(hypothesis.ids), hypothesis.finished) == (7, False)


def test_finished_sentence_leaves_the_batch() -> None:
    model = TableModel({A: SHORT, B: LONG, B + 1: SHORT})
    first, second, third = searched(Greedy(), [model], sources(3, 2, 2))
    assert [h.ids for (h,) in (first, second, third)] == [(A, END), (B, A, END), (A, END)]
    assert model.rows == [3, 3, 1]
    assert model.encoded == 1


def test_rows_lead_to_what_a_watcher_saw() -> None:
    watch = History()
    for (hypothesis,) in searched(Greedy(), [TableModel({A: SHORT, B: LONG, B + 1: TRAP})], sources(3, 2, 2), watch):
        fed = [watch.steps[step][row] for step, row in enumerate(hypothesis.rows)]
        assert fed == [[START, *hypothesis.ids[:step]] for step in range(len(hypothesis.ids))]


def test_ensemble_averages_probabilities() -> None:
    first = one_table({START: {A: 0.6, B: 0.4}, A: {END: 1.0}, B: {END: 1.0}})
    second = one_table({START: {A: 0.3, B: 0.7}, A: {END: 1.0}, B: {END: 1.0}})
    ((hypothesis,),) = searched(Greedy(), [first, second], sources(1))
    assert hypothesis.ids == (B, END)
    assert math.exp(hypothesis.log_probs[0]) == pytest.approx(0.55)


def test_no_sources_give_no_hypotheses() -> None:
    assert searched(Greedy(), [one_table(TRAP)], torch.zeros(0, 4, dtype=torch.long)) == []
