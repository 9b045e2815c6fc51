"""Positions: the formula entry by entry, tables that grow, tables that end."""

import math

import pytest
import torch
from torch.testing import assert_close

from weft.errors import WeftError
from weft.parts.positions import ConcatenatedSinusoid, Learned, NoPosition, Sinusoid, sinusoids


@pytest.mark.parametrize("width", [1, 2, 3, 6, 7])
def test_the_formula_entry_by_entry(width: int) -> None:
    table = sinusoids(5, width)
    assert table.shape == (5, width)
    for position in range(5):
        for feature in range(width):
            angle = position / 10000 ** ((feature - feature % 2) / width)
            wanted = math.cos(angle) if feature % 2 else math.sin(angle)
            assert table[position, feature].item() == pytest.approx(wanted, abs=1e-7)


def test_far_positions_are_exact() -> None:
    """Computed in double: in single precision the sine of 100,000 is off in the third digit."""
    assert sinusoids(100_001, 2)[100_000, 0].item() == pytest.approx(math.sin(100_000), abs=1e-7)


def test_sinusoids_are_added() -> None:
    x = torch.randn(2, 3, 4)
    assert_close(Sinusoid(4)(x, None), x + sinusoids(3, 4))


def test_positions_count_from_zero() -> None:
    assert_close(Sinusoid(4)(torch.zeros(1, 1, 4), None), torch.tensor([[[0.0, 1.0, 0.0, 1.0]]]))


def test_each_row_has_positions_of_its_own() -> None:
    positions = torch.tensor([[4, 5], [0, 9]])
    assert_close(Sinusoid(4)(torch.zeros(2, 2, 4), positions), sinusoids(10, 4)[positions])


@pytest.mark.parametrize("positions", [None, torch.arange(700)[None]], ids=["length", "positions"])
def test_the_table_grows_with_longer_sequences(positions: torch.Tensor | None) -> None:
    part = Sinusoid(3)
    assert part.table.size(0) < 700
    assert_close(part(torch.zeros(1, 700, 3), positions)[0], sinusoids(700, 3))


def test_the_table_grows_while_decoding() -> None:
    """From the first position that it does not have."""
    part = Sinusoid(3)
    end = part.table.size(0)
    assert_close(part(torch.zeros(1, 1, 3), torch.tensor([[end]]))[0], sinusoids(end + 1, 3)[end:])


def test_a_grown_table_keeps_its_kind() -> None:
    part = Sinusoid(3).double()
    part(torch.zeros(1, 700, 3, dtype=torch.float64), None)
    assert part.table.dtype == torch.float64


def test_training_goes_on_after_the_table_grew_in_inference() -> None:
    part, x = Sinusoid(3), torch.zeros(1, 700, 3, requires_grad=True)
    with torch.inference_mode():
        part(x, None)
    part(x, None).sum().backward()
    assert_close(x.grad, torch.ones(1, 700, 3))


def test_the_table_is_not_stored() -> None:
    assert Sinusoid(3).state_dict() == {}


def test_concatenated_sinusoids_take_features_of_their_own() -> None:
    part, x = ConcatenatedSinusoid(8, 3), torch.randn(2, 4, 5)
    assert part.features == 3
    assert_close(part(x, None), torch.cat((x, sinusoids(4, 3).expand(2, 4, 3)), -1))


def test_concatenated_sinusoids_by_row() -> None:
    positions = torch.tensor([[4], [6]])
    assert_close(ConcatenatedSinusoid(8, 3)(torch.zeros(2, 1, 5), positions)[..., 5:], sinusoids(7, 3)[positions])


def test_learned_positions_are_added() -> None:
    part, x = Learned(4, limit=6), torch.randn(2, 3, 4)
    assert_close(part(x, None), x + part.table.weight[:3])
    positions = torch.tensor([[5, 0, 2], [1, 1, 1]])
    assert_close(part(x, positions), x + part.table.weight[positions])


def test_learned_positions_end_at_their_limit() -> None:
    part = Learned(4, limit=6)
    assert part.limit == 6
    part(torch.zeros(1, 6, 4), None)
    sentence = "the sequence has 7 tokens; this model has learned positions for 6."
    with pytest.raises(WeftError, match=f"^{sentence}$"):
        part(torch.zeros(1, 7, 4), None)
    with pytest.raises(WeftError, match=f"^{sentence}$"):
        part(torch.zeros(1, 1, 4), torch.tensor([[6]]))


def test_no_position_is_the_identity() -> None:
    x = torch.randn(2, 3, 4)
    assert NoPosition()(x, None) is x


@pytest.mark.parametrize(("part", "limit"), [(Sinusoid(4), None), (Learned(4, 6), 6), (NoPosition(), None)])
def test_only_learned_positions_have_a_limit(part: Sinusoid, limit: int | None) -> None:
    assert part.limit == limit
