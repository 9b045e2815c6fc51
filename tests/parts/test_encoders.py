"""Encoders that hand on more than their output."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from weft.parts.call import Call
from weft.parts.encoders import Recalling, Unfolded
from weft.parts.layers import EncoderStack

KEEP = torch.tensor([[True] * 5, [True, True, False, False, False]])


class Plus(nn.Module):
    """x + 1, whatever stands there."""

    def forward(self, x: torch.Tensor, call: Call) -> torch.Tensor:
        self.call = call
        return x + 1


def test_recalling_hands_on_the_embeddings_and_changes_nothing_else() -> None:
    x = torch.randn(2, 5, 3)
    memory = Recalling([Plus()], nn.Identity())(x, Call(keep=KEEP))
    assert memory.embedded is x
    assert_close(memory.output, EncoderStack([Plus()], nn.Identity())(x, Call(keep=KEEP)).output)


@pytest.mark.parametrize(("factor", "columns"), [(1.0, [5, 2]), (1.2, [6, 3]), (1.5, [8, 3]), (2.0, [10, 4])])
def test_a_source_is_stretched_by_its_own_length(factor: float, columns: list[int]) -> None:
    memory = Unfolded([Plus()], nn.Identity(), factor)(torch.randn(2, 5, 3), Call(keep=KEEP))
    assert memory.keep.sum(1).tolist() == columns
    assert memory.output.shape == (2, max(columns), 3)


def test_the_columns_beyond_the_source_begin_as_zeros() -> None:
    layer, x = Plus(), torch.full((2, 5, 1), 7.0)
    memory = Unfolded([layer], nn.Identity(), 1.5)(x, Call(keep=KEEP))
    assert memory.output[0, :, 0].tolist() == [8.0] * 5 + [1.0] * 3
    assert memory.output[1, :3, 0].tolist() == [8.0, 8.0, 1.0]
    assert layer.call.keep is memory.keep
