"""Positions: without them "Man eats small dinosaur" and all its permutations are one bag of words.

    PE[pos, 2i] = sin(pos / 10000^(2i/d)),   PE[pos, 2i+1] = cos(pos / 10000^(2i/d))       arXiv:1706.03762, § 3.5

A position part takes token embeddings (B, T, D - features) and returns (B, T, D): those that add have no features of
their own, those that concatenate take some of the width.
"""

import torch
from torch import Tensor, nn

from weft.errors import WeftError


def sinusoids(length: int, features: int) -> Tensor:
    """The table of sines and cosines: (length, features)."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    rate = 10000.0 ** (-torch.arange(0, features, 2, dtype=torch.float64) / features)
    angle = position * rate  # (length, ⌈features / 2⌉)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[:, :features].float()


class Position(nn.Module):
    """(embeddings, positions) → embeddings that know where they stand."""

    features = 0  # how much of the width the part keeps for itself
    limit: int | None = None  # the longest sequence it knows, where there is one

    def forward(self, x: Tensor, positions: Tensor | None) -> Tensor:
        raise NotImplementedError


class NoPosition(Position):
    """x, a bag of tokens."""

    def forward(self, x: Tensor, positions: Tensor | None) -> Tensor:
        return x


class Sinusoid(Position):
    """x + PE. Any length: the table grows when a longer sequence comes."""

    def __init__(self, width: int):
        super().__init__()
        self.register_buffer("table", sinusoids(256, width), persistent=False)
        self.table: Tensor

    def rows(self, x: Tensor, positions: Tensor | None) -> Tensor:
        """PE at the given positions, (B, T, features); at 0, 1, 2 … where none are given, (T, features)."""
        needed = x.size(1) if positions is None else int(positions.max()) + 1
        if needed > self.table.size(0):
            self.table = sinusoids(2 * needed, self.table.size(1)).to(self.table)
        return self.table[: x.size(1)] if positions is None else self.table[positions]

    def forward(self, x: Tensor, positions: Tensor | None) -> Tensor:
        return x + self.rows(x, positions)


class ConcatenatedSinusoid(Sinusoid):
    """[x; PE], as two of the lectures draw it: a part of the width tells the position and nothing else."""

    def __init__(self, features: int):
        super().__init__(features)
        self.features = features

    def forward(self, x: Tensor, positions: Tensor | None) -> Tensor:
        rows = self.rows(x, positions)
        return torch.cat((x, rows.expand(x.size(0), -1, -1)), -1)  # (B, T, D)


class Learned(Position):
    """x + P[pos] with one learned vector for each of the first `limit` positions, and none beyond."""

    def __init__(self, width: int, limit: int):
        super().__init__()
        self.limit = limit
        self.table = nn.Embedding(limit, width)

    def forward(self, x: Tensor, positions: Tensor | None) -> Tensor:
        needed = x.size(1) if positions is None else int(positions.max()) + 1
        if needed > self.table.num_embeddings:
            raise WeftError(f"a sequence of {needed} tokens: this model learned positions up to {self.limit} only.")
        return x + (self.table.weight[: x.size(1)] if positions is None else self.table(positions))
