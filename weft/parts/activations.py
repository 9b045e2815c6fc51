"""Activation functions of feed-forward layers."""

from collections.abc import Callable

from torch import Tensor, nn


def _maker(kind: type[nn.Module], formula: str) -> Callable[[], nn.Module]:
    """Return a maker without options, whose docstring is the formula."""

    def make() -> nn.Module:
        return kind()

    make.__doc__ = formula
    return make


class SquaredReLU(nn.Module):
    """max(0, x)²"""

    def forward(self, x: Tensor) -> Tensor:
        return x.relu().square()


def gelu_tanh() -> nn.Module:
    """½ x (1 + tanh(√(2/π) (x + 0.044715 x³))), close to gelu and what GPT-2 has (arXiv:1606.08415)"""
    return nn.GELU("tanh")


relu = _maker(nn.ReLU, "max(0, x)")
relu2 = _maker(SquaredReLU, "max(0, x)² (arXiv:2109.08668)")
gelu = _maker(nn.GELU, "x Φ(x), Φ the normal distribution's share below x (arXiv:1606.08415)")
swish = _maker(nn.SiLU, "x σ(x) (arXiv:1710.05941)")
elu = _maker(nn.ELU, "x where x > 0, else eˣ - 1 (arXiv:1511.07289)")
selu = _maker(
    nn.SELU, "1.0507 · (x where x > 0, else 1.6733 (eˣ - 1)), which keeps mean 0 and variance 1 (arXiv:1706.02515)"
)
sigmoid = _maker(nn.Sigmoid, "σ(x) = 1 / (1 + e⁻ˣ)")
softplus = _maker(nn.Softplus, "log(1 + eˣ), a smooth relu")
tanh = _maker(nn.Tanh, "(eˣ - e⁻ˣ) / (eˣ + e⁻ˣ)")
identity = _maker(nn.Identity, "x")
