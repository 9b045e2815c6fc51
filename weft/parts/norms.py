"""Norms: each position's features brought to one scale.

    layer   g ⊙ (x - mean) / √(var + ε) + b                                   Ba et al. 2016, arXiv:1607.06450
    rms     g ⊙ x / √(mean(x²) + ε)                                    Zhang & Sennrich 2019, arXiv:1910.07467

ε stands inside the root: it keeps a vector of equal features from dividing by zero.
"""

from torch import nn

from weft.parts.diagram import Block, quiet


class Norm(nn.Module):
    """A norm is x → x, on each position alone."""

    role = "norms"

    def blocks(self) -> list[Block]:
        """Its block in the diagram; none if there is nothing to draw."""
        raise NotImplementedError


class LayerNorm(nn.LayerNorm, Norm):
    """g ⊙ (x - mean) / √(var + ε) + b over the features"""

    def __init__(self, width: int, epsilon: float = 1e-5):
        super().__init__(width, eps=epsilon)

    def blocks(self) -> list[Block]:
        return [quiet("layer norm", self)]


class RMSNorm(nn.RMSNorm, Norm):
    """g ⊙ x / √(mean(x²) + ε) over the features"""

    def __init__(self, width: int, epsilon: float = 1e-6):
        super().__init__(width, eps=epsilon)

    def blocks(self) -> list[Block]:
        return [quiet("RMS norm", self)]


class NoNorm(nn.Identity, Norm):
    """x"""

    def __init__(self, width: int):
        super().__init__()

    def blocks(self) -> list[Block]:
        return []
