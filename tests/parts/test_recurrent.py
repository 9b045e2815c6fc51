"""Cells are torch's cells with the same weights, whole or step by step; padding is never read before what is real."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from weft.parts.call import Call, State
from weft.parts.recurrent import GRU, LSTM, Backward, Both, Cell, Forward

CELLS = [(LSTM, nn.LSTM, nn.LSTMCell), (GRU, nn.GRU, nn.GRUCell)]
B, T, INPUTS, D = 3, 5, 4, 2

every_cell = pytest.mark.parametrize(("make", "whole", "single"), CELLS, ids=["lstm", "gru"])


def same_weights(cell: Cell, theirs: nn.Module) -> nn.Module:
    theirs.load_state_dict({name.removesuffix("_l0"): value for name, value in cell.rnn.state_dict().items()})
    return theirs


def stepwise(cell: Cell, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    outputs = []
    for gates in cell.gates(x).unbind(1):
        state = cell.step(gates, state)
        outputs.append(state[:, : cell.width])
    return torch.stack(outputs, 1), state


@every_cell
def test_a_sequence_is_torchs_own(make: type[Cell], whole: type[nn.RNNBase], single: type[nn.RNNCellBase]) -> None:
    cell, x = make(INPUTS, D), torch.randn(B, T, INPUTS)
    theirs = whole(INPUTS, D, batch_first=True)
    theirs.load_state_dict(cell.rnn.state_dict())
    output, end = cell.sequence(x, None)
    wanted, last = theirs(x)
    assert_close(output, wanted)
    assert_close(end, torch.cat([part[0] for part in last], -1) if cell.vectors == 2 else last[0])


@every_cell
def test_a_step_is_that_of_torchs_cell(make: type[Cell], whole: type, single: type[nn.RNNCellBase]) -> None:
    cell, x, state = make(INPUTS, D), torch.randn(B, INPUTS), torch.randn(B, make.vectors * D)
    theirs = same_weights(cell, single(INPUTS, D))
    start = state.chunk(2, -1) if cell.vectors == 2 else state
    wanted = theirs(x, start)
    assert_close(cell.step(cell.gates(x), state), torch.cat(wanted, -1) if cell.vectors == 2 else wanted)


@every_cell
def test_step_by_step_is_all_at_once_forward_and_back(make: type[Cell], whole: type, single: type) -> None:
    cell, x, start = (
        make(INPUTS, D).double(),
        torch.randn(B, T, INPUTS).double(),
        torch.randn(B, make.vectors * D).double(),
    )
    gradients = []
    for output, end in (cell.sequence(x, start), stepwise(cell, x, start)):
        cell.zero_grad()
        (output.square().sum() + end.sum()).backward()
        gradients.append({name: parameter.grad.clone() for name, parameter in cell.named_parameters()})
    assert_close(stepwise(cell, x, start), cell.sequence(x, start))
    assert_close(gradients[0], gradients[1])


@every_cell
def test_an_input_in_two_pieces(make: type[Cell], whole: type, single: type) -> None:
    """W [x; c] + b = W_x x + b + W_c c"""
    cell, x, c = make(INPUTS + 3, D), torch.randn(B, INPUTS), torch.randn(B, 3)
    assert_close(cell.gates(x) + cell.gates(c, column=INPUTS), cell.gates(torch.cat((x, c), -1)))


def test_a_lstm_by_hand() -> None:
    """All weights 0: every gate is σ(b), and what is written is tanh(b)."""
    cell = LSTM(1, 1)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        cell.rnn.bias_ih_l0.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))  # input, forget, what is written, output
    i, f, g, o = (
        torch.sigmoid(torch.tensor(1.0)),
        torch.sigmoid(torch.tensor(2.0)),
        torch.tanh(torch.tensor(3.0)),
        torch.sigmoid(torch.tensor(4.0)),
    )
    c = f * 0.5 + i * g
    assert_close(
        cell.step(cell.gates(torch.zeros(1, 1)), torch.tensor([[9.0, 0.5]])), torch.stack((o * c.tanh(), c))[None]
    )


def test_a_gru_whose_gate_is_closed_keeps_its_state() -> None:
    cell, state = GRU(1, 2), torch.tensor([[0.3, -0.7]])
    with torch.no_grad():
        cell.rnn.bias_ih_l0[2:4] = 100.0  # z = 1
    assert_close(cell.step(cell.gates(torch.randn(1, 1)), state), state)


KEEP = torch.arange(T) < torch.tensor([T, 3, 1])[:, None]


@every_cell
def test_both_directions_are_torchs_own_packed_sequence(
    make: type[Cell], whole: type[nn.RNNBase], single: type
) -> None:
    both, x = Both(Forward(make(INPUTS, D)), Backward(make(INPUTS, D))), torch.randn(B, T, INPUTS)
    theirs = whole(INPUTS, D, batch_first=True, bidirectional=True)
    weights = dict(both.forwards.cell.rnn.state_dict())
    weights |= {f"{name}_reverse": value for name, value in both.backwards.cell.rnn.state_dict().items()}
    theirs.load_state_dict(weights)
    packed = nn.utils.rnn.pack_padded_sequence(x, KEEP.sum(1), batch_first=True)
    wanted, _ = nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    assert_close(both(x, Call(keep=KEEP))[KEEP], wanted[KEEP])
    assert_close(both(x, Call(keep=KEEP, state=State()))[KEEP], wanted[KEEP])  # each has its own


def test_backward_is_forward_on_the_reversed_sequence() -> None:
    cell, x = GRU(INPUTS, D), torch.randn(B, T, INPUTS)
    assert_close(Backward(cell)(x, Call()), Forward(cell)(x.flip(1), Call()).flip(1))


def test_backward_recurrence_has_seen_everything_at_the_first_token() -> None:
    mix, x = Backward(LSTM(INPUTS, D)), torch.randn(1, T, INPUTS)
    other = torch.cat((x[:, :-1], torch.randn(1, 1, INPUTS)), 1)
    assert not torch.allclose(mix(other, Call())[:, 0], mix(x, Call())[:, 0])


def test_a_state_is_remembered_at_its_place() -> None:
    mix, x, state = Forward(GRU(INPUTS, D)), torch.randn(B, T, INPUTS), State()
    output = mix(x, Call(state=state, place="decoder.0.mix"))
    assert list(state.newest) == ["decoder.0.mix.state"]
    assert_close(state.newest["decoder.0.mix.state"], output[:, -1])
