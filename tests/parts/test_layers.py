"""Wirings written out by hand, layers and stacks in order, and who sees the memory."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from weft.parts.call import Call, Memory
from weft.parts.layers import (
    Add,
    CrossSublayer,
    DecoderStack,
    EncoderStack,
    Layer,
    NoResidual,
    PostNorm,
    PreNorm,
    ScaledAdd,
    Sublayer,
)

X = torch.tensor([[[1.0, 2.0, 6.0]]])
MEMORY = Memory(torch.ones(1, 2, 3), torch.ones(1, 2, dtype=torch.bool))


class Times(nn.Module):
    """A body that anyone can compute: x → 10 x. Remembers its call."""

    def forward(self, x: Tensor, call: Call) -> Tensor:
        self.call = call
        return 10 * x


class Halve(nn.Module):
    """A norm that anyone can compute."""

    def forward(self, x: Tensor) -> Tensor:
        return x / 2


def test_add() -> None:
    assert_close(Add()(X, 10 * X), 11 * X)


def test_a_scaled_sum() -> None:
    """(x + 10 x) √½: two branches of variance 1 add up to variance 1."""
    assert_close(ScaledAdd()(X, 10 * X), 11 * X / 2**0.5)


def test_a_branch_alone() -> None:
    branch = 10 * X
    assert NoResidual()(X, branch) is branch


def test_post_norm_by_hand() -> None:
    """norm(x + f(x)) = (x + 10 x) / 2"""
    assert_close(PostNorm(Halve(), 0.0, Add())(X, Times(), Call()), 5.5 * X)


def test_pre_norm_by_hand() -> None:
    """x + f(norm(x)) = x + 10 (x / 2)"""
    assert_close(PreNorm(Halve(), 0.0, Add())(X, Times(), Call()), 6 * X)


def test_post_norm_with_a_layer_norm() -> None:
    norm = nn.LayerNorm(3)
    assert_close(PostNorm(norm, 0.0, Add())(X, Times(), Call()), norm(X + 10 * X))


def test_pre_norm_with_a_layer_norm() -> None:
    norm = nn.LayerNorm(3)
    assert_close(PreNorm(norm, 0.0, Add())(X, Times(), Call()), X + 10 * norm(X))


@pytest.mark.parametrize("wiring", [PostNorm, PreNorm])
def test_dropout_stands_on_the_output_of_the_body_only(wiring: type[PostNorm]) -> None:
    """Where the branch is dropped the stream passes untouched; where it is kept the branch counts twice."""
    x = torch.ones(1, 1, 100)
    found = wiring(nn.Identity(), 0.5, Add())(x, Times(), Call())
    assert sorted(found.unique().tolist()) == [1.0, 21.0]


def test_only_pre_norm_leaves_a_bare_sum() -> None:
    assert PreNorm.open_ended
    assert not PostNorm.open_ended


def test_within_does_not_see_the_memory() -> None:
    body = Times()
    Sublayer(PreNorm(nn.Identity(), 0.0, Add()), body)(X, Call(memory=MEMORY))
    assert body.call.memory is None


def test_across_sees_the_memory() -> None:
    body = Times()
    CrossSublayer(PreNorm(nn.Identity(), 0.0, Add()), body)(X, Call(memory=MEMORY))
    assert body.call.memory is MEMORY


def test_across_needs_a_memory() -> None:
    sublayer = CrossSublayer(PreNorm(nn.Identity(), 0.0, Add()), Times())
    with pytest.raises(AssertionError, match=r"decoder\.0\.cross attends to the memory, but the call has none"):
        sublayer(X, Call(place="decoder.0.cross"))


class Note(nn.Module):
    """Adds its mark to a list, with the place it was called at."""

    def __init__(self, notes: list[str]) -> None:
        super().__init__()
        self.notes = notes

    def forward(self, x: Tensor, call: Call) -> Tensor:
        self.notes.append(call.place)
        return x + 1


def test_a_layer_runs_its_sublayers_in_order_each_at_its_place() -> None:
    notes: list[str] = []
    layer = Layer({"mix": Note(notes), "cross": Note(notes), "feed": Note(notes)})
    assert_close(layer(X, Call(place="decoder.2")), X + 3)
    assert notes == ["decoder.2.mix", "decoder.2.cross", "decoder.2.feed"]


def test_one_sublayer_may_stand_in_two_places() -> None:
    notes: list[str] = []
    shared = Note(notes)
    assert_close(Layer({"before": shared, "after": shared})(X, Call()), X + 2)
    assert notes == ["before", "after"]


@pytest.mark.parametrize("kind", [EncoderStack, DecoderStack])
def test_a_stack_runs_its_layers_in_order_and_closes(kind: type[EncoderStack | DecoderStack]) -> None:
    notes: list[str] = []
    shared, keep = Note(notes), torch.ones(1, 1, dtype=torch.bool)
    found = kind([shared, shared, Note(notes)], Halve())(X, Call(keep=keep, place="side"))
    assert notes == ["side.0", "side.1", "side.2"]
    if isinstance(found, Memory):
        assert found.keep is keep
        found = found.output
    assert_close(found, (X + 3) / 2)
