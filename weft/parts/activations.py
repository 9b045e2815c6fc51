"""What a feed-forward layer does to its hidden units, one by one."""

from torch import nn


def relu() -> nn.Module:
    """max(0, x)"""
    return nn.ReLU()


def gelu() -> nn.Module:
    """x Φ(x), Φ the normal distribution's share below x (arXiv:1606.08415)"""
    return nn.GELU()


def swish() -> nn.Module:
    """x σ(x) (arXiv:1710.05941)"""
    return nn.SiLU()


def elu() -> nn.Module:
    """x where x > 0, else eˣ - 1 (arXiv:1511.07289)"""
    return nn.ELU()


def selu() -> nn.Module:
    """1.0507 · (x where x > 0, else 1.6733 (eˣ - 1)), which keeps mean 0 and variance 1 (arXiv:1706.02515)"""
    return nn.SELU()


def sigmoid() -> nn.Module:
    """σ(x) = 1 / (1 + e⁻ˣ)"""
    return nn.Sigmoid()


def softplus() -> nn.Module:
    """log(1 + eˣ), a smooth relu"""
    return nn.Softplus()


def tanh() -> nn.Module:
    """(eˣ - e⁻ˣ) / (eˣ + e⁻ˣ)"""
    return nn.Tanh()


def identity() -> nn.Module:
    """x"""
    return nn.Identity()
