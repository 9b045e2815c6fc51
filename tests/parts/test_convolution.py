"""Convolutions against torch's own, how far they reach, and what they do in steps."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from weft.parts.call import Call, State
from weft.parts.convolution import Bottleneck, Convolution, GatedConvolution

B, T, D = 2, 9, 4


def rows(x: Tensor) -> Tensor:
    return x.transpose(1, 2)


@pytest.mark.parametrize("dilation", [1, 2, 4])
@pytest.mark.parametrize("kernel", [1, 2, 3])
def test_a_causal_convolution_is_torchs_own_with_all_padding_on_the_left(kernel: int, dilation: int) -> None:
    ours, x = Convolution(D, 5, kernel, dilation, is_causal=True), torch.randn(B, T, D)
    padded = F.pad(rows(x), ((kernel - 1) * dilation, 0))
    assert_close(ours(x, Call()), rows(F.conv1d(padded, ours.kernel.weight, ours.kernel.bias, dilation=dilation)))


def test_a_convolution_of_past_and_future_is_torchs_own_with_padding_on_both_sides() -> None:
    ours, x = Convolution(D, 5, 3, 2, is_causal=False), torch.randn(B, T, D)
    assert_close(ours(x, Call()), rows(F.conv1d(rows(x), ours.kernel.weight, ours.kernel.bias, padding=2, dilation=2)))


def test_by_hand() -> None:
    """y_t = 10 x_{t-2} + x_t: kernel 2, dilation 2."""
    ours = Convolution(1, 1, 2, 2, is_causal=True)
    with torch.no_grad():
        ours.kernel.weight.copy_(torch.tensor([[[10.0, 1.0]]]))
        ours.kernel.bias.zero_()
    assert ours(torch.tensor([[[1.0], [2.0], [3.0], [4.0]]]), Call())[0, :, 0].tolist() == [1.0, 2.0, 13.0, 24.0]


def test_the_gate_is_a_gated_linear_unit() -> None:
    """v ⊙ σ(g) with the value in the first half of the channels"""
    ours, x = GatedConvolution(D, 3, 1, is_causal=True), torch.randn(B, T, D)
    value, gate = ours.convolution(x, Call()).chunk(2, -1)
    assert_close(ours(x, Call()), value * gate.sigmoid())


def test_dilations_that_double_reach_1024_positions() -> None:
    """Kernel 2 with dilations 1, 2, 4 … 512, as in WaveNet: ten layers hear 64 ms of sound at 16 kHz."""
    stack = [Convolution(1, 1, 2, 2**i, is_causal=True).double() for i in range(10)]
    x = torch.zeros(1, 1500, 1, dtype=torch.float64, requires_grad=True)
    y = x
    for layer in stack:
        y = layer(y, Call())
    y[0, -1, 0].backward()
    (seen,) = x.grad[0, :, 0].nonzero(as_tuple=True)
    assert seen.tolist() == list(range(1500 - 1024, 1500))
    assert 1024 / 16_000 == 0.064


@pytest.mark.parametrize("make", [GatedConvolution, lambda *options: Bottleneck(options[0], 3, *options[1:])])
def test_steps_of_any_size_are_the_whole(make: type[GatedConvolution]) -> None:
    """More than the window, less than the window, one at a time."""
    ours, x, state = make(D, 3, 2, True).eval(), torch.randn(B, T, D), State()
    with torch.no_grad():
        steps = [ours(piece, Call(state=state, place="mix")) for piece in x.split([6, 1, 2], 1)]
        assert_close(torch.cat(steps, 1), ours(x, Call()))


def test_mixer_that_looks_ahead_cannot_decode_step_by_step() -> None:
    with pytest.raises(AssertionError, match="mix sees the future"):
        Convolution(D, D, 3, 1, is_causal=False)(torch.randn(B, T, D), Call(state=State(), place="mix"))


def test_a_bottleneck_by_its_formula() -> None:
    """The paper's figure 3 after its first norm: ReLU, 1×1, norm, ReLU, 1×k, norm, ReLU, 1×1."""
    ours, x = Bottleneck(D, 3, 3, 2, is_causal=True), torch.randn(B, T, D)
    weights = dict(ours.named_parameters())
    with torch.no_grad():
        for weight in weights.values():
            weight.normal_()  # norms too have something to say
    narrow, convolution, wide = (
        (weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in ("narrow", "convolution.kernel", "out")
    )
    norms = [((3,), weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in ("before", "after")]
    hidden = F.layer_norm(F.linear(x.relu(), *narrow), *norms[0]).relu().transpose(1, 2)
    hidden = F.conv1d(F.pad(hidden, (4, 0)), *convolution, dilation=2).transpose(1, 2)
    assert_close(ours(x, Call()), F.linear(F.layer_norm(hidden, *norms[1]).relu(), *wide))
