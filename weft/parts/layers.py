"""A layer is a list of sub-layers; a sub-layer is a body (attention, feed-forward …) and the wiring around it.

    post-norm   LN(x + f(x))      as in 2017                                    arXiv:1706.03762
    pre-norm    x + f(LN(x))      trains faster, and without warm-up            arXiv:2002.04745

Only the wiring knows the order of norm, body, dropout and join.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from torch import Tensor, nn

from weft.parts import diagram
from weft.parts.body import Body
from weft.parts.call import Call, Memory
from weft.parts.diagram import Block, Row, Stretch, crossing
from weft.parts.dropout import Dropout
from weft.parts.norms import Norm

# What an encoder may return besides its output. Decoders and mixers declare which of these they need or use.
SOURCE_EMBEDDINGS, FINAL_STATES, COLUMNS = "source embeddings", "final states", "columns per target token"


class Join(nn.Module):
    """A join combines the stream and a branch: (x, f(x)) → x."""

    is_residual = True  # whether the stream bypasses the branch


class Add(Join):
    """x + f(x)  (He et al. 2015, arXiv:1512.03385)"""

    def forward(self, x: Tensor, branch: Tensor) -> Tensor:
        return x + branch


class ScaledAdd(Join):
    """(x + f(x)) √½, which keeps the variance if both have the same (Gehring et al. 2017, arXiv:1705.03122)"""

    def forward(self, x: Tensor, branch: Tensor) -> Tensor:
        return (x + branch) * math.sqrt(0.5)


class NoResidual(Join):
    """f(x) alone: plain stacking, as before residual connections"""

    is_residual = False

    def forward(self, x: Tensor, branch: Tensor) -> Tensor:
        return branch


class Wiring(nn.Module):
    """A wiring connects a body to the residual stream, with norm and dropout."""

    open_ended: bool  # the last layer ends in an unnormalised sum, so a stack needs a final norm

    def __init__(self, norm: Norm, dropout: float, join: Join):
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)
        self.join = join

    def forward(self, x: Tensor, body: Callable[[Tensor, Call], Tensor], call: Call) -> Tensor:
        raise NotImplementedError

    def stretches(self, block: Block) -> list[Stretch]:
        """The body's block in the diagram, with norm and stream around it."""
        raise NotImplementedError


class PostNorm(Wiring):
    """LN(x + dropout(f(x)))"""

    open_ended = False

    def forward(self, x: Tensor, body: Callable[[Tensor, Call], Tensor], call: Call) -> Tensor:
        return self.norm(self.join(x, self.dropout(body(x, call))))  # type: ignore[no-any-return]

    def stretches(self, block: Block) -> list[Stretch]:
        return [Stretch([block], self.join.is_residual), *(Stretch([norm]) for norm in self.norm.blocks())]


class PreNorm(Wiring):
    """x + dropout(f(LN(x)))"""

    open_ended = True

    def forward(self, x: Tensor, body: Callable[[Tensor, Call], Tensor], call: Call) -> Tensor:
        return self.join(x, self.dropout(body(self.norm(x), call)))  # type: ignore[no-any-return]

    def stretches(self, block: Block) -> list[Stretch]:
        return [Stretch([*self.norm.blocks(), block], self.join.is_residual)]


class Branch(nn.Module):
    """A branch of a stack's residual stream. It declares the weights that inits scale."""

    wiring: Wiring

    def last_weights(self) -> list[Tensor]:
        """Weights that are divided by √L in a stack with L branches (see `inits.depth_scaled`)."""
        return []

    def dropped_weights(self) -> list[Tensor]:
        """Weights that are multiplied by √p if the wiring's dropout keeps p (see `inits.gated`)."""
        return []


