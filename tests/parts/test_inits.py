"""Initialisation: a pass over a finished model."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from weft.parts.attention import Attention
from weft.parts.call import Call
from weft.parts.context_attention import ContextAttention, Dot
from weft.parts.convolution import GatedConvolution
from weft.parts.decoders import ConvS2SLayer
from weft.parts.feed_forward import FeedForward
from weft.parts.inits import depth_scaled, gated, gpt, xavier
from weft.parts.layers import Add, DecoderStack, Layer, PostNorm, PreNorm, ScaledAdd, Sublayer


def test_xavier_draws_uniformly_from_its_bounds() -> None:
    """Variance 2 / (fan in + fan out): uniform between ± √(6 / (fan in + fan out))."""
    layer = nn.Linear(100, 500)
    xavier(layer)
    bound = math.sqrt(6 / 600)
    assert layer.weight.abs().max().item() == pytest.approx(bound, rel=1e-3)
    assert layer.weight.var().item() == pytest.approx(2 / 600, rel=0.02)
    assert (layer.bias == 0).all()


def test_embeddings_are_drawn_normally_with_variance_one_over_width() -> None:
    embedding = nn.Embedding(2000, 64)
    xavier(embedding)
    assert embedding.weight.var().item() == pytest.approx(1 / 64, rel=0.02)
    assert embedding.weight.abs().max().item() > 3 / 8  # beyond three deviations: not uniform


def test_xavier_leaves_norms_at_one_and_zero() -> None:
    norm = nn.LayerNorm(4)
    xavier(norm)
    assert_close(norm.weight, torch.ones(4), check_stride=False)
    assert_close(norm.bias, torch.zeros(4))


def test_xavier_of_a_layer_without_bias() -> None:
    linear = nn.Linear(3, 3, bias=False)
    nn.init.constant_(linear.weight, 9.0)
    xavier(linear)
    assert 0.0 < linear.weight.abs().max() <= 1.0  # √(6 / (3 + 3))


def stack(layers: int, sublayers: int) -> DecoderStack:
    def sublayer() -> Sublayer:
        return Sublayer(PostNorm(nn.LayerNorm(4), 0.0, Add()), Attention(4, 2))

    return DecoderStack([Layer({str(i): sublayer() for i in range(sublayers)}) for _ in range(layers)], nn.Identity())


def test_depth_scaled_divides_the_end_of_each_branch_by_the_root_of_their_number() -> None:
    """Each stack counts its own branches: 2 layers of 2 in the encoder, 3 of 3 in the decoder."""
    model = nn.ModuleDict({"encoder": stack(2, 2), "decoder": stack(3, 3)})
    torch.manual_seed(1)
    xavier(model)
    plain = {name: value.clone() for name, value in model.state_dict().items()}
    torch.manual_seed(1)
    depth_scaled(model)
    for name, value in model.state_dict().items():
        branches = (4 if name.startswith("encoder") else 9) if name.endswith("body.out.weight") else 1
        assert_close(value, plain[name] / math.sqrt(branches), msg=name)


def test_gpt_draws_normally_and_scales_the_end_of_each_branch() -> None:
    """0.02, and over √4 where a matrix ends one of four branches: 2 layers of 2."""
    layers = [
        Layer(
            {
                "mix": Sublayer(PreNorm(nn.LayerNorm(64), 0.0, Add()), Attention(64, 2)),
                "feed": Sublayer(PreNorm(nn.LayerNorm(64), 0.0, Add()), FeedForward(64, 256, [nn.ReLU()])),
            }
        )
        for _ in range(2)
    ]
    model = nn.ModuleDict({"tokens": nn.Embedding(300, 64), "decoder": DecoderStack(layers, nn.LayerNorm(64))})
    gpt(model)
    for name, value in model.named_parameters():
        if value.dim() == 1:
            gain = "norm.weight" in name or "closing.weight" in name
            assert (value == float(gain)).all(), name
        else:
            expected = 0.02 / 2 if name.endswith("out.weight") else 0.02
            assert value.std().item() == pytest.approx(expected, rel=0.05), name
            assert abs(value.mean().item()) < 0.05 * expected, name


def test_gpt_with_another_deviation() -> None:
    embedding = nn.Embedding(300, 64)
    gpt(embedding, std=0.5)
    assert embedding.weight.std().item() == pytest.approx(0.5, rel=0.05)


def test_the_variance_of_a_gated_convolution_is_kept() -> None:
    """Half of a small signal passes the gate: with N(0, 4 / fan in) what comes out is as large as what went in."""
    convolution = GatedConvolution(64, 3, 1, is_causal=True)
    gated(convolution)
    x = 0.1 * torch.randn(20, 50, 64)
    assert convolution(x, Call())[:, 2:].var().item() == pytest.approx(0.01, rel=0.1)
    xavier(convolution)
    assert convolution(x, Call())[:, 2:].var().item() < 0.003


def test_the_variance_is_kept_through_many_gated_layers_that_drop() -> None:
    """Dropout divides it by what is kept, and the weights take that back: without that, 1.2 times a layer."""
    wirings = [PreNorm(nn.Identity(), 0.3, ScaledAdd()) for _ in range(12)]
    layers = nn.ModuleList(Sublayer(wiring, GatedConvolution(64, 3, 1, is_causal=True)) for wiring in wirings)
    gated(layers)
    x = began = 0.1 * torch.randn(20, 200, 64)
    for layer in layers:
        x = layer(x, Call())
    assert 0.8 < x[:, 30:].var() / began.var() < 1.25


def test_an_attending_layer_drops_its_attention_too() -> None:
    def looking(dropout: float) -> ConvS2SLayer:
        wirings = [PreNorm(nn.Identity(), dropout, ScaledAdd()) for _ in range(2)]
        return ConvS2SLayer(
            64, Sublayer(wirings[0], GatedConvolution(64, 3, 1, True)), ContextAttention(Dot()), wirings[1]
        )

    whole, dropped = looking(0.0), looking(0.5)
    for layer in (whole, dropped):
        gated(layer)
    for part in ("out.weight", "mix.body.convolution.kernel.weight"):
        ratio = dropped.get_parameter(part).var() / whole.get_parameter(part).var()
        assert ratio.item() == pytest.approx(0.5, rel=0.1)


def test_recurrent_cells() -> None:
    """Gate by gate; the forget gate of an LSTM begins open, and so it is with nothing else."""
    lstm, gru = nn.LSTM(6, 4), nn.GRU(6, 4)
    xavier(nn.ModuleList([lstm, gru]))
    assert lstm.bias_ih_l0.tolist() == [0.0] * 4 + [1.0] * 4 + [0.0] * 8
    assert not any(bias.any() for bias in (lstm.bias_hh_l0, gru.bias_ih_l0, gru.bias_hh_l0))
    for own in (*lstm.weight_hh_l0.chunk(4), *gru.weight_hh_l0.chunk(3)):
        assert_close(own @ own.T, torch.eye(4))
    bound = (6 / (6 + 4)) ** 0.5  # of a uniform distribution of variance 2 / (fan in + fan out)
    assert 0.8 * bound < lstm.weight_ih_l0.abs().max() <= bound
