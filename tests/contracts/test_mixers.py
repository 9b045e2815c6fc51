"""Contracts of every mixer and cross: (x, call) → x, over a sequence's own past, all of it, or the encoder's memory."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.contracts.tiny import B, D, T, filled, part, random, there_and_back, without_gradient
from weft.parts.call import Call, Memory, State
from weft.plans.catalogues import CROSSES, MIXERS
from weft.plans.part import Part

S = 4
KEEP = torch.arange(T) < torch.tensor([T, 3, 1])[:, None]
# Every mixer, and attention with every position and pattern.
CHOICES = {
    **{name: Part(name) for name in MIXERS},
    **{
        f"{option}={name}": Part("attention", {option: name})
        for option in MIXERS.inner
        for name in MIXERS.inner[option]
    },
    "kv_heads=2": Part("attention", {"kv_heads": 2}),
    "bias=no": Part("attention", {"bias": False}),
    "like llama": Part("attention", {"kv_heads": 2, "bias": False, "qk_norm": "rms", "position": "rotary"}),
}
OWN = [(name, use) for name in CHOICES for use in ("whole", "causal")]
ACROSS = [(name, "cross") for name in CROSSES if name != "none"]

every_mixer = pytest.mark.parametrize("name", list(CHOICES))
every_cross = pytest.mark.parametrize("name", [name for name, _ in ACROSS])
every_own_use = pytest.mark.parametrize(("name", "use"), OWN)
every_use = pytest.mark.parametrize(("name", "use"), OWN + ACROSS)
every_use_in_steps = pytest.mark.parametrize(("name", "use"), [(n, u) for n, u in OWN + ACROSS if u != "whole"])


def mixer(name: str, use: str) -> nn.Module:
    return part(CROSSES, name, D).eval() if use == "cross" else part(MIXERS, CHOICES[name], D, use == "causal").eval()


def call(use: str, state: State | None = None) -> Call:
    memory = Memory(torch.ones(B, S, D, dtype=torch.float64).cumsum(1), torch.ones(B, S, dtype=torch.bool))
    return Call(memory=memory if use == "cross" else None, state=state)


@every_use
def test_the_shape_stays(name: str, use: str) -> None:
    assert mixer(name, use)(random(B, T, D), call(use)).shape == (B, T, D)


@every_use
def test_the_input_and_every_parameter_get_a_gradient(name: str, use: str) -> None:
    mix, x = mixer(name, use), random(B, T, D).requires_grad_()
    mix(x, call(use)).square().sum().backward()
    assert without_gradient(mix) == []
    assert x.grad.any()


@every_own_use
def test_padding_never_leaks(name: str, use: str) -> None:
    mix, x = mixer(name, use), random(B, T, D)
    other = torch.where(KEEP[..., None], x, 100 * random(B, T, D))
    assert_close(mix(other, Call(keep=KEEP))[KEEP], mix(x, Call(keep=KEEP))[KEEP])


@every_own_use
def test_padding_is_as_if_it_were_not_there(name: str, use: str) -> None:
    mix, x = mixer(name, use), random(B, T, D)
    assert_close(mix(x, Call(keep=KEEP))[1:2, :3], mix(x[1:2, :3], Call()))


@every_cross
def test_padding_of_the_memory_never_leaks(name: str) -> None:
    mix, x, output = mixer(name, "cross"), random(B, T, D), random(B, S, D)
    keep = torch.arange(S) < torch.tensor([S, 2, 1])[:, None]
    other = torch.where(keep[..., None], output, 100 * random(B, S, D))
    found = mix(x, Call(memory=Memory(output, keep)))
    assert_close(mix(x, Call(memory=Memory(other, keep))), found)
    assert_close(mix(x[1:2], Call(memory=Memory(output[1:2, :2], keep[1:2, :2]))), found[1:2])


@every_mixer
def test_a_causal_mixer_ignores_the_future(name: str) -> None:
    mix, x = mixer(name, "causal"), random(B, T, D)
    for t in range(1, T):
        other = torch.cat((x[:, :t], random(B, T - t, D)), 1)
        assert_close(mix(other, Call())[:, :t], mix(x, Call())[:, :t])


@every_mixer
def test_the_other_mixers_do_look_ahead(name: str) -> None:
    mix, x = mixer(name, "whole"), random(B, T, D)
    other = torch.cat((x[:, :1], random(B, T - 1, D)), 1)
    assert not torch.allclose(mix(other, Call())[:, 0], mix(x, Call())[:, 0])


@every_own_use
def test_a_mixer_reaches_as_far_as_it_declares(name: str, use: str) -> None:
    """A change at one position is seen as far away as it says, and no farther."""
    mix, x = mixer(name, use), random(1, T, D)
    seen = []
    for t in range(T):
        other = x.clone()
        other[:, t] += 1
        changed = (mix(other, Call()) - mix(x, Call())).abs().amax((0, 2)) > 1e-12  # (T)
        seen += [abs(t - int(where)) for where in changed.nonzero()]
    assert max(seen) == (T - 1 if mix.reach is None else min(mix.reach, T - 1))


@every_use
def test_a_mixer_declares_what_the_lectures_compare_it_by(name: str, use: str) -> None:
    """The table of the lectures, for every entry of the catalogues."""
    recurrent, convolution = ("t·k²", 7), ("w·t·k²", 1)
    convolutions = dict.fromkeys(("convolution", "plain-convolution", "bottleneck"), convolution)
    table = {"lstm": recurrent, "gru": recurrent, **convolutions}
    mix = mixer(name, use)
    assert (mix.complexity, mix.sequential_steps(7)) == table.get(name, ("t²·k", 1))


@pytest.mark.parametrize("pieces", [[1, 1, 1, 1, 1], [2, 1, 2]], ids=["one by one", "in pieces"])
@every_use_in_steps
def test_step_by_step_equals_all_at_once(name: str, use: str, pieces: list[int]) -> None:
    mix, x, state = mixer(name, use), random(B, T, D), State()
    positions = torch.arange(T).expand(B, T)
    steps = [
        mix(piece, Call(positions=where, memory=call(use).memory, state=state))
        for piece, where in zip(x.split(pieces, 1), positions.split(pieces, 1))
    ]
    assert_close(torch.cat(steps, 1), mix(x, call(use)))


@every_mixer
@torch.inference_mode()
def test_hypotheses_can_change_places_on_the_way(name: str) -> None:
    mix, x, state = mixer(name, "causal"), random(B, 2, D), State()
    mix(x[:, :1], Call(positions=torch.zeros(B, 1, dtype=torch.long), state=state))
    order = torch.tensor([2, 0, 0])
    state.select(order)
    moved = mix(x[:, 1:], Call(positions=torch.ones(B, 1, dtype=torch.long), state=state))
    assert_close(moved, mix(torch.cat((x[order, :1], x[:, 1:]), 1), Call())[:, 1:])


@every_use
def test_batched_equals_single(name: str, use: str) -> None:
    mix, x = mixer(name, use), random(B, T, D)
    memory = call(use).memory
    for b in range(B):
        alone = Call(memory=memory.select(torch.tensor([b])) if memory else None)
        assert_close(mix(x[b : b + 1], alone), mix(x, call(use))[b : b + 1])


@every_use
def test_there_and_back(name: str, use: str) -> None:
    mix, x = mixer(name, use), random(B, T, D)
    again = filled(mixer(name, use), there_and_back(mix))
    assert torch.equal(again(x, call(use)), mix(x, call(use)))
