"""Feed-forward layers by hand."""

import math

import torch
from torch import nn
from torch.testing import assert_close

from weft.parts.call import Call
from weft.parts.feed_forward import FeedForward
from weft.plans.catalogues import ACTIVATIONS

X = torch.tensor([[[1.0, -2.0]]])


def filled(layer: FeedForward, project: list[list[float]], biases: list[float], out: list[list[float]]) -> FeedForward:
    with torch.no_grad():
        layer.project.weight.copy_(torch.tensor(project))
        layer.project.bias.copy_(torch.tensor(biases))
        layer.out.weight.copy_(torch.tensor(out))
        layer.out.bias.copy_(torch.tensor([0.5, -0.5]))
    return layer


def test_the_formula_of_2017() -> None:
    """max(0, x W₁ + b₁) W₂ + b₂: inside -1, 4 and 5, of which relu leaves 0, 4 and 5."""
    layer = filled(
        FeedForward(2, 3, [nn.ReLU()]), [[1, 1], [2, -1], [0, -2]], [0.0, 0.0, 1.0], [[1.0, 1.0, 2.0], [3.0, 0.0, -1.0]]
    )
    assert_close(layer(X, Call()), torch.tensor([[[4 + 10 + 0.5, -5 - 0.5]]]))


def test_two_activations_are_multiplied() -> None:
    """(relu(x W) ⊙ x V) W₂: relu leaves 0 and 4 of -1 and 4; the other side has 3 and -2; the product is 0 and -8."""
    layer = filled(
        FeedForward(2, 2, [nn.ReLU(), nn.Identity()]),
        [[1, 1], [2, -1], [3, 0], [0, 1]],
        [0.0, 0.0, 0.0, 0.0],
        [[1.0, 1.0], [5.0, 0.5]],
    )
    assert_close(layer(X, Call()), torch.tensor([[[-8 + 0.5, -4 - 0.5]]]))


def test_the_first_activation_acts_on_the_first_projection() -> None:
    gate = FeedForward(3, 4, [nn.Sigmoid(), nn.Identity()])
    x = torch.randn(2, 5, 3)
    inside = nn.functional.linear(x, gate.project.weight, gate.project.bias)
    hidden = inside[..., :4].sigmoid() * inside[..., 4:]
    assert_close(gate(x, Call()), nn.functional.linear(hidden, gate.out.weight, gate.out.bias))


def test_without_biases_it_is_as_if_they_were_zero() -> None:
    without, x = FeedForward(3, 4, [nn.ReLU()], bias=False), torch.randn(2, 5, 3)
    assert [name for name, _ in without.named_parameters()] == ["project.weight", "out.weight"]
    assert_close(without(x, Call()), (x @ without.project.weight.T).relu() @ without.out.weight.T)


def test_relu2_is_the_square_of_relu() -> None:
    assert ACTIVATIONS.build("relu2")(torch.tensor([-2.0, 0.0, 0.5, 3.0])).tolist() == [0.0, 0.0, 0.25, 9.0]


def test_gelu_tanh_is_the_formula_of_gpt_2() -> None:
    x = torch.linspace(-4, 4, 33, dtype=torch.float64)
    expected = 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    assert_close(ACTIVATIONS.build("gelu-tanh")(x), expected)
    assert 0 < (expected - ACTIVATIONS.build("gelu")(x)).abs().max() < 1e-3


def test_dropout_stands_on_the_hidden_features() -> None:
    layer = FeedForward(3, 400, [nn.Identity()], dropout=0.5)
    with torch.no_grad():
        layer.out.weight.fill_(1.0)
        layer.out.bias.zero_()
        layer.project.weight.zero_()
        layer.project.bias.fill_(1.0)
    total = layer(torch.zeros(1, 1, 3), Call())[0, 0]
    assert (total == total[0]).all()  # one draw for all outputs: it was the inside that was dropped
    assert total[0] != 400
    assert total[0] % 2 == 0
    assert_close(layer.eval()(torch.zeros(1, 1, 3), Call()), torch.full((1, 1, 3), 400.0))
