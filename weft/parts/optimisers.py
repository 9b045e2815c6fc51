"""Optimisers update the weights of a model by their gradients.

    m ← β₁ m + (1 - β₁) g,   v ← β₂ v + (1 - β₂) g²                                Kingma & Ba 2014, arXiv:1412.6980
    w ← w - rate · (m̂ / (√v̂ + ε) + λ w)                             with m̂ = m / (1 - β₁ᵗ) and v̂ = v / (1 - β₂ᵗ)

λ is the weight decay, decoupled from the gradient as in AdamW (Loshchilov & Hutter 2017, arXiv:1711.05101).
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

import torch
from torch import Tensor, nn

from weft.parts.layers import Stack
from weft.parts.options import Rate

Momentum = Annotated[float, Rate("decay of the mean of the gradients")]

ADAM = ("step", "exp_avg", "exp_avg_sq")  # torch's names of t, m and v
MUON = ("momentum_buffer",)


class Optimiser:
    """One or several of torch's optimisers, each for its own parameters, with one `state` by parameter."""

    precision = "float32"  # the lowest in use

    def __init__(self, *movers: torch.optim.Optimizer):
        self.movers = movers
        self.param_groups: list[dict[str, Any]] = [group for mover in movers for group in mover.param_groups]
        self.state: defaultdict[Tensor, dict[str, Tensor]] = defaultdict(dict)
        for mover in movers:
            mover.state = self.state

    def remembers(self) -> dict[Tensor, tuple[str, ...]]:
        """The names of the moments of each parameter."""
        return {
            parameter: MUON if isinstance(mover, torch.optim.Muon) else ADAM
            for mover in self.movers
            for group in mover.param_groups
            for parameter in group["params"]
        }

    def step(self) -> None:
        for mover in self.movers:
            mover.step()

    def zero_grad(self) -> None:
        for mover in self.movers:
            mover.zero_grad()


class Numbers(NamedTuple):
    """The options of every optimiser; β₁, β₂ and ε are Adam's."""

    rate: float
    betas: tuple[float, float]
    epsilon: float
    weight_decay: float


class MuonAndAdam(Optimiser):
    """Muon for some parameters, Adam for the others."""

    precision = "bfloat16"  # torch orthogonalises matrices in it


def adam(model: nn.Module, numbers: Numbers) -> Optimiser:
    """Adam; weight decay, where there is any, acts on all parameters (arXiv:1412.6980)"""
    return Optimiser(_adam([{"params": list(model.parameters())}], numbers))


def adamw(model: nn.Module, numbers: Numbers) -> Optimiser:
    """Adam; weight decay acts on matrices, not on norms, biases and embeddings (arXiv:1711.05101)"""
    return Optimiser(_adam(_groups(model, model.parameters(), numbers), numbers))


def muon(model: nn.Module, numbers: Numbers, *, momentum: Momentum = 0.95) -> MuonAndAdam:
    """Orthogonal momentum for the matrices of all layers, adamw for the rest (Jordan et al. 2024, arXiv:2502.16982)

    w ← w - 0.2 √max(rows, columns) · rate · U Vᵀ with m = U S Vᵀ: its steps are as large as Adam's, and one learning
    rate serves both. A matrix is what a part stores as one: an attention's W^Q, W^K and W^V are.
    """
    embedded = _embeddings(model)
    layers = [parameter for part in model.modules() if isinstance(part, Stack) for parameter in part.parameters()]
    matrices = {parameter: None for parameter in layers if parameter.dim() == 2 and parameter not in embedded}
    rest = [parameter for parameter in model.parameters() if parameter not in matrices]
    movers: list[torch.optim.Optimizer] = [_adam(_groups(model, rest, numbers), numbers)]
    if matrices:  # a model of convolutions has none
        movers.append(
            torch.optim.Muon(
                list(matrices), numbers.rate, numbers.weight_decay, momentum, adjust_lr_fn="match_rms_adamw"
            )
        )
    return MuonAndAdam(*movers)


def _adam(groups: list[dict[str, Any]], numbers: Numbers) -> torch.optim.Optimizer:
    fused = groups[0]["params"][0].device.type != "mps"
    return torch.optim.AdamW(groups, numbers.rate, numbers.betas, numbers.epsilon, numbers.weight_decay, fused=fused)


def _groups(model: nn.Module, parameters: Iterable[nn.Parameter], numbers: Numbers) -> list[dict[str, Any]]:
    """Parameters with and without decay, as groups that are not empty."""
    embedded = _embeddings(model)
    groups: dict[bool, list[nn.Parameter]] = {}
    for parameter in parameters:
        groups.setdefault(parameter.dim() > 1 and parameter not in embedded, []).append(parameter)
    return [
        {"params": group, "weight_decay": numbers.weight_decay if decays else 0.0} for decays, group in groups.items()
    ]


def _embeddings(model: nn.Module) -> set[Tensor]:
    return {module.weight for module in model.modules() if isinstance(module, nn.Embedding)}
