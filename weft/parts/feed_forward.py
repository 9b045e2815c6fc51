"""Feed-forward layers: the same small network at each position, because attention alone only averages.

    FFN(x) = max(0, x W₁ + b₁) W₂ + b₂                                                     arXiv:1706.03762, eq. 2
    GLU(x) = (σ(x W) ⊙ x V) W₂                                                   Shazeer 2020, arXiv:2002.05202

Both have one form: activations of parallel projections, multiplied, and projected back.
"""

from collections.abc import Sequence

from torch import Tensor, nn

from weft.parts.body import Body
from weft.parts.call import Call
from weft.parts.diagram import Block, count
from weft.parts.dropout import Dropout


class FeedForward(Body):
    """(a₁(x W₁) ⊙ a₂(x W₂) ⊙ …) W_out: an MLP with one activation, a gated linear unit with two."""

    role = "feed-forward"

    def __init__(
        self, width: int, hidden: int, activations: Sequence[nn.Module], dropout: float = 0.0, bias: bool = True
    ):
        super().__init__()
        self.hidden = hidden
        self.activations = nn.ModuleList(activations)
        self.project = nn.Linear(width, hidden * len(self.activations), bias)
        self.dropout = Dropout(dropout)
        self.out = nn.Linear(hidden, width, bias)

    def forward(self, x: Tensor, call: Call) -> Tensor:
        first, *others = self.project(x).chunk(len(self.activations), -1)  # (B, T, hidden) each
        hidden = self.activations[0](first)
        for activation, other in zip(list(self.activations)[1:], others, strict=True):
            hidden = hidden * activation(other)
        return self.out(self.dropout(hidden))  # type: ignore[no-any-return]  # (B, T, D)

    def block(self) -> Block:
        return Block("feed-forward", count(self), {"hidden": self.hidden})

    def last_weights(self) -> list[Tensor]:
        return [self.out.weight]
