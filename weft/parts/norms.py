"""Norms: each position's features brought to one scale.

    layer   g ⊙ (x - mean) / √(var + ε) + b                                   Ba et al. 2016, arXiv:1607.06450
    rms     g ⊙ x / √(mean(x²) + ε)                                    Zhang & Sennrich 2019, arXiv:1910.07467

ε stands inside the root: it keeps a vector of equal features from dividing by zero.
"""

from torch import nn


def layer_norm(width: int, epsilon: float = 1e-5) -> nn.Module:
    """g ⊙ (x - mean) / √(var + ε) + b over the features"""
    return nn.LayerNorm(width, eps=epsilon)


def rms_norm(width: int, epsilon: float = 1e-6) -> nn.Module:
    """g ⊙ x / √(mean(x²) + ε) over the features"""
    return nn.RMSNorm(width, eps=epsilon)


def no_norm(width: int) -> nn.Module:
    """x"""
    return nn.Identity()
