"""Norms bring the features of each position to one scale.

    layer   g ⊙ (x - mean) / √(var + ε) + b                                   Ba et al. 2016, arXiv:1607.06450
    rms     g ⊙ x / √(mean(x²) + ε)                                    Zhang & Sennrich 2019, arXiv:1910.07467

ε is inside the root: it prevents division by zero for a vector of equal features.
"""

from typing import Annotated

from torch import Tensor, nn
from torch.nn import functional as F

from weft.parts.diagram import Block, quiet
from weft.parts.options import Number

Epsilon = Annotated[float, Number("added to the denominator")]


class Norm(nn.Module):
    """A norm is x → x, applied to each position by itself."""

    role = "norms"
    label: str  # in the diagram; empty: there is nothing to draw

    def blocks(self) -> list[Block]:
        """Its block in the diagram; none if there is nothing to draw."""
        return [quiet(self.label, self)] if self.label else []


class LayerNorm(nn.LayerNorm, Norm):
    """g ⊙ (x - mean) / √(var + ε) + b over the features"""

    label = "layer norm"

    def __init__(self, width: int, epsilon: Epsilon = 1e-5):
        super().__init__(width, eps=epsilon)


class RMSNorm(nn.RMSNorm, Norm):
    """g ⊙ x / √(mean(x²) + ε) over the features"""

    label = "RMS norm"

    def __init__(self, width: int, epsilon: Epsilon = 1e-6):
        super().__init__(width, eps=epsilon)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.eps)  # x may be in bfloat16


class NoNorm(nn.Identity, Norm):
    """x"""

    label = ""

    def __init__(self, width: int):
        super().__init__()
