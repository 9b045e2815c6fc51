"""Patterns: which keys a query may see."""

import pytest
import torch
from torch.testing import assert_close

from tests.parts.watchers import Looking
from weft.parts.attention import Attention
from weft.parts.call import Call, State
from weft.parts.patterns import Window, both, causal


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


def attention(width: int | None, is_causal: bool = False) -> Attention:
    torch.manual_seed(1)
    made = Attention(6, 2, is_causal=is_causal)
    made.pattern = None if width is None else Window(width)
    return made.double()


@pytest.mark.parametrize("is_causal", [False, True])
def test_a_window_as_wide_as_the_sequence_is_full_attention(is_causal: bool) -> None:
    x = torch.randn(2, 7, 6, dtype=torch.float64)
    assert_close(attention(6, is_causal)(x, Call()), attention(None, is_causal)(x, Call()))


def test_a_window_goes_by_absolute_positions() -> None:
    seen = Window(1)(torch.tensor([[4, 5], [0, 9]]), torch.tensor([[3, 4, 5], [0, 2, 8]]))
    assert seen.int().tolist() == [[[1, 1, 1], [0, 1, 1]], [[1, 0, 0], [0, 0, 1]]]


@pytest.mark.parametrize("is_causal", [False, True])
def test_tokens_outside_the_window_change_nothing(is_causal: bool) -> None:
    part, x = attention(2, is_causal), torch.randn(1, 9, 6, dtype=torch.float64)
    other = x.clone()
    other[:, 4] += 1
    changed = (part(other, Call()) != part(x, Call())).any(-1)[0]
    assert changed.nonzero().flatten().tolist() == ([4, 5, 6] if is_causal else [2, 3, 4, 5, 6])


@torch.no_grad()
def test_a_window_follows_the_newest_token_step_by_step() -> None:
    part, x, state = attention(2, is_causal=True), torch.randn(2, 9, 6, dtype=torch.float64), State()
    positions = torch.tensor([[0], [30]]) + torch.arange(9)
    pieces = zip(x.split([4, 1, 1, 3], 1), positions.split([4, 1, 1, 3], 1))
    steps = [part(piece, Call(positions=where, state=state)) for piece, where in pieces]
    assert_close(torch.cat(steps, 1), part(x, Call()))


def test_padding_that_sees_no_token_is_not_nan() -> None:
    part, x, look = attention(1), torch.randn(2, 9, 6, dtype=torch.float64), Looking()
    keep = torch.arange(9) < torch.tensor([[9], [2]])
    found = part(x, Call(keep=keep, watch=look))
    assert not found.isnan().any()
    assert not look.seen["", "weights"].isnan().any()
    assert_close(found[1, :2], part(x[1:, :2], Call())[0])
