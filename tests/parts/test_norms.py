"""Norms by their formulas, with ε inside the root."""

import math

import torch
from torch.testing import assert_close

from weft.parts.norms import LayerNorm, NoNorm, RMSNorm

X = torch.tensor([[1.0, 2.0, 6.0]])  # mean 3, variance (4 + 1 + 9) / 3
VARIANCE, SQUARES = 14 / 3, 41 / 3
GAIN, BIAS = torch.tensor([1.0, 2.0, -1.0]), torch.tensor([0.0, 1.0, 0.5])


def test_layer_norm_by_hand() -> None:
    norm = LayerNorm(3)
    norm.load_state_dict({"weight": GAIN, "bias": BIAS})
    assert_close(norm(X), torch.tensor([[-2.0, -2.0, -3.0]]) / math.sqrt(VARIANCE + 1e-5) + BIAS)


def test_epsilon_of_the_layer_norm_stands_inside_the_root() -> None:
    """With ε as large as the variance, inside and outside are far apart: ÷ 3.05 against ÷ 6.83."""
    assert_close(LayerNorm(3, epsilon=VARIANCE)(X), torch.tensor([[-2.0, -1.0, 3.0]]) / math.sqrt(2 * VARIANCE))


def test_equal_features_become_zeros() -> None:
    assert_close(LayerNorm(3)(torch.full((1, 3), 7.0)), torch.zeros(1, 3))


def test_rms_norm_by_hand() -> None:
    norm = RMSNorm(3)
    norm.load_state_dict({"weight": GAIN})
    assert_close(norm(X), torch.tensor([[1.0, 4.0, -6.0]]) / math.sqrt(SQUARES + 1e-6))


def test_epsilon_of_the_rms_norm_stands_inside_the_root() -> None:
    assert_close(RMSNorm(3, epsilon=SQUARES)(X), X / math.sqrt(2 * SQUARES))


def test_no_norm() -> None:
    assert NoNorm(3)(X) is X
