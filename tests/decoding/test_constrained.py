"""Beam search with phrases that must come, on tables that can be worked out by hand."""

import itertools
import math

import pytest

from tests.decoding.fakes import FOREVER, TRAP, VOCABULARY, A, B, C, Table, TableModel, one_table, searched, sources
from weft.data.codecs.subwords import END, START
from weft.decoding import Beam, Constrained, Hypothesis, Phrase
from weft.models.base import Inputs
from weft.parts.call import Call, Memory

# a, b or c at each step, whatever came before; a is likeliest and c is rare.
FREE: Table = {last: {A: 0.5, B: 0.2, C: 0.05, END: 0.25} for last in (START, A, B, C)}


class Fresh(TableModel):
    """Counts its steps anew for every sentence."""

    def prompt(self, inputs: Inputs, call: Call) -> Memory:
        self.rows.clear()
        return super().prompt(inputs, call)


def search(*phrases: Phrase, table: Table = FREE, **options: object) -> list[Hypothesis]:
    return searched(Constrained(phrases, **options), [one_table(table)], sources(3))[0]  # type: ignore[arg-type]


def best(phrases: tuple[tuple[int, ...], ...], table: Table = FREE, **options: object) -> Hypothesis:
    """With phrases that stand for no word."""
    return search(*map(Phrase, phrases), table=table, **options)[0]


def test_without_phrases_it_is_beam_search() -> None:
    found = searched(Beam(5, 0.0), [one_table(TRAP)], sources(3))[0][0]
    assert best((), TRAP).ids == found.ids == (B, END)


@pytest.mark.parametrize("phrases", [((C,),), ((B, C),), ((C,), (C,)), ((C, A), (B,)), ((A, A, B),), ((A, B), (A, C))])
def test_result_is_the_likeliest_translation_with_all_phrases(phrases: tuple[tuple[int, ...], ...]) -> None:
    """By trying every order: all phrases one after the other, and the end; anything more is less likely."""
    found = best(phrases)
    expected = {tuple(itertools.chain(*order, (END,))) for order in itertools.permutations(phrases)}
    assert found.ids in expected
    assert sum(found.log_probs) == pytest.approx(sum(math.log(FREE[START][token]) for token in found.ids), abs=1e-4)
    assert found.finished


def test_a_phrase_comes_where_the_model_wants_it() -> None:
    """c is likely after a only: a c is better than c at once."""
    table: Table = {
        START: {A: 0.9, C: 0.01, END: 0.09},
        A: {C: 0.4, A: 0.3, END: 0.3},
        C: {END: 0.9, A: 0.1},
        B: {END: 1.0},
    }
    assert best(((C,),), table).ids == (A, C, END)


def test_interrupted_phrase_is_started_again() -> None:
    """After a b the model never says c; only from a second a does it get to b c … and every path holds a, b, c."""
    table: Table = {START: {A: 1.0}, A: {A: 0.5, B: 0.5}, B: {C: 0.01, END: 0.99}, C: {END: 1.0}}
    assert best(((A, B, C),), table).ids == (A, B, C, END)
    assert best(((A, A, B),), table).ids == (A, A, B, END)


def test_inner_token_does_not_follow_a_phrase() -> None:
    table: Table = {START: {A: 1.0}, A: {B: 0.9, C: 0.1}, B: {END: 1.0}, C: {END: 1.0}}
    assert best(((A,),), table).ids == (A, B, END)
    assert best(((A,),), table, inner=frozenset({B})).ids == (A, C, END)


def test_equal_phrases_begin_one_at_a_time() -> None:
    model = one_table(FREE)
    searched(Constrained((Phrase((C,)), Phrase((C,))), width=2), [model], sources(3))
    assert model.rows[:2] == [1, 3]  # then a and b, and c as one of the two


def test_impossible_phrase_falls_back_to_beam_search() -> None:
    """The table never says b: no translation holds it."""
    model = Fresh(dict.fromkeys(range(VOCABULARY), FOREVER), limit=6)
    found = searched(Constrained((Phrase((B,)),), width=2), [model], sources(3))[0]
    without = searched(Beam(2), [one_table(FOREVER, limit=6)], sources(3))[0]
    assert [one.ids for one in found] == [one.ids for one in without]


def test_each_sentence_of_a_batch_has_its_own_result() -> None:
    tables = {A: FREE, B: {START: {C: 1.0}, C: {END: 1.0}}}
    first, second = searched(Constrained((Phrase((C,)),)), [Fresh(tables)], sources(3, 5))
    assert first[0].ids == best(((C,),)).ids
    assert [one.ids for one in second] == [(C, END)]


# a b, or b a; c is as good as never written
WORDS: Table = {
    START: {A: 0.6, B: 0.38, C: 0.01, END: 0.01},
    A: {B: 0.9, A: 0.05, END: 0.05},
    B: {END: 0.7, A: 0.2, C: 0.1},
    C: {B: 0.7, A: 0.2, END: 0.1},
}


def test_phrase_replaces_its_word_with_the_same_probability() -> None:
    found = search(Phrase((C,), A), table=WORDS)
    assert found[0].ids == (C, B, END)
    assert found[0].log_probs == pytest.approx([math.log(p) for p in (0.6, 0.7, 0.7)], abs=1e-4)
    assert not any(A in one.ids for one in found), "the word itself is not written"
    assert best(((C,),), WORDS).ids == (A, B, C, B, END), "where it stands for none it comes beside it"


def test_longer_phrase_costs_no_more() -> None:
    found = search(Phrase((C, C, B), A), table=WORDS)[0]
    assert found.ids == (C, C, B, END)
    assert found.log_probs == pytest.approx([math.log(0.6), 0.0, 0.0, math.log(0.7)], abs=1e-4)


def test_each_phrase_replaces_its_own_word() -> None:
    """b for a and c for b, where the model writes a b."""
    table = {START: {A: 0.6, B: 0.4}, A: {B: 0.9, END: 0.1}, B: {B: 0.8, END: 0.2}, C: {A: 0.1, END: 0.9}}
    assert search(Phrase((B,), A), Phrase((C,), B), table=table)[0].ids == (B, C, END)


@pytest.mark.parametrize("phrase", [Phrase((C,), A), Phrase((C,))])
def test_hypotheses_are_sorted_by_score(phrase: Phrase) -> None:
    """log P / |Y|^α; log P alone where a phrase comes at its own price."""
    found = search(phrase, table=WORDS)
    scores = [one.score for one in found]
    assert len(found) == 5
    assert scores == sorted(scores, reverse=True)
    for one in found:
        assert one.score == pytest.approx(sum(one.log_probs) / (1 if phrase.instead is None else len(one.ids)))
