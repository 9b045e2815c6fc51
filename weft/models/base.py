"""What every model is: inputs by name → hidden states → a head. The loss is written once, for all of them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from weft.parts.call import Call, Memory, Penalties
from weft.parts.frontend import Frontend
from weft.parts.heads import Head, Loss

IGNORED = -100  # the target of a position that predicts nothing
Inputs = Mapping[str, Tensor]


@dataclass(frozen=True)
class Batch:
    """Rows of examples: what a model reads, by name, and what it should predict.

    Batch({"source": ids (B, S), "target": ids (B, T)}, targets (B, T))
    """

    inputs: Inputs  # rows first
    targets: Tensor  # (B, T) ids; IGNORED where nothing is predicted

    @property
    def count(self) -> int:
        """How many predictions the sums of a loss are divided by."""
        return int((self.targets != IGNORED).sum())

    def to(self, device: torch.device | str) -> "Batch":
        return Batch({name: value.to(device) for name, value in self.inputs.items()}, self.targets.to(device))

    def share(self, rank: int, size: int) -> "Batch":
        """The rows of one worker. Where there are too few for all, a row that predicts nothing."""
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
    """A model is `hidden` and a head: the head reads each hidden state, and the loss compares that with the targets."""

    head: Head

    @abstractmethod
    def hidden(self, inputs: Inputs, call: Call) -> Tensor:
        """Inputs by name → (B, T, D), the state that each target is predicted from."""

    @property
    @abstractmethod
    def sides(self) -> Mapping[str, Side]:
        """The stacks of the model by name, in the order in which they compute."""

    @abstractmethod
    def example(self, length: int, rows: int = 1) -> Batch:
        """A made-up batch of this length, to count operations and to see which heads there are."""

    @property
    @abstractmethod
    def limits(self) -> Mapping[str, int | None]:
        """The longest input that the positions know, in tokens, by name; None: any length."""

    def forward(self, batch: Batch) -> Loss:
        """Sums over all targets of a batch. `loss.objective / loss.count` is their mean, to call `backward` on."""
        penalties = Penalties()
        return penalties.added_to(self.head.loss(*self.read(batch, penalties)))

    def read(self, batch: Batch, penalties: Penalties | None = None) -> tuple[Tensor, Tensor]:
        """For each of the n targets, the hidden state (n, D) that it is predicted from, and the target (n)."""
        call = Call(penalties=penalties, extras=batch.inputs)
        hidden, real = self.hidden(batch.inputs, call), batch.targets != IGNORED
        return hidden[real], batch.targets[real]


class Generative(Model):
    """A model that a search can ask: a prompt is read once, and tokens are decoded one after the other."""

    @abstractmethod
    def prompt(self, inputs: Inputs, call: Call) -> Memory | None:
        """What the decoder is given of the inputs; None: it has nothing but the tokens."""

    @abstractmethod
    def decode(self, tokens: Tensor, memory: Memory | None, call: Call) -> Tensor:
        """Tokens (B, T) → hidden (B, T, D); with a state in the call, T new ones after those it remembers."""
