"""Contracts of every mixer and cross: (x, call) → x, over a sequence's own past, all of it, or the encoder's memory."""

import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

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


@pytest.mark.parametrize(
    ("name", "complexity", "steps"),
    [
        *(("attention", "t²·k", 1), ("additive", "t²·k", 1), ("lstm", "t·k²", 7), ("gru", "t·k²", 7)),
        *((name, "w·t·k²", 1) for name in ("convolution", "plain-convolution", "bottleneck")),
    ],
)
def test_the_table_of_the_lectures(name: str, complexity: str, steps: int) -> None:
    mix = mixer(name, "causal" if name in MIXERS else "cross")
    assert (mix.complexity, mix.sequential_steps(7)) == (complexity, steps)


class Operations(TorchDispatchMode):
    """Counts what torch is asked to compute: each operation is a step that the next one may wait for."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def operations(name: str, use: str, t: int = 64, k: int = D, kernel: int = 3) -> tuple[int, int]:
    """Floating-point operations of a layer on t tokens, and how many operations of torch they are."""
    choice = CROSSES if use == "cross" else MIXERS
    chosen = Part(name) if use == "cross" else CHOICES[name]
    if "kernel" in choice.options(chosen.name):
        chosen = chosen.with_option("kernel", kernel)
    with torch.device("meta"), sdpa_kernel(SDPBackend.MATH):
        mix = choice.build(chosen, *((k,) if use == "cross" else (k, use == "causal"))).eval()
        memory = Memory(torch.empty(1, t, k), torch.empty(1, t, dtype=torch.bool))
        asked = Call(memory=memory if use == "cross" else None)
        with FlopCounterMode(display=False) as flops:
            mix(torch.empty(1, t, k), asked)
        with Operations() as calls:
            mix(torch.empty(1, t, k), asked)
    return flops.get_total_flops(), calls.count


@every_use
def test_a_mixer_costs_what_it_declares(name: str, use: str) -> None:
    """Doubling a size multiplies the operations by 2 to the power that the declared term has of it."""
    mix, sizes = mixer(name, use), {"t": 128, "k": 8, "kernel": 128}
    powers = {"t": mix.complexity.count("t") + mix.complexity.count("t²")}
    powers["k"] = mix.complexity.count("k") + mix.complexity.count("k²")
    powers["kernel"] = mix.complexity.count("w")
    once, _ = operations(name, use, **sizes)
    for size, power in ((size, power) for size, power in powers.items() if power):
        twice, _ = operations(name, use, **{**sizes, size: 2 * sizes[size]})
        assert math.log2(twice / once) == pytest.approx(power, abs=0.25), size


@every_use
def test_a_mixer_takes_as_many_steps_as_it_declares(name: str, use: str) -> None:
    """More operations one after the other for more tokens, if it has more sequential steps."""
    mix, (_, few), (_, many) = mixer(name, use), operations(name, use, t=7), operations(name, use, t=14)
    assert (many > 1.5 * few) == (mix.sequential_steps(14) > mix.sequential_steps(7))
    assert mix.sequential_steps(7) in (1, 7)


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
