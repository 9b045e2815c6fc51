"""Beam search with phrases that must come, on tables that can be worked out by hand."""

import itertools
import math

import pytest
from torch import Tensor

from tests.decoding.fakes import FOREVER, TRAP, VOCABULARY, A, B, C, Table, TableModel, one_table, sources
from weft.data.codecs.subwords import END, START
from weft.decoding import Beam, Constrained, Hypothesis, Phrase
from weft.parts.call import Memory, Watch

# a, b or c at each step, whatever came before; a is likeliest and c is rare.
FREE: Table = {last: {A: 0.5, B: 0.2, C: 0.05, END: 0.25} for last in (START, A, B, C)}


class Fresh(TableModel):
    """Counts its steps anew for every sentence."""

    def encode(self, source: Tensor, watch: Watch | None = None) -> Memory:
        self.rows.clear()
        return super().encode(source, watch)


def search(*phrases: Phrase, table: Table = FREE, **options: object) -> list[Hypothesis]:
    return Constrained(phrases, **options)([one_table(table)], sources(3))[0]  # type: ignore[arg-type, list-item]


def best(phrases: tuple[tuple[int, ...], ...], table: Table = FREE, **options: object) -> Hypothesis:
    """With phrases that stand for no word."""
    return search(*map(Phrase, phrases), table=table, **options)[0]


def test_without_phrases_it_is_the_likeliest_of_a_beam_search() -> None:
    found = Beam(5, 0.0)([one_table(TRAP)], sources(3))[0][0]  # type: ignore[list-item]
    assert best((), TRAP).ids == found.ids == (B, END)


@pytest.mark.parametrize("phrases", [((C,),), ((B, C),), ((C,), (C,)), ((C, A), (B,)), ((A, A, B),), ((A, B), (A, C))])
def test_every_phrase_is_in_the_likeliest_translation_that_holds_all(phrases: tuple[tuple[int, ...], ...]) -> None:
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


def test_a_phrase_that_was_begun_and_left_must_be_written_anew() -> None:
    """After a b the model never says c; only from a second a does it get to b c … and every path holds a, b, c."""
    table: Table = {START: {A: 1.0}, A: {A: 0.5, B: 0.5}, B: {C: 0.01, END: 0.99}, C: {END: 1.0}}
    assert best(((A, B, C),), table).ids == (A, B, C, END)
    assert best(((A, A, B),), table).ids == (A, A, B, END)


def test_no_word_goes_on_after_a_phrase() -> None:
    table: Table = {START: {A: 1.0}, A: {B: 0.9, C: 0.1}, B: {END: 1.0}, C: {END: 1.0}}
    assert best(((A,),), table).ids == (A, B, END)
    assert best(((A,),), table, inner=frozenset({B})).ids == (A, C, END)


def test_of_two_that_are_alike_only_one_is_begun_at_a_time() -> None:
    model = one_table(FREE)
    Constrained((Phrase((C,)), Phrase((C,))), width=2)([model], sources(3))  # type: ignore[list-item]
    assert model.rows[:2] == [1, 3]  # then a and b, and c as one of the two


def test_what_cannot_come_is_answered_as_without_it() -> None:
    """The table never says b: no translation holds it."""
    model = Fresh(dict.fromkeys(range(VOCABULARY), FOREVER), limit=6)
    found = Constrained((Phrase((B,)),), width=2)([model], sources(3))[0]  # type: ignore[list-item]
    assert [one.ids for one in found] == [one.ids for one in Beam(2)([one_table(FOREVER, limit=6)], sources(3))[0]]  # type: ignore[list-item]


def test_of_a_batch_each_sentence_has_its_own_answer() -> None:
    tables = {A: FREE, B: {START: {C: 1.0}, C: {END: 1.0}}}
    first, second = Constrained((Phrase((C,)),))([Fresh(tables)], sources(3, 5))  # type: ignore[list-item]
    assert first[0].ids == best(((C,),)).ids
    assert [one.ids for one in second] == [(C, END)]


# a b, or b a; c is as good as never written
WORDS: Table = {
    START: {A: 0.6, B: 0.38, C: 0.01, END: 0.01},
    A: {B: 0.9, A: 0.05, END: 0.05},
    B: {END: 0.7, A: 0.2, C: 0.1},
    C: {B: 0.7, A: 0.2, END: 0.1},
}


def test_a_phrase_that_stands_for_a_word_comes_in_its_place_at_its_price() -> None:
    found = search(Phrase((C,), A), table=WORDS)
    assert found[0].ids == (C, B, END)
    assert found[0].log_probs == pytest.approx([math.log(p) for p in (0.6, 0.7, 0.7)], abs=1e-4)
    assert not any(A in one.ids for one in found), "the word itself is not written"
    assert best(((C,),), WORDS).ids == (A, B, C, B, END), "where it stands for none it comes beside it"


def test_more_tokens_of_it_cost_no_more() -> None:
    found = search(Phrase((C, C, B), A), table=WORDS)[0]
    assert found.ids == (C, C, B, END)
    assert found.log_probs == pytest.approx([math.log(0.6), 0.0, 0.0, math.log(0.7)], abs=1e-4)


def test_each_phrase_comes_in_the_place_of_its_own_word() -> None:
    """b for a and c for b, where the model writes a b."""
    table = {START: {A: 0.6, B: 0.4}, A: {B: 0.9, END: 0.1}, B: {B: 0.8, END: 0.2}, C: {A: 0.1, END: 0.9}}
    assert search(Phrase((B,), A), Phrase((C,), B), table=table)[0].ids == (B, C, END)


@pytest.mark.parametrize("phrase", [Phrase((C,), A), Phrase((C,))])
def test_the_best_score_is_the_best(phrase: Phrase) -> None:
    """log P / |Y|^α; log P alone where a phrase comes at its own price."""
    found = search(phrase, table=WORDS)
    scores = [one.score for one in found]
    assert len(found) == 5
    assert scores == sorted(scores, reverse=True)
    for one in found:
        assert one.score == pytest.approx(sum(one.log_probs) / (1 if phrase.instead is None else len(one.ids)))
