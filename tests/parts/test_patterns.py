"""Patterns: which keys a query may see."""

import torch

from weft.parts.patterns import both, causal


def test_causal_sees_itself_and_the_past() -> None:
    assert causal(3, 3).int().tolist() == [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]


def test_causal_queries_are_the_newest_tokens() -> None:
    assert causal(2, 4).int().tolist() == [[[1, 1, 1, 0], [1, 1, 1, 1]]]


def test_a_single_newest_query_sees_everything() -> None:
    assert causal(1, 6) is None


def test_both_masks_must_show_a_key() -> None:
    one, other = torch.tensor([[True, True, False]]), torch.tensor([[True, False, False]])
    assert both(one, other).tolist() == [[True, False, False]]
    assert both(None, other) is other
    assert both(one, None) is one
    assert both(None, None) is None
