"""The tree of a search holds what the search found, and how."""

import math

import pytest
import torch

from tests.decoding.fakes import FOREVER, TRAP, A, B, one_table
from tests.pairs import prompt
from weft.data.codecs.subwords import END
from weft.decoding import Beam
from weft.viewing.search import SearchTree, search_tree

SOURCE = torch.tensor([[A, END]])


class Letters:
    """A tokeniser of a few letters."""

    def readable(self, ids):  # type: ignore[no-untyped-def]
        return [{A: "a", B: "b", END: "∎"}.get(i, "?") for i in ids]

    in_text = readable

    def decode(self, ids):  # type: ignore[no-untyped-def]
        return "".join(self.readable(i for i in ids if i != END))


def grown(table: object, beam: Beam, limit: int | None = None) -> SearchTree:
    models = [one_table(table, limit)]  # type: ignore[arg-type]
    return search_tree(models, Letters(), prompt(models, SOURCE), beam)  # type: ignore[arg-type]


def test_search_tree_by_hand() -> None:
    """a 0.6 and b 0.4 are kept; then "b" ends with 0.36, and "aa" (0.24), "ab" (0.21) follow; "a" ends with 0.15."""
    tree = grown(TRAP, Beam(2, 0.0))
    first, second = tree.steps[0], tree.steps[1]
    assert [(one.token, one.fate, one.parent) for one in first] == [("a", "kept", None), ("b", "kept", None)]
    a, b = first
    assert [(one.token, one.parent, round(math.exp(one.total), 3), one.fate) for one in second] == [
        ("∎", b.id, 0.36, "ended"),
        ("a", a.id, 0.24, "kept"),
        ("b", a.id, 0.21, "kept"),
        ("∎", a.id, 0.15, "pruned"),
    ]
    assert tree.ended[0].text == "b"
    assert math.exp(tree.ended[0].log_prob) == pytest.approx(0.36)


@pytest.mark.parametrize("beam", [Beam(1), Beam(2), Beam(3, 0.0), Beam(5, 2.0)])
@pytest.mark.parametrize(("table", "limit"), [(TRAP, None), (FOREVER, 4)])
def test_complete_translations_are_those_of_the_search(table: object, limit: int | None, beam: Beam) -> None:
    tree = grown(table, beam, limit)
    models = [one_table(table, limit)]  # type: ignore[arg-type]
    found = beam(models, prompt(models, SOURCE))[0]  # type: ignore[arg-type]
    assert [one.text for one in tree.ended] == [Letters().decode(one.ids) for one in found]
    assert [one.score for one in tree.ended] == pytest.approx([one.score for one in found])
    assert [one.length for one in tree.ended] == [len(one.ids) for one in found]
    assert [one.finished for one in tree.ended] == [one.finished for one in found]


def test_every_candidate_extends_a_kept_one() -> None:
    tree = grown(TRAP, Beam(3))
    by_id = {one.id: one for step in tree.steps for one in step}
    assert len(by_id) == sum(map(len, tree.steps)), "ids are given once"
    for one in by_id.values():
        if one.parent is not None:
            parent = by_id[one.parent]
            assert parent.fate == "kept"
            assert parent.step == one.step - 1
            assert one.total == pytest.approx(parent.total + one.log_prob, abs=1e-5)
    for step in tree.steps:
        totals = [one.total for one in step]
        assert totals == sorted(totals, reverse=True)


def test_fates_at_the_length_limit_and_at_the_end() -> None:
    assert [one.fate for one in grown(FOREVER, Beam(2), 1).steps[-1]] == ["cut"]
    assert [one.fate for one in grown(TRAP, Beam(2)).steps[-1]] == ["ended", "left", "left", "pruned"]
