"""Glossaries: where terms occur, what they stand for, and whether they came."""

from types import SimpleNamespace

import pytest

from weft.decoding import Phrase
from weft.serving.glossary import Outcome, Term, occurring, outcome, phrases_of


def test_where_terms_occur() -> None:
    cat, black_cat, city, street = (Term(source=s, target="x") for s in ("cat", "black cat", "C++", "Straße"))
    text = "A Black Cat saw a cat, concatenated."
    assert list(occurring([cat, black_cat], text)) == [(black_cat, (2, 11)), (cat, (18, 21))]
    assert list(occurring([city], "I like c++.")) == [(city, (7, 10))]
    assert list(occurring([street], "große STRASSE")) == [(street, (6, 13))]
    assert list(occurring([], "cat")) == []


@pytest.mark.parametrize(
    ("places", "words"), [([0, 2], [7, 8]), ([None, 0], [None, 7]), ([1, 0], [None, 7]), ([1, 3], [5, 5])]
)
def test_a_term_replaces_a_word_only_if_written_from_it_alone(places: list[int | None], words: list[int]) -> None:
    ids = (7, 5, 8, 5, 2)  # one word is there twice
    tokeniser = SimpleNamespace(encode=lambda text: [ord(text), 2])
    translator = SimpleNamespace(tokeniser=tokeniser, beginnings=lambda *_: places)
    terms = [(Term(source=target, target=f" {target} "), (0, 1)) for target in "ab"]
    found = phrases_of(terms, "a b", ids, translator)  # type: ignore[arg-type]
    assert found == tuple(Phrase((ord(target),), word) for target, word in zip("ab", words))


def test_outcome_lists_kept_and_failed_terms() -> None:
    car, new_car, with_it = (
        Term(source=source, target=target)
        for source, target in (("car", "Karre"), ("a new car", "einen Neuwagen"), ("Car", "Neuwagen"))
    )
    bought = ("He bought a new car.", "Er kaufte einen Neuwagen.")
    assert outcome([car, new_car], [bought]) == Outcome(kept=[new_car], failed=[car])
    assert outcome([with_it, new_car], [bought]) == Outcome(kept=[with_it, new_car], failed=[])
    assert outcome([car], [("A car is a car.", "Eine Karre ist ein Auto.")]) == Outcome(kept=[], failed=[car])
    assert outcome([car], [("A car.", "Eine Karre."), ("Cars, a CAR", "Karre")]) == Outcome(kept=[car], failed=[])
    assert outcome([car], [("A carpet.", "Karre")]) == Outcome(kept=[], failed=[])
