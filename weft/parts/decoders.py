"""Decoders that a list of sub-layers cannot say: (x, call) → hidden, made of the same leaves.

In a recurrent decoder with attention, what is looked at hangs on the state, and the state on what was looked at: these
go through the target step by step, in training too.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from weft.parts.call import Call, Memory, State, Steps
from weft.parts.dropout import Dropout
from weft.parts.layers import DecoderStack, Sublayer, Wiring
from weft.parts.recurrent import Cell, state_name


class Start(nn.Module):
    """Where the state of a recurrent layer begins."""

    formula: str

    def first(self, memory: Memory) -> Tensor:
        """What a sentence begins with: (B, vectors · D)."""
        raise NotImplementedError

    def forward(self, x: Tensor, call: Call, name: str) -> Tensor:
        """The state that each row of x goes on from: the one remembered under this name, or else a new one."""
        assert call.memory is not None
        assert call.state is not None
        if name not in call.state.newest:
            call.state.replace(name, _rows(self.first(call.memory), x))
        return call.state.newest[name]  # (R, vectors · D)


class FromColumn(Start):
    """s₀ = tanh(W h₁) with h₁ the encoder's first column  (Bahdanau et al. 2014, appendix A.2.2, arXiv:1409.0473).

    Whoever reads backwards ends there: it is the one that has seen all of the source.
    """

    formula = "tanh(W h₁)"

    def __init__(self, width: int, cell: Cell):
        super().__init__()
        self.linear = nn.Linear(width, cell.vectors * cell.width)

    def first(self, memory: Memory) -> Tensor:
        return self.linear(memory.output[:, 0]).tanh()  # type: ignore[no-any-return]


class FromLayer(Start):
    """The state that a layer of the encoder ended in  (Sutskever et al. 2014, arXiv:1409.3215)."""

    formula = "where the encoder's ended"

    def __init__(self, layer: int):
        super().__init__()
        self.layer = layer

    def first(self, memory: Memory) -> Tensor:
        assert memory.final is not None, "an encoder that hands on no last states"
        return memory.final[:, self.layer]


class FromEncoderState(DecoderStack):
    """Recurrent layers that begin where the encoder's ended: that is all they are told of the source.

    Sutskever et al. 2014, arXiv:1409.3215; Cho et al. 2014, arXiv:1406.1078.
    """

    def __init__(self, layers: Sequence[nn.Module], closing: nn.Module, starts: Sequence[Start]):
        super().__init__(layers, closing)
        self.starts = nn.ModuleList(starts)

    def forward(self, x: Tensor, call: Call) -> Tensor:
        call = _remembering(call)
        for i, start in enumerate(self.starts):
            start(x, call, state_name(call.at(str(i)).at("mix")))
        return self.run(x, call)


class AttentiveRecurrence(nn.Module):
    """c_t = attention(s_{t-1}),   s_t = cell([x_t; c_t], s_{t-1}): it looks before each step  (arXiv:1409.0473)."""

    def __init__(self, cell: Cell, attention: nn.Module, start: Start):
        super().__init__()
        self.cell = cell
        self.attention = attention
        self.start = start

    def forward(self, x: Tensor, call: Call) -> tuple[Tensor, Tensor]:
        """States s and contexts c of all steps, (B, T, D) each; the call has a state."""
        assert call.state is not None
        D, name = self.cell.width, state_name(call)
        state = self.start(x, call, name)
        look, steps = _looking(call)
        states, contexts = [], []
        for gates in self.cell.gates(x).unbind(1):  # what hangs on x alone is computed at once
            contexts.append(self.attention(state[:, None, :D], look)[:, 0])  # (B, D)
            state = self.cell.step(gates + self.cell.gates(contexts[-1], column=x.size(-1)), state)
            states.append(state[:, :D])
        call.state.replace(name, state)
        if steps is not None:
            steps.show()
        return torch.stack(states, 1), torch.stack(contexts, 1)


class BahdanauDecoder(nn.Module):
    """Attention before each step, then maxout over pairs of what state, input and context say:

    t̃ = U s_t + V x_t + C c_t,   hidden_j = max(t̃_{2j-1}, t̃_{2j})       (Bahdanau et al. 2014, arXiv:1409.0473)
    """

    def __init__(self, width: int, recurrence: AttentiveRecurrence, dropout: float):
        super().__init__()
        self.recurrence = recurrence
        self.readout = nn.Linear(3 * width, 2 * width)  # U, V and C
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, call: Call) -> Tensor:
        states, contexts = self.recurrence(x, _remembering(call))
        both = self.readout(torch.cat((states, x, contexts), -1))  # (B, T, 2 D)
        return self.dropout(both.unflatten(-1, (-1, 2)).amax(-1))  # type: ignore[no-any-return]  # (B, T, D)


class FedLayer(nn.Module):
    """A recurrent layer over [x; c], c what a layer below it looked at: all steps at once."""

    def __init__(self, cell: Cell, start: Start, wiring: Wiring):
        super().__init__()
        self.cell = cell
        self.start = start
        self.wiring = wiring

    def forward(self, x: Tensor, contexts: Tensor, call: Call) -> Tensor:
        def body(x: Tensor, call: Call) -> Tensor:
            assert call.state is not None
            name = state_name(call)
            output, end = self.cell.sequence(torch.cat((x, contexts), -1), self.start(x, call, name))
            call.state.replace(name, end)
            return output

        return self.wiring(x, body, call)  # type: ignore[no-any-return]  # (B, T, D)


class GNMTDecoder(nn.Module):
    """The bottom layer looks, and what it saw is fed to all layers above it  (Wu et al. 2016, § 3, arXiv:1609.08144).

    Only the bottom one goes step by step.
    """

    def __init__(self, bottom: AttentiveRecurrence, layers: Sequence[FedLayer], closing: nn.Module, dropout: float):
        super().__init__()
        self.bottom = bottom
        self.layers = nn.ModuleList(layers)
        self.closing = closing
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, call: Call) -> Tensor:
        call = _remembering(call)
        x, contexts = self.bottom(x, call)
        x = self.dropout(x)
        for i, layer in enumerate(self.layers, 1):
            x = layer(x, contexts, call.at(str(i)))
        return self.closing(x)  # type: ignore[no-any-return]  # (B, T, D)


class InputFeeding(nn.Module):
    """Attention after the top layer, and what came of it fed into the next step  (Luong et al. 2015, arXiv:1508.04025):

    h_t = layers([x_t; h̃_{t-1}]),   c_t = attention(h_t),   h̃_t = tanh(W [c_t; h_t])
    """

    def __init__(self, bottom: Cell, start: Start, above: FromEncoderState, attention: nn.Module, dropout: float):
        super().__init__()
        self.bottom = bottom
        self.start = start
        self.above = above
        self.attention = attention
        self.join = nn.Linear(2 * bottom.width, bottom.width)  # W
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, call: Call) -> Tensor:
        call = _remembering(call)
        assert call.state is not None
        D, name, fed = self.bottom.width, state_name(call), f"{call.place}.fed"
        state = self.start(x, call, name)
        made = call.state.newest.get(fed, x.new_zeros(x.size(0), D))
        look, steps = _looking(call)
        outputs = []
        for gates in self.bottom.gates(x).unbind(1):
            state = self.bottom.step(gates + self.bottom.gates(made, column=x.size(-1)), state)
            top = self.above(self.dropout(state[:, None, :D]), call.at("above"))  # (B, 1, D)
            made = self.join(torch.cat((self.attention(top, look), top), -1)).tanh()[:, 0]  # (B, D)
            outputs.append(made)
        call.state.replace(name, state)
        call.state.replace(fed, made)
        if steps is not None:
            steps.show()
        return self.dropout(torch.stack(outputs, 1))  # type: ignore[no-any-return]  # (B, T, D)


class ConvS2SLayer(nn.Module):
    """A mixer, then attention whose query knows the word that was just written  (arXiv:1705.03122, § 3.3, 3.4):

    d = W h + b + g,   c = √S · attention(d),   h + W' c        with g the target embedding, S the length of the source

    W' is in the authors' code, and not in the paper.
    """

    def __init__(self, width: int, mix: Sublayer, attention: nn.Module, wiring: Wiring):
        super().__init__()
        self.mix = mix
        self.query = nn.Linear(width, width)
        self.attention = attention
        self.out = nn.Linear(width, width)
        self.wiring = wiring

    def forward(self, x: Tensor, written: Tensor, call: Call) -> Tensor:
        def body(x: Tensor, call: Call) -> Tensor:
            assert call.memory is not None
            root = call.memory.keep.sum(1).to(x.dtype).sqrt()  # (B): an average of S values has 1/S of their variance
            context = self.attention(self.query(x) + written, call)
            return self.out(context * _rows(root, x)[:, None, None])  # type: ignore[no-any-return]  # (B, T, D)

        return self.wiring(self.mix(x, call.at("mix")), body, call.at("cross"))  # type: ignore[no-any-return]


class ConvS2SDecoder(nn.Module):
    """Layers each of which looks at the source, and is told again what was written  (arXiv:1705.03122)."""

    def __init__(self, layers: Sequence[ConvS2SLayer], closing: nn.Module):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.closing = closing

    def forward(self, x: Tensor, call: Call) -> Tensor:
        written = x
        for i, layer in enumerate(self.layers):
            x = layer(x, written, call.at(str(i)))
        return self.closing(x)  # type: ignore[no-any-return]  # (B, T, D)


class ByteNetDecoder(DecoderStack):
    """Layers over [x_t; z_t]: position t of the target stands on column t of the encoder, which is zero beyond its end.

    Kalchbrenner et al. 2016, § 3.1, arXiv:1610.10099.
    """

    def __init__(self, width: int, layers: Sequence[nn.Module], closing: nn.Module):
        super().__init__(layers, closing)
        self.join = nn.Linear(2 * width, width)

    def forward(self, x: Tensor, call: Call) -> Tensor:
        assert call.memory is not None
        output, keep = call.memory.output, call.memory.keep
        B, S, _ = output.shape
        positions = torch.arange(x.size(1), device=x.device)[None] if call.positions is None else call.positions
        where = positions.expand(x.shape[:2]).reshape(B, -1)  # (B, hypotheses · T)
        column = where.clamp(max=S - 1)
        beyond = (where >= S) | ~keep.take_along_dim(column, 1)
        z = output.take_along_dim(column[..., None], 1).masked_fill(beyond[..., None], 0.0).view_as(x)
        return self.run(self.join(torch.cat((x, z), -1)), call)


def _remembering(call: Call) -> Call:
    """A call with a state: one that lasts as long as this call, where it has none."""
    return call if call.state is not None else replace(call, state=State())


def _rows(each: Tensor, x: Tensor) -> Tensor:
    """What each sentence has, for each row of x: the hypotheses of a sentence lie next to each other."""
    return each.repeat_interleave(x.size(0) // each.size(0), 0)


def _looking(call: Call) -> tuple[Call, Steps | None]:
    """The call for attention step by step, and who gathers what is seen, where someone watches. The one attention that
    such a decoder has is found where that of a first layer is."""
    steps = None if call.watch is None else Steps(call.watch)
    return replace(call.at("0").at("cross"), watch=steps), steps
