"""A layer is a list of sub-layers; a sub-layer is a body (attention, feed-forward …) and the wiring around it.

    post-norm   LN(x + f(x))      as in 2017                                    arXiv:1706.03762
    pre-norm    x + f(LN(x))      trains faster, and without warm-up            arXiv:2002.04745

The wiring is the one place that knows the order of norm, body, dropout and join.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from torch import Tensor, nn

from weft.parts.call import Call, Memory
from weft.parts.dropout import Dropout

Body = Callable[[Tensor, Call], Tensor]


class Add(nn.Module):
    """x + f(x)  (He et al. 2015, arXiv:1512.03385)"""

    def forward(self, x: Tensor, branch: Tensor) -> Tensor:
        return x + branch


class ScaledAdd(nn.Module):
    """(x + f(x)) √½: the variance of two equal ones, kept (Gehring et al. 2017, arXiv:1705.03122)"""

    def forward(self, x: Tensor, branch: Tensor) -> Tensor:
        return (x + branch) * math.sqrt(0.5)


class NoResidual(nn.Module):
    """f(x) alone: layers as they were stacked before residual connections"""

    def forward(self, x: Tensor, branch: Tensor) -> Tensor:
        return branch


class Wiring(nn.Module):
    """How a body is joined to the stream that runs past it."""

    open_ended: bool  # the stream leaves the last layer as a bare sum, and a stack must norm it once more

    def __init__(self, norm: nn.Module, dropout: float, join: nn.Module):
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)
        self.join = join

    def forward(self, x: Tensor, body: Body, call: Call) -> Tensor:
        raise NotImplementedError


class PostNorm(Wiring):
    """LN(x + dropout(f(x)))"""

    open_ended = False

    def forward(self, x: Tensor, body: Body, call: Call) -> Tensor:
        return self.norm(self.join(x, self.dropout(body(x, call))))  # type: ignore[no-any-return]


class PreNorm(Wiring):
    """x + dropout(f(LN(x)))"""

    open_ended = True

    def forward(self, x: Tensor, body: Body, call: Call) -> Tensor:
        return self.join(x, self.dropout(body(self.norm(x), call)))  # type: ignore[no-any-return]


class Sublayer(nn.Module):
    """A sub-layer that looks at its own sequence only."""

    def __init__(self, wiring: Wiring, body: nn.Module):
        super().__init__()
        self.wiring = wiring
        self.body = body

    def forward(self, x: Tensor, call: Call) -> Tensor:
        return self.wiring(x, self.body, call.within())  # type: ignore[no-any-return]


class CrossSublayer(Sublayer):
    """A sub-layer that looks at the encoder's memory."""

    def forward(self, x: Tensor, call: Call) -> Tensor:
        assert call.memory is not None, f"{call.place} looks across, but the call has no memory"
        return self.wiring(x, self.body, call)  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Sub-layers one after the other: encoder {mix, feed}, decoder {mix, cross, feed}."""

    def __init__(self, sublayers: Mapping[str, nn.Module]):
        super().__init__()
        for name, sublayer in sublayers.items():
            self.add_module(name, sublayer)
        self.order = tuple(sublayers)  # the same object may stand under two names

    def forward(self, x: Tensor, call: Call) -> Tensor:
        for name in self.order:
            x = self.get_submodule(name)(x, call.at(name))
        return x


class Layers(nn.Module):
    """Layers one after the other, and whatever norm their wiring leaves to do."""

    def __init__(self, layers: Sequence[nn.Module], closing: nn.Module):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.closing = closing

    def run(self, x: Tensor, call: Call) -> Tensor:
        for i, layer in enumerate(self.layers):
            x = layer(x, call.at(str(i)))
        return self.closing(x)  # type: ignore[no-any-return]


class EncoderStack(Layers):
    """Layers one after the other over the source: (x, call) → Memory."""

    def forward(self, x: Tensor, call: Call) -> Memory:
        assert call.keep is not None, "an encoder is told which positions are real"
        return Memory(self.run(x, call), call.keep)


class DecoderStack(Layers):
    """Layers one after the other over what has been written: (x, call) → hidden."""

    def forward(self, x: Tensor, call: Call) -> Tensor:
        return self.run(x, call)
