"""Contracts of what a training begins with: inits and schedules."""

import pytest
import torch
from torch import nn

from tests.contracts.tiny import TINY
from weft.plans.catalogues import INITS, MIXERS, SCHEDULES
from weft.plans.part import Part
from weft.plans.plan import Plan

every_init = pytest.mark.parametrize("name", list(INITS))
every_schedule = pytest.mark.parametrize("name", list(SCHEDULES))


def initialised(name: str, seed: int, mixer: str = "attention") -> nn.Module:
    model = Plan().with_settings({**TINY, "mixer": mixer}).build()
    torch.manual_seed(seed)
    assert INITS.build(Part(name), model) is None
    return model


@pytest.mark.parametrize("mixer", list(MIXERS))
@every_init
def test_the_seed_decides_every_weight_of_a_model(name: str, mixer: str) -> None:
    """And nothing that was there before."""
    first, again = initialised(name, 3, mixer), initialised(name, 3, mixer)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))


@every_init
def test_another_seed_is_another_model(name: str) -> None:
    first, other = initialised(name, 3), initialised(name, 4)
    matrices = [pair for pair in zip(first.parameters(), other.parameters(), strict=True) if pair[0].dim() > 1]
    assert not any(torch.equal(a, b) for a, b in matrices)


@every_init
def test_an_init_leaves_what_is_shared_shared(name: str) -> None:
    model = initialised(name, 3)
    assert model.source.embedding is model.target.embedding
    assert model.head.words is model.target.embedding


@every_init
def test_an_init_works_without_memory_for_weights(name: str) -> None:
    with torch.device("meta"):
        Plan().with_settings({**TINY, "init": name}).build()


@every_schedule
@pytest.mark.parametrize("steps", [1, 10, 10_000])
def test_a_schedule_is_a_fraction_of_the_peak(name: str, steps: int) -> None:
    schedule = SCHEDULES.build(Part(name), steps)
    rates = [schedule(step) for step in range(1, steps + 1)]
    assert rates[0] > 0 or steps == 1  # a training of one step may end where it begins
    assert all(0 <= rate <= 1 for rate in rates)


@every_schedule
def test_a_schedule_goes_up_once_and_never_rises_after_its_peak(name: str) -> None:
    schedule = SCHEDULES.build(Part(name, {"warmup": 10}), 100)
    rates = [schedule(step) for step in range(1, 101)]
    assert rates[:10] == sorted(rates[:10])
    assert rates[9] == max(rates) == 1.0
    assert rates[9:] == sorted(rates[9:], reverse=True)
