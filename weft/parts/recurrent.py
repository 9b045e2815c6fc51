"""Recurrence: a state that is passed from token to token, and updated by each.

    LSTM   i, f, o = σ(W x_t + U h_{t-1} + b)  (three of them)                     Hochreiter & Schmidhuber 1997
           c_t = f ⊙ c_{t-1} + i ⊙ tanh(W x_t + U h_{t-1} + b),   h_t = o ⊙ tanh(c_t)
    GRU    r, z = σ(W x_t + U h_{t-1} + b)  (two of them)                          Cho et al. 2014, arXiv:1406.1078
           n = tanh(W x_t + r ⊙ (U h_{t-1} + b)),   h_t = (1 - z) ⊙ n + z ⊙ h_{t-1}

The GRU has its reset gate r after the product with U, as all fast kernels do; the paper has it before. A cell processes
a sequence in torch's fused kernel, or step by step if something must happen between two steps. On a CPU torch fuses the
LSTM only: a GRU computes its steps one by one, and takes many times as long for a single sentence.
"""

from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from weft.parts.call import Call
from weft.parts.diagram import Block, count
from weft.parts.mixer import Mixer

Read = TypeVar("Read", Tensor, PackedSequence)


class Cell(nn.Module):
    """A cell is one recurrence. Its state is one tensor (B, vectors · D) that begins with h, its output."""

    role = "mixer"
    vectors: int  # of width D in a state
    rnn: nn.RNNBase

    @property
    def width(self) -> int:
        return self.rnn.hidden_size

    def sequence(self, x: Tensor, start: Tensor | None, keep: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """All steps at once: (B, T, inputs) → outputs (B, T, D) and the last state. No start: zeros. With `keep`, the
        last state is that of the last real position, and outputs beyond it are zeros."""
        first = x.new_zeros(x.size(0), self.vectors * self.width) if start is None else start
        if keep is None or keep.is_meta:  # on the meta device, nothing is padding
            return self._fused(x, first)
        packed = pack_padded_sequence(x, keep.sum(1).cpu(), batch_first=True, enforce_sorted=False)
        output, end = self._fused(packed, first)
        return pad_packed_sequence(output, batch_first=True, total_length=x.size(1))[0], end

    def gates(self, x: Tensor, column: int = 0) -> Tensor:
        """The contribution of an input to the gates: (…, n) → (…, gates · D), by n columns of W from `column` on. The
        bias is added with column 0, so that an input in pieces gets it once."""
        weight, _, bias, _ = self.rnn.all_weights[0]
        return F.linear(x, weight[:, column : column + x.size(-1)], None if column else bias)

    def own_gates(self, h: Tensor) -> Tensor:
        """The contribution of the state to the gates, U h and its bias: (B, D) → (B, gates · D)."""
        _, weight, _, bias = self.rnn.all_weights[0]
        return F.linear(h, weight, bias)

    def step(self, gates: Tensor, state: Tensor) -> Tensor:
        """One step: the inputs' contribution to the gates (B, gates · D), and the last state → the next state."""
        raise NotImplementedError

    def _fused(self, x: Read, start: Tensor) -> tuple[Read, Tensor]:
        raise NotImplementedError

    def block(self, formula: str = "", *marks: str) -> Block:
        return Block(type(self).__name__, count(self), formula=formula, marks=("loop", *marks))


class LSTM(Cell):
    """Long short-term memory: the cell c is passed on through time without a matrix (Hochreiter & Schmidhuber 1997)"""

    vectors = 2

    def __init__(self, inputs: int, width: int):
        super().__init__()
        self.rnn = nn.LSTM(inputs, width, batch_first=True)

    def _fused(self, x: Read, start: Tensor) -> tuple[Read, Tensor]:
        h, c = (half[None].contiguous() for half in start.chunk(2, -1))  # (1, B, D) each
        output, (h, c) = self.rnn(x, (h, c))
        return output, torch.cat((h[0], c[0]), -1)

    def step(self, gates: Tensor, state: Tensor) -> Tensor:
        h, c = state.chunk(2, -1)
        i, f, g, o = (gates + self.own_gates(h)).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return torch.cat((o.sigmoid() * c.tanh(), c), -1)


class GRU(Cell):
    """Gated recurrent unit: one gate decides how much of the old state stays, one how much is read (arXiv:1406.1078)"""

    vectors = 1

    def __init__(self, inputs: int, width: int):
        super().__init__()
        self.rnn = nn.GRU(inputs, width, batch_first=True)

    def _fused(self, x: Read, start: Tensor) -> tuple[Read, Tensor]:
        output, h = self.rnn(x, start[None].contiguous())
        return output, h[0]

    def step(self, gates: Tensor, state: Tensor) -> Tensor:
        widths = [2 * self.width, self.width]
        both, n = torch.split(gates, widths, -1)
        own_both, own_n = torch.split(self.own_gates(state), widths, -1)
        r, z = (both + own_both).sigmoid().chunk(2, -1)
        return torch.lerp(torch.addcmul(n, r, own_n).tanh(), state, z)


class Recurrence(Mixer):
    """A recurrence has cells that read a sequence token by token."""

    complexity = "t·k²"
    is_sequential = True
    is_recurrent = True
    reach = None


class Forward(Recurrence):
    """A cell that reads from the first token to the last."""

    direction = "forward"

    def __init__(self, cell: Cell):
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor, call: Call) -> Tensor:
        return _read(self.cell, x, call)  # (B, T, D)

    def block(self) -> Block:
        return self.cell.block()


class Backward(Forward):
    """A cell that reads from the last real token to the first. Padding is on the right."""

    direction = "backward"

    def forward(self, x: Tensor, call: Call) -> Tensor:
        order = _backwards(x, call.keep)[..., None]  # (B, T, 1): its own inverse
        return _read(self.cell, x.take_along_dim(order, 1), call).take_along_dim(order, 1)  # (B, T, D)

    def block(self) -> Block:
        block = super().block()
        return replace(block, name=f"{block.name}, backwards")


class Both(Recurrence):
    """[h→; h←]: the past and the future of a token, half of the width each (Schuster & Paliwal 1997)."""

    direction = "both"

    def __init__(self, forward: Forward, backward: Backward):
        super().__init__()
        self.forwards = forward
        self.backwards = backward

    def forward(self, x: Tensor, call: Call) -> Tensor:
        past, future = self.forwards(x, call.at("forwards")), self.backwards(x, call.at("backwards"))
        return torch.cat((past, future), -1)  # (B, T, D)

    def block(self) -> Block:
        block = self.forwards.block()
        return replace(block, name=f"{block.name}, both ways", parameters=count(self))


def state_name(call: Call) -> str:
    """The name under which the state of the part at this place is stored."""
    return f"{call.place}.state"


def _read(cell: Cell, x: Tensor, call: Call) -> Tensor:
    """Run a cell over x, from the stored state on, and store its new state. Padding is on the right: it is read after
    all real tokens, or not at all if the state is stored."""
    if call.state is None:
        return cell.sequence(x, None)[0]  # (B, T, D)
    name = state_name(call)
    output, end = cell.sequence(x, call.state.newest.get(name), call.keep)
    call.state.replace(name, end)
    return output  # (B, T, D)


def _backwards(x: Tensor, keep: Tensor | None) -> Tensor:
    """Positions of each row from its last real one to its first, with padding in place: (B, T)."""
    forwards = torch.arange(x.size(1), device=x.device).expand(x.shape[:2])
    if keep is None:
        return forwards.flip(1)
    last = keep.sum(1, keepdim=True) - 1  # (B, 1)
    return torch.where(forwards <= last, last - forwards, forwards)
