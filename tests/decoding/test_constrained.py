"""Beam search with phrases that must come, on tables that can be worked out by hand."""

import itertools
import math

import pytest
from torch import Tensor

from tests.decoding.fakes import FOREVER, TRAP, VOCABULARY, A, B, C, Table, TableModel, one_table, sources
from weft.decoding import Beam, Constrained, Hypothesis
from weft.models.sequence_to_sequence import END, START
from weft.parts.call import Memory, Watch

# a, b or c at each step, whatever came before; a is likeliest and c is rare.
FREE: Table = {last: {A: 0.5, B: 0.2, C: 0.05, END: 0.25} for last in (START, A, B, C)}


class Fresh(TableModel):
    """Counts its steps anew for every sentence."""

    def encode(self, source: Tensor, watch: Watch | None = None) -> Memory:
        self.rows.clear()
        return super().encode(source, watch)


def best(phrases: tuple[tuple[int, ...], ...], table: Table = FREE, **options: object) -> Hypothesis:
    return Constrained(phrases, **options)([one_table(table)], sources(3))[0][0]  # type: ignore[arg-type, list-item]


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


def test_what_cannot_come_is_answered_as_without_it() -> None:
    """The table never says b: no translation holds it."""
    model = Fresh(dict.fromkeys(range(VOCABULARY), FOREVER), limit=6)
    found = Constrained(((B,),), width=2)([model], sources(3))[0]  # type: ignore[list-item]
    assert [one.ids for one in found] == [one.ids for one in Beam(2)([one_table(FOREVER, limit=6)], sources(3))[0]]  # type: ignore[list-item]


def test_of_a_batch_each_sentence_has_its_own_answer() -> None:
    tables = {A: FREE, B: {START: {C: 1.0}, C: {END: 1.0}}}
    first, second = Constrained(((C,),))([Fresh(tables)], sources(3, 5))  # type: ignore[list-item]
    assert first[0].ids == best(((C,),)).ids
    assert [one.ids for one in second] == [(C, END)]