class Sublayer(Branch):
    """A sub-layer over its own sequence only."""

    def __init__(self, wiring: Wiring, body: Body):
        super().__init__()
        self.wiring = wiring
        self.body = body

    def forward(self, x: Tensor, call: Call) -> Tensor:
        return self.wiring(x, self.body, call.within())  # type: ignore[no-any-return]

    def stretches(self) -> list[Stretch]:
        return self.wiring.stretches(self.body.block())

    def last_weights(self) -> list[Tensor]:
        return self.body.last_weights()

    def dropped_weights(self) -> list[Tensor]:
        return self.body.gated_weights()


class CrossSublayer(Sublayer):
    """A sub-layer that receives the encoder's memory."""

    roles: ClassVar = {"body": "cross"}

    def stretches(self) -> list[Stretch]:
        return self.wiring.stretches(crossing(self.body.block()))

    def forward(self, x: Tensor, call: Call) -> Tensor:
        assert call.memory is not None, f"{call.place} attends to the memory, but the call has none"
        return self.wiring(x, self.body, call)  # type: ignore[no-any-return]


class Layer(nn.Module):
    """A layer is a sequence of sub-layers: {mix, feed} in encoders, {mix, cross, feed} in decoders."""

    def __init__(self, sublayers: Mapping[str, nn.Module]):
        super().__init__()
        for name, sublayer in sublayers.items():
            self.add_module(name, sublayer)
        self.order = tuple(sublayers)  # the same object may have two names

    def forward(self, x: Tensor, call: Call) -> Tensor:
        for name in self.order:
            x = self.get_submodule(name)(x, call.at(name))
        return x

    def stretches(self) -> list[Stretch]:
        return [stretch for name in self.order for stretch in self.get_submodule(name).stretches()]  # type: ignore[operator]


class Stack(nn.Module):
    """A stack is one side of a model: an encoder, (x, call) → Memory, or a decoder, (x, call) → hidden."""

    def rows(self) -> list[Row]:
        """Its rows in the diagram."""
        raise NotImplementedError


class Layers(Stack):
    """A sequence of layers, and the final norm if their wiring needs one."""

    def __init__(self, layers: Sequence[nn.Module], closing: nn.Module):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.closing = closing

    def run(self, x: Tensor, call: Call, *same: Tensor) -> Tensor:
        """Run x through all layers; further arguments are passed to each."""
        _show(x, call)
        for i, layer in enumerate(self.layers):
            own = call.at(str(i))
            x = layer(x, *same, own)
            _show(x, own)
        return self.closing(x)  # type: ignore[no-any-return]

    def rows(self) -> list[Row]:
        return diagram.rows(self.layers, self.closing)


def _show(x: Tensor, call: Call) -> None:
    """Show a watcher the stream: before the layers at the place of the stack, after a layer at its own."""
    if call.watch is not None:
        call.watch.see(call.place, "residual", x)  # (B, T, D)


class EncoderStack(Layers):
    """A sequence of layers over the source: (x, call) → Memory."""

    gives: tuple[str, ...] = ()  # extras besides the output
    keeps_tokens = True  # column i of the output is token i of the source

    def forward(self, x: Tensor, call: Call) -> Memory:
        assert call.keep is not None, "an encoder needs to know which positions are real"
        return Memory(self.run(x, call), call.keep)


class Decoder(Stack):
    """A decoder is (x, call) → hidden. It declares its needs from the encoder and the slots of a plan that it has."""

    needs: tuple[str, ...] = ()  # extras of the encoder that it requires
    uses: tuple[str, ...] = ()  # extras of the encoder that it uses if present
    source = ""  # how it receives the source without attention; empty: only by attention
    by_column = False  # each position of the target reads a column of the encoder's output
    crosses: str | None = None  # where it requires `cross`: "each layer" or "once"
    is_recurrent = False  # its mixers must be cells
    without: tuple[str, ...] = ()  # slots that it does not have
    without_at_bottom: tuple[str, ...] = ()  # slots that its first layer does not have
    most_layers: int | None = None


class DecoderStack(Layers, Decoder):
    """A sequence of layers over the target: (x, call) → hidden."""

    def forward(self, x: Tensor, call: Call) -> Tensor:
        return self.run(x, call)
