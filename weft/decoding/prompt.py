"""What a search starts from: the inputs of the model, the tokens given so far, and how many may follow."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from weft.models.base import Generative, Inputs
from weft.parts.frontend import PAD


@dataclass(frozen=True)
class Prompt:
    """A batch of B sequences to be continued."""

    inputs: Inputs  # by name, (B, …); a decoder alone has none
    prefix: Tensor  # (B, P) given tokens, the codec's start token first
    limits: Sequence[int]  # how many tokens may follow, for each sequence
    end: int  # the token that ends a sequence

    def __len__(self) -> int:
        return len(self.limits)

    def repeat(self, times: int) -> "Prompt":
        """The prompt with each sequence repeated this many times, copies next to each other."""
        inputs = {name: value.repeat_interleave(times, 0) for name, value in self.inputs.items()}
        prefix = self.prefix.repeat_interleave(times, 0)
        return Prompt(inputs, prefix, [limit for limit in self.limits for _ in range(times)], self.end)

    def row(self, i: int) -> "Prompt":
        """One sequence alone, without the padding that it had in the batch."""
        inputs = {name: value[i][value[i] != PAD][None] for name, value in self.inputs.items()}
        return Prompt(inputs, self.prefix[i : i + 1], [self.limits[i]], self.end)

    def key(self, i: int) -> tuple[int, ...]:
        """What identifies a sequence, wherever it is in the batch: sampling is seeded with it."""
        one = self.row(i)
        return tuple(id for value in (*one.inputs.values(), one.prefix[:, 1:]) for id in value[0].tolist())


def from_source(models: Sequence[Generative], source: Tensor, start: int, end: int) -> Prompt:
    """A prompt for translating a batch of sources (B, S). A translation has at most twice the tokens of its source plus
    20, or as many as the positions allow: without a limit, a model that repeats itself would never stop."""
    known = [limit for model in models if (limit := model.limits["target"]) is not None]
    limits = [min([2 * length + 20, *known]) for length in (source != PAD).sum(1).tolist()]
    return Prompt({"source": source}, torch.full_like(source[:, :1], start), limits, end)
