"""Beam search on models that can be worked out by hand."""

import math
from functools import partial
from itertools import product

import pytest
import torch

from tests.decoding.fakes import FOREVER, TRAP, VOCABULARY, A, B, C, History, TableModel, one_table, searched, sources
from weft.data.codecs.subwords import END, START
from weft.decoding import Beam, Constrained, Greedy, Hypothesis, Phrase, Sample
from weft.errors import WeftError


def only(found: list[list[Hypothesis]]) -> list[Hypothesis]:
    (hypotheses,) = found
    return hypotheses


def every_sequence(table: object, limit: int) -> dict[tuple[int, ...], float]:
    """All sequences over a and b that end, or are cut at the limit, with their log-probabilities."""
    assert isinstance(table, dict)
    found = {}
    for length in range(limit + 1):
        for words in product((A, B), repeat=length):
            ids = (*words, END) if length < limit else words
            probability = math.prod(table[last].get(token, 0.0) for last, token in zip((START, *ids), ids))
            if probability:
                found[ids] = math.log(probability)
    return found


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_wide_beam_finds_every_sequence(length_penalty: float) -> None:
    everything = every_sequence(TRAP, limit=4)
    found = only(searched(Beam(len(everything) + 1, length_penalty), [one_table(TRAP, limit=4)], sources(3)))
    assert len(found) == len(everything) == 10 + 8
    expected = {ids: log_prob / len(ids) ** length_penalty for ids, log_prob in everything.items()}
    assert {h.ids: h.score for h in found} == pytest.approx(expected)
    assert {h.ids: sum(h.log_probs) for h in found} == pytest.approx(everything)
    assert found == sorted(found, key=lambda h: (not h.finished, -h.score))


def test_beam_of_two_finds_what_greedy_misses() -> None:
    greedy = only(searched(Greedy(), [one_table(TRAP)], sources(1)))[0]
    beam = only(searched(Beam(2, length_penalty=0.0), [one_table(TRAP)], sources(1)))
    assert greedy.ids[:3] == (A, A, A)
    assert beam[0].ids == (B, END)
    assert beam[0].score == pytest.approx(math.log(0.4 * 0.9))
    assert beam[1].ids == (A, B, END), "a alone was never among the two best of its step"
    assert beam[1].score == pytest.approx(math.log(0.6 * 0.35 * 0.9))


def test_beam_of_one_is_greedy() -> None:
    for table in (TRAP, FOREVER, {START: {A: 1.0}, A: {B: 0.6, END: 0.4}, B: {END: 0.6, A: 0.4}}):
        batch = sources(1, 4, 2)
        assert searched(Beam(1), [one_table(table)], batch) == searched(Greedy(), [one_table(table)], batch)


def test_length_penalty_decides_between_short_and_long() -> None:
    """a: log 0.55 over two tokens.   b c: log 0.4275 over three."""
    table = {START: {A: 0.55, B: 0.45}, A: {END: 1.0}, B: {C: 0.95, END: 0.05}, C: {END: 1.0}}
    by_total = only(searched(Beam(3, length_penalty=0.0), [one_table(table)], sources(1)))
    by_mean = only(searched(Beam(3, length_penalty=1.0), [one_table(table)], sources(1)))
    assert [h.ids for h in by_total] == [(A, END), (B, C, END), (B, END)]
    assert [h.ids for h in by_mean] == [(B, C, END), (A, END), (B, END)]
    assert by_mean[0].score == pytest.approx(math.log(0.4275) / 3)
    assert by_mean[1].score == pytest.approx(math.log(0.55) / 2)


def test_hypotheses_are_sorted_and_at_most_beam_width_many() -> None:
    found = only(searched(Beam(4), [one_table(TRAP)], sources(2)))
    assert len(found) == 4
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
    assert len({h.ids for h in found}) == 4


def test_endless_translation_is_cut_at_twice_its_source_plus_20() -> None:
    """A sentence that cannot end beside one that does: ended ones come first, cut ones say so."""
    table = {START: {A: 0.5, B: 0.5}, A: {A: 1.0}, B: {END: 1.0}}
    first, second = searched(Beam(2), [one_table(table)], sources(1, 3))
    for found, length in ((first, 1), (second, 3)):
        assert [h.finished for h in found] == [True, False]
        assert found[0].ids == (B, END)
        assert found[1].ids == (A,) * (2 * length + 20)


def test_position_limit_caps_the_length() -> None:
    (found,) = searched(Beam(2), [one_table(FOREVER, limit=6), one_table(FOREVER, limit=8)], sources(4))
    assert max(len(h.ids) for h in found) <= 6


