"""Decoders that are more than a list of layers: (x, call) → hidden, made of the same parts.

In a recurrent decoder with attention, the attention depends on the state, and the state on the attention before it. So
it computes the target step by step, in training too.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from weft.parts import diagram
from weft.parts.call import Call, Memory, State, Steps
from weft.parts.diagram import Block, Row, Stretch, between, count, crossing
from weft.parts.dropout import Dropout
from weft.parts.layers import COLUMNS, FINAL_STATES, Branch, Decoder, DecoderStack, Sublayer, Wiring
from weft.parts.mixer import Mixer
from weft.parts.recurrent import Cell, state_name


class Start(nn.Module):
    """A start makes the initial state of a recurrent layer."""

    role = "first state"
    formula: str

    def stretch(self) -> Stretch:
        return Stretch([Block("first state", count(self), formula=self.formula, marks=("source",))])

    def first(self, memory: Memory) -> Tensor:
        """The initial state for each sentence: (B, vectors · D)."""
        raise NotImplementedError

    def forward(self, x: Tensor, call: Call, name: str) -> Tensor:
        """The state that each row of x starts from: the one stored under this name, or else the initial one."""
        assert call.memory is not None
        assert call.state is not None
        if name not in call.state.newest:
            call.state.replace(name, _rows(self.first(call.memory), x))
        return call.state.newest[name]  # (R, vectors · D)


class FromColumn(Start):
    """s₀ = tanh(W h₁) with h₁ the encoder's first column (Bahdanau et al. 2014, appendix A.2.2, arXiv:1409.0473). A
    backward encoder ends there, so this column has seen all of the source."""

    formula = "tanh(W h₁)"

    def __init__(self, width: int, cell: Cell):
        super().__init__()
        self.linear = nn.Linear(width, cell.vectors * cell.width)

    def first(self, memory: Memory) -> Tensor:
        return self.linear(memory.output[:, 0]).tanh()  # type: ignore[no-any-return]


class FromLayer(Start):
    """The final state of a layer of the encoder  (Sutskever et al. 2014, arXiv:1409.3215)."""

    formula = "where the encoder's ended"

    def __init__(self, layer: int):
        super().__init__()
        self.layer = layer

    def first(self, memory: Memory) -> Tensor:
        assert memory.final is not None, "the encoder gives no final states"
        return memory.final[:, self.layer]


class FromEncoderState(DecoderStack):
    """Recurrent layers that start from the encoder's final states, which is all they know of the source. Sutskever et
    al. 2014, arXiv:1409.3215; Cho et al. 2014, arXiv:1406.1078."""

    needs = (FINAL_STATES,)
    source = "as one vector"
    is_recurrent = True

    def __init__(self, layers: Sequence[nn.Module], closing: nn.Module, starts: Sequence[Start]):
        super().__init__(layers, closing)
        self.starts = nn.ModuleList(starts)

    def forward(self, x: Tensor, call: Call) -> Tensor:
        call = _remembering(call)
        for i, start in enumerate(self.starts):
            start(x, call, state_name(call.at(str(i)).at("mix")))
        return self.run(x, call)

    def rows(self) -> list[Row]:
        """The rows of the layers, each preceded by its start."""
        rows = super().rows()
        starts = [start.stretch() for start in self.starts]  # type: ignore[operator]
        first = [Row([start, *row.stretches]) for start, row in zip(starts, rows, strict=False)]
        return [*first, *rows[len(first) :]]


class AttentiveRecurrence(nn.Module):
    """c_t = attention(s_{t-1}),   s_t = cell([x_t; c_t], s_{t-1}): attention before each step  (arXiv:1409.0473)."""

    roles: ClassVar = {"attention": "cross"}

    def __init__(self, cell: Cell, attention: Mixer, start: Start):
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
        for gates in self.cell.gates(x).unbind(1):  # terms of x alone are computed for all steps at once
            contexts.append(self.attention(state[:, None, :D], look)[:, 0])  # (B, D)
            state = self.cell.step(gates + self.cell.gates(contexts[-1], column=x.size(-1)), state)
            states.append(state[:, :D])
        call.state.replace(name, state)
        if steps is not None:
            steps.show()
        return torch.stack(states, 1), torch.stack(contexts, 1)

    def stretches(self) -> list[Stretch]:
        attention = crossing(self.attention.block(), "feeds")
        return [self.start.stretch(), Stretch([attention]), Stretch([self.cell.block("over [x; c]")])]


class BahdanauDecoder(Decoder):
    """Attention before each step, then maxout over pairs of a projection of state, input and context:

    t̃ = U s_t + V x_t + C c_t,   hidden_j = max(t̃_{2j-1}, t̃_{2j})       (Bahdanau et al. 2014, arXiv:1409.0473)
    """

    crosses = "once"
    is_recurrent = True
    without = ("feed_forward", "norm", "join")
    most_layers = 1

    def __init__(self, width: int, recurrence: AttentiveRecurrence, dropout: float):
        super().__init__()
        self.recurrence = recurrence
        self.readout = nn.Linear(3 * width, 2 * width)  # U, V and C
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, call: Call) -> Tensor:
        states, contexts = self.recurrence(x, _remembering(call))
        both = self.readout(torch.cat((states, x, contexts), -1))  # (B, T, 2 D)
        return self.dropout(both.unflatten(-1, (-1, 2)).amax(-1))  # type: ignore[no-any-return]  # (B, T, D)

    def rows(self) -> list[Row]:
        formula = "maxout of U s + V x + C c"
        readout = Block("readout", count(self.readout), formula=formula, marks=("fed",))
        return [Row(self.recurrence.stretches()), between(readout)]


class FedLayer(nn.Module):
    """A recurrent layer over [x; c] computes all steps at once; c is the context of a layer below it."""

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

    def stretches(self) -> list[Stretch]:
        return [self.start.stretch(), *self.wiring.stretches(self.cell.block("over [x; c]", "fed"))]


class GNMTDecoder(Decoder):
    """The bottom layer attends, and all layers above receive its context (Wu et al. 2016, § 3, arXiv:1609.08144). Only
    the bottom layer is computed step by step."""

    crosses = "once"
    is_recurrent = True
    without = ("feed_forward",)
    without_at_bottom = ("norm", "join")

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

    def rows(self) -> list[Row]:
        return [Row(self.bottom.stretches()), *diagram.rows(self.layers, self.closing)]


class InputFeeding(Decoder):
    """Attention comes after the top layer, and its result is fed into the next step  (Luong et al. 2015,
    arXiv:1508.04025):

    h_t = layers([x_t; h̃_{t-1}]),   c_t = attention(h_t),   h̃_t = tanh(W [c_t; h_t])
    """

    roles: ClassVar = {"attention": "cross"}
    needs = (FINAL_STATES,)
    crosses = "once"
    is_recurrent = True
    without = ("feed_forward",)
    without_at_bottom = ("norm", "join")

    def __init__(self, bottom: Cell, start: Start, above: FromEncoderState, attention: Mixer, dropout: float):
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

    def rows(self) -> list[Row]:
        bottom = Row([self.start.stretch(), Stretch([self.bottom.block("over [x; h̃]", "fed")])])
        formula = "tanh(W [c; s])"
        join = Block("h̃, fed into the next step", count(self.join), formula=formula, marks=("feeds",))
        return [bottom, *self.above.rows(), between(crossing(self.attention.block())), between(join)]


class ConvS2SLayer(Branch):
    """A mixer, and then attention whose query includes the last word  (arXiv:1705.03122, § 3.3, 3.4):

    d = W h + b + g,   c = √S · attention(d),   h + W' c        with g the target embedding, S the length of the source

    W' is in the authors' code, but not in the paper.
    """

    roles: ClassVar = dict.fromkeys(("query", "attention", "out"), "cross")

    def __init__(self, width: int, mix: Sublayer, attention: Mixer, wiring: Wiring):
        super().__init__()
        self.mix = mix
        self.query = nn.Linear(width, width)
        self.attention = attention
        self.out = nn.Linear(width, width)
        self.wiring = wiring

    def forward(self, x: Tensor, written: Tensor, call: Call) -> Tensor:
        def body(x: Tensor, call: Call) -> Tensor:
            assert call.memory is not None
            root = call.memory.keep.sum(1).to(x.dtype).sqrt()  # (B): averaging S values divides their variance by S
            context = self.attention(self.query(x) + written, call)
            return self.out(context * _rows(root, x)[:, None, None])  # type: ignore[no-any-return]  # (B, T, D)

        return self.wiring(self.mix(x, call.at("mix")), body, call.at("cross"))  # type: ignore[no-any-return]

    def stretches(self) -> list[Stretch]:
        attention = crossing(self.attention.block())
        formula = ", ".join(filter(None, (attention.formula, "s = W x + last word")))
        looking = replace(attention, parameters=count(self.query, self.attention, self.out), formula=formula)
        return [*self.mix.stretches(), *self.wiring.stretches(looking)]

    def dropped_weights(self) -> list[Tensor]:
        return [self.out.weight]


class ConvS2SDecoder(DecoderStack):
    """Each layer attends to the source, and also receives the target embeddings  (arXiv:1705.03122)."""

    crosses = "each layer"
    without = ("feed_forward",)

    def __init__(self, layers: Sequence[ConvS2SLayer], closing: nn.Module):
        super().__init__(layers, closing)

    def forward(self, x: Tensor, call: Call) -> Tensor:
        return self.run(x, call, x)  # (B, T, D)


class ByteNetDecoder(DecoderStack):
    """Layers over [x_t; z_t]: position t of the target is joined with column t of the encoder, zero beyond its end.
    Kalchbrenner et al. 2016, § 3.1, arXiv:1610.10099."""

    uses = (COLUMNS,)
    source = "column by column"
    by_column = True
    rereads_memory = True

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

    def rows(self) -> list[Row]:
        name, formula = "joined with the encoder's column", "W [x; h]"
        return [between(Block(name, count(self.join), formula=formula, marks=("source",))), *super().rows()]


def _remembering(call: Call) -> Call:
    """The call with a state, a temporary one if it has none."""
    return call if call.state is not None else replace(call, state=State())


def _rows(each: Tensor, x: Tensor) -> Tensor:
    """Repeat the value of each sentence for the rows of x: hypotheses of a sentence are adjacent rows."""
    return each.repeat_interleave(x.size(0) // each.size(0), 0)


def _looking(call: Call) -> tuple[Call, Steps | None]:
    """The call for attention step by step, and the collector of steps if there is a watcher. The only attention of such
    a decoder has the place of the first layer's."""
    steps = None if call.watch is None else Steps(call.watch)
    return replace(call.at("0").at("cross"), watch=steps), steps
