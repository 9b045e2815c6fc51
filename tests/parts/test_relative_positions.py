"""Positions inside attention."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from weft.parts.attention import Attention
from weft.parts.call import Call, State
from weft.parts.relative_positions import Rotary

POSITIONS = torch.tensor([[0, 1, 2, 3], [50, 3, 7, 1000]])


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def rotary(is_causal: bool = False) -> Attention:
    made = Attention(12, 2, is_causal=is_causal)
    made.position = Rotary(10000.0)
    return made.double()


@pytest.mark.parametrize("base", [10000.0, 100.0])
def test_rotary_is_a_product_of_complex_numbers(base: float) -> None:
    x = random(2, 4, 3, 6)
    expected = torch.empty_like(x)
    for m in range(3):
        turn = torch.polar(torch.ones(2, 4, 1).double(), POSITIONS[:, :, None].double() * base ** (-2 * m / 6))
        product = torch.complex(x[..., m], x[..., m + 3]) * turn
        expected[..., m], expected[..., m + 3] = product.real, product.imag
    assert_close(Rotary(base).queries(x, POSITIONS, Call()), expected)
    assert_close(Rotary(base).keys(x, POSITIONS, Call()), expected)


def test_rotary_leaves_position_zero_and_a_last_odd_feature() -> None:
    x = random(2, 4, 3, 5)
    assert_close(Rotary(10000.0).queries(x, torch.zeros(1, 4), Call()), x)
    assert_close(Rotary(10000.0).queries(x, POSITIONS, Call())[..., 4], x[..., 4])


def test_rotary_scores_depend_on_the_difference_of_positions_only() -> None:
    attention, x = rotary(), random(1, 1, 12).expand(1, 6, 12)  # the same token everywhere
    look = attention.looks(x, Call())
    scores = look.query @ look.key.transpose(-2, -1)  # (B, H, T, S)
    for offset in range(-5, 6):
        same = scores.diagonal(offset, -2, -1)
        assert_close(same, same[..., :1].expand_as(same))
    assert scores[0, 0, 0].unique().numel() == 6


@torch.no_grad()
def test_rotary_output_is_the_same_wherever_a_row_starts() -> None:
    """All at once, and step by step from cached keys."""
    attention, x, state = rotary(is_causal=True), random(2, 4, 12), State()
    shifted = torch.tensor([[3], [200]]) + torch.arange(4)
    expected = attention(x, Call())
    assert_close(attention(x, Call(positions=shifted)), expected)
    steps = [attention(x[:, t : t + 1], Call(positions=shifted[:, t : t + 1], state=state)) for t in range(4)]
    assert_close(torch.cat(steps, 1), expected)


def test_rotary_knows_the_order_of_tokens() -> None:
    attention, x = rotary(), random(1, 4, 12)
    assert not torch.allclose(attention(x.flip(1), Call()).flip(1), attention(x, Call()))


def test_rotary_angles_are_exact_in_half_precision() -> None:
    x = torch.tensor([1, 1, 0, 0], dtype=torch.bfloat16).view(1, 1, 1, 4)
    found = Rotary(10000.0).queries(x, torch.tensor([[3001]]), Call())
    assert_close(found, Rotary(10000.0).queries(x.double(), torch.tensor([[3001]]), Call()).bfloat16())
