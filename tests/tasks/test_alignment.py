"""Word alignment: on attention that is written down by hand."""

import pytest
import torch

from weft.tasks.alignment import (
    Aligner,
    Seen,
    choose,
    diagonal,
    known_or_usual,
    links,
    pharaoh,
    sure_links,
    words,
    written_from,
)


def test_tokens_belong_to_the_words_between_white_space() -> None:
    assert words([" the", " un", "seen", ",", " \n", "cat", ""]) == [0, 1, 1, 1, None, 2, None]
    assert words(["caf", "", "é"]) == [0, None, 0]
    assert words([]) == []


def test_diagonal_keeps_the_order_of_words() -> None:
    assert links(diagonal(3, 3)) == [(0, 0), (1, 1), (2, 2)]
    assert links(diagonal(4, 2)) == [(0, 0), (2, 1)]
    assert links(diagonal(2, 4)) == [(0, 0), (0, 1), (1, 2), (1, 3)]
    assert diagonal(2, 0) == []


def test_weights_of_a_word_are_the_sum_over_its_tokens() -> None:
    """Two source words of one and two tokens, two target words of two and one; both ends are left out."""
    cross = torch.tensor(
        [[[[0.6, 0.1, 0.1, 0.2], [0.2, 0.2, 0.2, 0.4], [0.2, 0.3, 0.3, 0.2], [0.0, 0.0, 0.0, 1.0]]]]
    )  # (1, 1, T, S)
    seen = Seen(cross, [0, 1, 1, None], [0, 0, 1, None])
    found = Aligner(1, 1).weights(seen)
    assert found[0] == pytest.approx([0.8, 0.6])
    assert found[1] == pytest.approx([0.2, 0.6])
    assert links(found) == [(0, 0), (1, 1)]
    late = Aligner(1, 1, late=True).weights(seen)
    assert late[0] == pytest.approx([0.4, 1.0])
    assert late[1] == pytest.approx([0.0, 0.0])


def test_written_from_needs_both_words_to_choose_each_other() -> None:
    """Three target words over three source words: the second also looks at the first word, but less than the first."""
    weights = [[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.1, 0.5, 0.4]]
    assert [written_from([source], weights) for source in range(3)] == [0, 2, None]
    assert written_from([1, 2], weights) == 2
    assert written_from([0], []) is None


def test_pharaoh_format() -> None:
    assert pharaoh([(1, 2), (0, 0), (1, 0)]) == "0-0 1-0 1-2"


PAIRS = [("the cat", "die Katze"), ("the dog", "der Hund"), ("a cat", "eine Katze"), ("a dog.", "ein Hund.")]


def test_ibm_model_1_links_words_that_come_together() -> None:
    sure = sure_links([*PAIRS, ("cat the", "die Katze")])
    assert (1, 1) in sure[0]
    assert (1, 1) in sure[3]
    assert (0, 1) in sure[4]


def test_the_head_that_finds_the_sure_links_is_chosen() -> None:
    """Of two layers of two heads, the second head of the second layer looks where it should, a step late."""
    good = torch.tensor([[0.1, 0.1, 0.8], [0.9, 0.1, 0.0], [0.1, 0.9, 0.0]])  # the rows of START, word 0 and word 1
    bad = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    cross = torch.stack([torch.stack([bad, bad]), torch.stack([bad, good])])  # (2, 2, T, S)
    seen = [Seen(cross, [0, 1, None], [0, 1, None]) for _ in PAIRS]
    assert choose(PAIRS, seen) == Aligner(2, 2, late=True)


@pytest.mark.parametrize("damaged", [None, [], {}, {"layer": 9, "head": 1, "late": True}, {"layer": 1, "head": "x"}])
def test_without_a_choice_the_last_layer_but_one_aligns(damaged: object) -> None:
    assert known_or_usual(damaged, [8] * 6) == Aligner(5)
    assert known_or_usual(damaged, [8]) == Aligner(1)
    assert known_or_usual(damaged, [0, 8, 0, 8]) == Aligner(2)  # of those that look


def test_a_noted_aligner_is_used() -> None:
    assert known_or_usual({"layer": 2, "head": None, "late": True}, [8] * 6) == Aligner(2, None, True)
    assert known_or_usual({"layer": 2, "head": 8, "late": False}, [8] * 6) == Aligner(2, 8, False)
