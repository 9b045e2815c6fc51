"""The weights that a training keeps: those of the last step, or a running mean."""

from collections.abc import Mapping

import torch
from torch import Tensor

from weft.models.base import Model
from weft.training.parallel import slice_like
from weft.weights import parameters


class Newest:
    """The weights of the last step are validated, saved and shipped."""

    instead: dict[str, Tensor] | None = None  # kept in place of the model's weights

    def __init__(self, model: Model):
        self.model = model

    @property
    def weights(self) -> Mapping[str, Tensor]:
        return self.instead or parameters(self.model)

    def beside(self) -> dict[str, Tensor]:
        """What else a checkpoint needs for the training to continue."""
        return {}

    def update(self, step: int) -> None:
        """Follow an update of the model."""

    def fill(self, weights: Mapping[str, Tensor]) -> None:
        """Restore what a checkpoint kept; the model's own weights are already restored."""


class RunningMean(Newest):
    """After each step, mean ← d · mean + (1 - d) · weights (Polyak & Juditsky 1992; arXiv:2411.18704 on its use).

    The decay d is min(ema, (1 + step) / (10 + step)): the initial weights are soon forgotten.
    """

    def __init__(self, model: Model, ema: float):
        super().__init__(model)
        self.ema = ema
        self.instead = {name: weight.detach().clone() for name, weight in parameters(model).items()}

    def beside(self) -> dict[str, Tensor]:
        return {f"{name}:weight": weight for name, weight in parameters(self.model).items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        decay = min(self.ema, (1 + step) / (10 + step))
        for mean, weight in zip(self.weights.values(), parameters(self.model).values(), strict=True):
            mean.lerp_(weight, 1 - decay)

    @torch.no_grad()
    def fill(self, weights: Mapping[str, Tensor]) -> None:
        for name, mean in self.weights.items():
            mean.copy_(slice_like(weights[name], mean))
