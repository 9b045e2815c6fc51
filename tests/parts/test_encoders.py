"""Encoders that hand on more than their output."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from weft.parts.call import Call
from weft.parts.encoders import FinalStates, Stretched, WithEmbeddings
from weft.parts.layers import EncoderStack
from weft.parts.recurrent import GRU, LSTM, Backward, Cell, Forward

KEEP = torch.tensor([[True] * 5, [True, True, False, False, False]])


class Plus(nn.Module):
    """x + 1, whatever stands there."""

    def forward(self, x: torch.Tensor, call: Call) -> torch.Tensor:
        self.call = call
        return x + 1


def test_with_embeddings_adds_the_embeddings_and_changes_nothing_else() -> None:
    x = torch.randn(2, 5, 3)
    memory = WithEmbeddings([Plus()], nn.Identity())(x, Call(keep=KEEP))
    assert memory.embedded is x
    assert_close(memory.output, EncoderStack([Plus()], nn.Identity())(x, Call(keep=KEEP)).output)


@pytest.mark.parametrize("make", [LSTM, GRU])
def test_final_states_are_those_of_the_last_real_token(make: type[Cell]) -> None:
    """Each sentence alone, without padding, read by torch's own."""
    cells, x = [make(3, 3), make(3, 3)], torch.randn(2, 5, 3)
    memory = FinalStates([Forward(cells[0]), Backward(cells[1])], nn.Identity())(x, Call(keep=KEEP))
    assert memory.final.shape == (2, 2, make.vectors * 3)
    for b, keep in enumerate(KEEP):
        first, end = cells[0].rnn(x[b, keep])
        second, last = cells[1].rnn(first.flip(0))
        for i, state in enumerate((end, last)):
            assert_close(memory.final[b, i], torch.cat([v[0] for v in state]) if make is LSTM else state[0])
        assert_close(memory.output[b, keep], second.flip(0))


@pytest.mark.parametrize(("factor", "columns"), [(1.0, [5, 2]), (1.2, [6, 3]), (1.5, [8, 3]), (2.0, [10, 4])])
def test_a_source_is_stretched_by_its_own_length(factor: float, columns: list[int]) -> None:
    memory = Stretched([Plus()], nn.Identity(), factor)(torch.randn(2, 5, 3), Call(keep=KEEP))
    assert memory.keep.sum(1).tolist() == columns
    assert memory.output.shape == (2, max(columns), 3)


def test_the_columns_beyond_the_source_begin_as_zeros() -> None:
    layer, x = Plus(), torch.full((2, 5, 1), 7.0)
    memory = Stretched([layer], nn.Identity(), 1.5)(x, Call(keep=KEEP))
    assert memory.output[0, :, 0].tolist() == [8.0] * 5 + [1.0] * 3
    assert memory.output[1, :3, 0].tolist() == [8.0, 8.0, 1.0]
    assert layer.call.keep is memory.keep
