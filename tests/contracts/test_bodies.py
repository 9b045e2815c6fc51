"""Contracts of everything that works on each position alone: feed-forwards, activations, norms, joins and wirings."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.contracts.tiny import B, D, T, filled, part, random, there_and_back, without_gradient
from weft.parts.call import Call
from weft.parts.dropout import Dropout
from weft.parts.layers import Add
from weft.plans.catalogues import ACTIVATIONS, FEED_FORWARDS, JOINS, NORMS, WIRINGS
from weft.plans.part import Part


class Feeding(nn.Module):
    def __init__(self, name: Part | str) -> None:
        super().__init__()
        self.feed = part(FEED_FORWARDS, name, D)

    def forward(self, x: Tensor) -> Tensor:
        return self.feed(x, Call())


class Joining(nn.Module):
    """x, and a branch that is made of x."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.join = part(JOINS, name)

    def forward(self, x: Tensor) -> Tensor:
        return self.join(x, x.sin())


class Wiring(nn.Module):
    """The simplest body in a wiring."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.linear = nn.Linear(D, D, dtype=torch.float64)
        self.wiring = part(WIRINGS, name, nn.LayerNorm(D), 0.0, Add())

    def forward(self, x: Tensor) -> Tensor:
        return self.wiring(x, self.body, Call())

    def body(self, x: Tensor, call: Call) -> Tensor:
        return self.linear(x)


SOME_FEED_FORWARDS = [name for name in FEED_FORWARDS if name != "none"]
Make = Callable[[], nn.Module]
EVERY = {
    **{f"feed_forward-{name}": partial(Feeding, name) for name in SOME_FEED_FORWARDS},
    **{f"feed_forward-{name}-bias=no": partial(Feeding, Part(name, {"bias": False})) for name in SOME_FEED_FORWARDS},
    **{f"activation-{name}": partial(part, ACTIVATIONS, name) for name in ACTIVATIONS},
    **{f"norm-{name}": partial(part, NORMS, name, D) for name in NORMS},
    **{f"join-{name}": partial(Joining, name) for name in JOINS},
    **{f"wiring-{name}": partial(Wiring, name) for name in WIRINGS},
}
every_body = pytest.mark.parametrize("make", list(EVERY.values()), ids=list(EVERY))


@every_body
def test_the_shape_stays(make: Make) -> None:
    assert make()(random(B, T, D)).shape == (B, T, D)


@every_body
def test_the_input_and_every_parameter_get_a_gradient(make: Make) -> None:
    body, x = make(), random(B, T, D).requires_grad_()
    (body(x) * random(B, T, D)).sum().backward()
    assert without_gradient(body) == []
    assert (x.grad.abs().sum(-1) > 0).all()


@every_body
def test_each_position_stands_alone(make: Make) -> None:
    """So padding never leaks, the future is not seen, and a step is a part of the whole."""
    body, x = make().eval(), random(B, T, D)
    whole = body(x)
    for t in range(T):
        assert_close(body(x[:, t : t + 1]), whole[:, t : t + 1])


@every_body
def test_batched_equals_single(make: Make) -> None:
    body, x = make().eval(), random(B, T, D)
    whole = body(x)
    for b in range(B):
        assert_close(body(x[b : b + 1]), whole[b : b + 1])


@every_body
def test_there_and_back(make: Make) -> None:
    body, x = make(), random(B, T, D)
    assert torch.equal(filled(make(), there_and_back(body))(x), body(x))


@every_body
def test_nothing_is_drawn_unless_told(make: Make) -> None:
    """Dropout is off by default: training twice is the same."""
    body, x = make().train(), random(B, T, D)
    assert torch.equal(body(x), body(x))


@pytest.mark.parametrize("name", SOME_FEED_FORWARDS)
def test_a_feed_forward_takes_a_dropout_rate(name: str) -> None:
    feed = FEED_FORWARDS.makers[name](D, dropout=0.5)
    assert [module.p for module in feed.modules() if isinstance(module, Dropout)] == [0.5]


@pytest.mark.parametrize("name", list(WIRINGS))
def test_a_wiring_hands_on_the_call(name: str) -> None:
    calls = []

    def body(x: Tensor, call: Call) -> Tensor:
        calls.append(call)
        return x

    call = Call(place="encoder.0.mix")
    part(WIRINGS, name, nn.Identity(), 0.0, Add())(random(B, T, D), body, call)
    assert calls == [call]


@pytest.mark.parametrize("name", list(WIRINGS))
def test_a_wiring_says_whether_it_ends_in_a_norm(name: str) -> None:
    wiring = part(WIRINGS, name, nn.LayerNorm(D), 0.0, Add())
    found = wiring(random(B, T, D), lambda x, call: 50 * x, Call())
    one = wiring.norm(random(B, T, D))
    assert wiring.open_ended == (found.std() > 10 * one.std())
