"""The base of all models: inputs by name → hidden states → a head. The loss is computed here, for all of them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from weft.parts.call import Call, Memory, Penalties
from weft.parts.frontend import Frontend
from weft.parts.heads import Head, Loss

IGNORED = -100  # the target of positions without a prediction
Inputs = Mapping[str, Tensor]


@dataclass(frozen=True)
class Batch:
    """A batch of examples: the inputs of a model, by name, and the targets.

    Batch({"source": ids (B, S), "target": ids (B, T)}, targets (B, T))
    """

    inputs: Inputs  # rows first
    targets: Tensor  # (B, T) ids; IGNORED where nothing is predicted

    @property
    def count(self) -> int:
        """The number of targets, by which the sums of a loss are divided."""
        return int((self.targets != IGNORED).sum())

    def to(self, device: torch.device | str) -> "Batch":
        return Batch({name: value.to(device) for name, value in self.inputs.items()}, self.targets.to(device))

    def share(self, rank: int, size: int) -> "Batch":
        """The rows of one worker. If there are too few for all, a row without targets."""
        mine = Batch({name: value[rank::size] for name, value in self.inputs.items()}, self.targets[rank::size])
        if len(mine.targets):
            return mine
        first = {name: value[:1] for name, value in self.inputs.items()}
        return Batch(first, torch.full_like(self.targets[:1], IGNORED))


@dataclass(frozen=True)
class Side:
    """A frontend and the stack above it."""

    frontend: Frontend
    stack: nn.Module


class Model(nn.Module, ABC):
    """A model is `hidden` and a head: the head predicts a target from each hidden state."""

    sections: ClassVar[tuple[str, ...]]  # of a plan, that a model of this shape has
    head: Head

    @abstractmethod
    def hidden(self, inputs: Inputs, call: Call) -> Tensor:
        """Inputs by name → (B, T, D), the hidden state that each target is predicted from."""

    @property
    @abstractmethod
    def sides(self) -> Mapping[str, Side]:
        """The sides of the model by name, in the order of computation."""

    @abstractmethod
    def example(self, length: int, rows: int = 1) -> Batch:
        """A dummy batch of this length, for counting operations and attention heads."""

    @property
    @abstractmethod
    def limits(self) -> Mapping[str, int | None]:
        """The maximum length of each input in tokens, by name; None: any length."""

    def forward(self, batch: Batch) -> Loss:
        """The loss as sums over the targets of a batch; `loss.objective / loss.count` is the mean for `backward`."""
        penalties = Penalties()
        return penalties.added_to(self.head.loss(*self.read(batch, penalties)))

    def read(self, batch: Batch, penalties: Penalties | None = None) -> tuple[Tensor, Tensor]:
        """For each of the n targets, the hidden state (n, D) that it is predicted from, and the target (n)."""
        call = Call(penalties=penalties, extras=batch.inputs)
        hidden, real = self.hidden(batch.inputs, call), batch.targets != IGNORED
        return hidden[real], batch.targets[real]


class Generative(Model):
    """A model for searches: a prompt is read once, and tokens are decoded one after the other."""

    @abstractmethod
    def prompt(self, inputs: Inputs, call: Call) -> Memory | None:
        """The memory of the inputs for the decoder; None: it has tokens only."""

    @abstractmethod
    def decode(self, tokens: Tensor, memory: Memory | None, call: Call) -> Tensor:
        """Tokens (B, T) → hidden (B, T, D); with a state in the call, T new tokens after those it has."""
