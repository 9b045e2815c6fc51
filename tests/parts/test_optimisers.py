"""Optimisers: who moves which parameter, and by how much."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.contracts.tiny import TINY
from tests.precision import needs
from weft.models.base import Model
from weft.parts.optimisers import Numbers, Optimiser
from weft.plans.catalogues import OPTIMISERS
from weft.plans.plan import Plan

NUMBERS = Numbers(0.01, (0.9, 0.98), 1e-9, 0.1)
every_optimiser = pytest.mark.parametrize("name", list(OPTIMISERS))


def model() -> Model:
    torch.manual_seed(1)
    return Plan().with_settings({**TINY, "head": "linear", "position": "learned"}).build()


def moved(name: str, numbers: Numbers, steps: int = 3) -> dict[str, Tensor]:
    """The weights after some steps along gradients that are made up."""
    needs(OPTIMISERS.makes(name).precision)
    made = model()
    optimiser = OPTIMISERS.build(name, made, numbers)
    for step in range(steps):
        optimiser.zero_grad()
        assert not any(parameter.grad is not None and parameter.grad.any() for parameter in made.parameters())
        torch.manual_seed(step)
        for parameter in made.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimiser.step()
    return {name: parameter.detach() for name, parameter in made.named_parameters()}


def decays(optimiser: Optimiser) -> dict[Tensor, float]:
    return {parameter: group["weight_decay"] for group in optimiser.param_groups for parameter in group["params"]}


@every_optimiser
@pytest.mark.parametrize("mixer", ["attention", "lstm", "convolution"])
def test_every_parameter_is_moved_by_one(name: str, mixer: str) -> None:
    made = Plan().with_settings({**TINY, "mixer": mixer}).build()
    optimiser = OPTIMISERS.build(name, made, NUMBERS)
    held = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    assert len(held) == len(set(held))
    assert set(held) == set(made.parameters()) == optimiser.remembers().keys()


@every_optimiser
def test_optimiser_has_the_moments_it_declares(name: str) -> None:
    made = model()
    optimiser = OPTIMISERS.build(name, made, NUMBERS)
    for parameter in made.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimiser.step()
    assert {parameter: tuple(memory) for parameter, memory in optimiser.state.items()} == optimiser.remembers()


@every_optimiser
def test_a_rate_of_zero_moves_nothing(name: str) -> None:
    before = dict(model().named_parameters())
    for key, value in moved(name, NUMBERS._replace(rate=0.0)).items():
        assert torch.equal(value, before[key]), key


def test_adam_is_torchs() -> None:
    made = model()
    own = torch.optim.Adam(made.parameters(), 0.01, (0.9, 0.98), 1e-9, 0.1, decoupled_weight_decay=True, fused=True)
    for step in range(3):
        torch.manual_seed(step)
        for parameter in made.parameters():
            parameter.grad = torch.randn_like(parameter)
        own.step()
    ours = moved("adam", NUMBERS)
    assert all(torch.equal(ours[name], parameter) for name, parameter in made.named_parameters())


def test_adamw_without_decay_is_adam() -> None:
    one, other = (moved(name, NUMBERS._replace(weight_decay=0.0)) for name in ("adam", "adamw"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_adamw_decays_matrices_of_layers_only() -> None:
    made = model()
    found = decays(OPTIMISERS.build("adamw", made, NUMBERS))
    decayed = {name for name, parameter in made.named_parameters() if found[parameter]}
    assert decayed == {
        name
        for name, parameter in made.named_parameters()
        if parameter.dim() > 1 and name.startswith(("encoder.", "decoder."))
    }
    assert set(found.values()) == {0.0, 0.1}


def test_weight_decay_is_decoupled() -> None:
    """Each step takes rate · λ of a weight away, whatever its gradient is."""
    with_it, without = moved("adamw", NUMBERS, 1), moved("adamw", NUMBERS._replace(weight_decay=0.0), 1)
    name = "encoder.layers.0.feed.body.out.weight"
    assert_close(without[name] - with_it[name], 0.01 * 0.1 * dict(model().named_parameters())[name])


def test_muon_moves_the_matrices_of_layers() -> None:
    made = model()
    optimiser = OPTIMISERS.build("muon", made, NUMBERS)
    matrices = {name for name, p in made.named_parameters() if optimiser.remembers()[p] == ("momentum_buffer",)}
    assert matrices == {
        name
        for name, parameter in made.named_parameters()
        if parameter.dim() == 2 and name.startswith(("encoder.", "decoder."))
    }


def test_the_first_step_of_muon_is_orthogonal_and_as_large_as_adams() -> None:
    """U Vᵀ of the gradient, 0.2 √max(rows, columns) times as large: the root of its mean square is 0.2 · rate."""
    name = "encoder.layers.0.feed.body.out.weight"  # (16, 64)
    step = (dict(model().named_parameters())[name] - moved("muon", NUMBERS._replace(weight_decay=0.0), 1)[name]) / 0.01
    before = model()
    torch.manual_seed(0)
    gradient = {key: torch.randn_like(parameter) for key, parameter in before.named_parameters()}[name]
    u, _, v = torch.linalg.svd(gradient, full_matrices=False)
    singular = torch.linalg.svdvals(step) / (0.2 * 64**0.5)
    assert ((singular > 0.6) & (singular < 1.3)).all()
    assert nn.functional.cosine_similarity(step.flatten(), (u @ v).flatten(), 0) > 0.98
    assert step.square().mean().sqrt().item() == pytest.approx(0.2, rel=0.2)


def test_muon_without_matrices_is_adamw() -> None:
    """Convolutions alone: their weights are no matrices."""
    alone = {"model": "decoder", "mixer": "convolution", "feed_forward": "none", "cross": "none"}
    optimiser = OPTIMISERS.build("muon", Plan().with_settings({**TINY, **alone}).build(), NUMBERS)
    assert len(optimiser.movers) == 1