def test_translation_may_end_exactly_at_the_limit() -> None:
    table = {START: {A: 1.0}, A: {B: 1.0}, B: {END: 1.0}}
    found = only(searched(Beam(2), [one_table(table, limit=3)], sources(4)))
    assert [(h.ids, h.finished) for h in found] == [((A, B, END), True)]
    cut = only(searched(Beam(2), [one_table(table, limit=2)], sources(4)))
    assert [(h.ids, h.finished) for h in cut] == [((A, B), False)]


def test_finished_sentence_leaves_the_batch() -> None:
    ends_at_once = {START: {END: 0.6, A: 0.4}, A: {END: 1.0}}
    ends_later = {START: {A: 0.6, B: 0.4}, A: {C: 1.0}, B: {C: 1.0}, C: {END: 1.0}}
    model = TableModel({A: ends_at_once, B: ends_later})
    first, second = searched(Beam(2), [model], sources(2, 2))
    assert [h.ids for h in first] == [(A, END), (END,)], "by the mean over tokens"
    assert [h.ids for h in second] == [(A, C, END), (B, C, END)]
    assert model.rows == [2, 4, 2], "one row each, then two each, then only the second's"
    assert model.encoded == 1


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_rows_lead_to_what_a_watcher_saw(width: int) -> None:
    """At each step the row of a hypothesis had been fed START and the hypothesis up to there."""
    table = {
        START: {A: 0.4, B: 0.35, C: 0.25},
        A: {A: 0.2, B: 0.3, C: 0.3, END: 0.2},
        B: {A: 0.5, C: 0.2, END: 0.3},
        C: {C: 0.3, A: 0.1, B: 0.2, END: 0.4},
    }
    other = {START: {C: 0.9, A: 0.1}, C: {B: 1.0}, A: {A: 0.6, END: 0.4}, B: {END: 0.5, A: 0.5}}
    watch = History()
    model = TableModel({A: table, B: other, C: table})
    for found in searched(Beam(width), [model], sources(3, 2, 3), watch):
        assert found
        for hypothesis in found:
            fed = [watch.steps[step][row] for step, row in enumerate(hypothesis.rows)]
            assert fed == [[START, *hypothesis.ids[:step]] for step in range(len(hypothesis.ids))]


def test_ensemble_averages_probabilities() -> None:
    first = one_table({START: {A: 0.7, B: 0.3}, A: {END: 0.2, B: 0.8}, B: {END: 1.0}})
    second = one_table({START: {A: 0.1, B: 0.9}, A: {END: 0.6, B: 0.4}, B: {END: 1.0}})
    found = only(searched(Beam(3, length_penalty=0.0), [first, second], sources(1)))
    assert [h.ids for h in found] == [(B, END), (A, B, END), (A, END)]
    assert [math.exp(h.score) for h in found] == pytest.approx([0.6, 0.4 * 0.6, 0.4 * 0.4])
    assert [math.exp(p) for p in found[1].log_probs] == pytest.approx([0.4, 0.6, 1.0])


def test_impossible_hypotheses_are_not_returned() -> None:
    """There are fewer beginnings than beams: what fills them up would end at once, and must not count."""
    table = {START: {A: 1.0}, A: {B: 0.5, END: 0.5}, **{token: {END: 1.0} for token in range(B, VOCABULARY)}}
    found = only(searched(Beam(20, length_penalty=0.0), [one_table(table)], sources(1)))
    assert {h.ids: math.exp(h.score) for h in found} == pytest.approx({(A, END): 0.5, (A, B, END): 0.5})


def test_beam_width_is_at_least_one() -> None:
    with pytest.raises(WeftError, match="beam width must be at least 1, got 0"):
        Beam(0)


def test_beam_width_is_smaller_than_the_vocabulary() -> None:
    assert only(searched(Beam(VOCABULARY - 1), [one_table(TRAP)], sources(1)))
    with pytest.raises(WeftError, match=r"beam width 50 must be smaller than the vocabulary \(50\)"):
        searched(Beam(VOCABULARY), [one_table(TRAP)], sources(1))


@pytest.mark.parametrize("alpha", [10.5, -400, math.nan, math.inf])
def test_length_penalty_out_of_range_is_refused(alpha: float) -> None:
    for search in (Beam, Greedy, Sample, partial(Constrained, (Phrase((A,)),))):
        search(length_penalty=-10)
        with pytest.raises(WeftError, match=f"length penalty must be between -10 and 10, got {alpha}"):
            search(length_penalty=alpha)


def test_no_sources_give_no_hypotheses() -> None:
    assert searched(Beam(3), [one_table(TRAP)], torch.zeros(0, 4, dtype=torch.long)) == []
