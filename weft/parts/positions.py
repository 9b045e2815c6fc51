"""Positional encodings: without them "Man eats small dinosaur" and all its permutations are the same bag of words.

    PE[pos, 2i] = sin(pos / 10000^(2i/d)),   PE[pos, 2i+1] = cos(pos / 10000^(2i/d))       arXiv:1706.03762, § 3.5

A position part takes token embeddings (B, T, D - features) and returns (B, T, D): those that add have 0 features, those
that concatenate take some of the width.
"""

import math
from typing import Annotated

import torch
from torch import Tensor, nn

from weft.errors import WeftError
from weft.parts.options import Number

Features = Annotated[int | None, Number("features that encode the position", -math.inf, grows=True)]


def sinusoids(length: int, features: int) -> Tensor:
    """The table of sines and cosines: (length, features)."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    rate = 10000.0 ** (-torch.arange(0, features, 2, dtype=torch.float64) / features)
    angle = position * rate  # (length, ⌈features / 2⌉)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[:, :features].float()


class Position(nn.Module):
    """A position part is (embeddings, positions) → embeddings with encoded positions."""

    features = 0  # the share of the width that encodes positions only
    limit: int | None = None  # the longest sequence, if limited

    def forward(self, x: Tensor, positions: Tensor | None) -> Tensor:
        raise NotImplementedError


class NoPosition(Position):
    """x, a bag of tokens."""

    def forward(self, x: Tensor, positions: Tensor | None) -> Tensor:
        return x


class Sinusoid(Position):
    """x + PE, for any length: the table of PE grows as needed."""

    def __init__(self, width: int):
        super().__init__()
        self.register_buffer("table", torch.empty(0, width), persistent=False)
        self.table: Tensor

    def rows(self, x: Tensor, positions: Tensor | None) -> Tensor:
        """PE at the given positions, (B, T, features), or at 0, 1, 2 …, (T, features)."""
        needed = x.size(1) if positions is None else int(positions.max()) + 1
        if needed > self.table.size(0):
            self.table = sinusoids(2 * needed, self.table.size(1)).to(self.table)
        return self.table[: x.size(1)] if positions is None else self.table[positions]

    def forward(self, x: Tensor, positions: Tensor | None) -> Tensor:
        return x + self.rows(x, positions)


class ConcatenatedSinusoid(Sinusoid):
    """[x; PE]: by default a quarter of the width encodes the position, as in two of the lectures"""

    def __init__(self, width: int, features: Features = None):
        super().__init__(features or width // 4)
        self.features = features or width // 4

    def forward(self, x: Tensor, positions: Tensor | None) -> Tensor:
        rows = self.rows(x, positions)
        return torch.cat((x, rows.expand(x.size(0), -1, -1)), -1)  # (B, T, D)


class Learned(Position):
    """x + P[pos], a learned vector for each position up to the limit (arXiv:1705.03122)"""

    def __init__(self, width: int, limit: Annotated[int, Number("longest sequence, in tokens", 1, 2**24)] = 256):
        super().__init__()
        self.limit = limit
        self.table = nn.Embedding(limit, width)

    def forward(self, x: Tensor, positions: Tensor | None) -> Tensor:
        needed = x.size(1) if positions is None else int(positions.max()) + 1
        if needed > self.table.num_embeddings:
            raise WeftError(f"the sequence has {needed} tokens; this model has learned positions for {self.limit}.")
        return x + (self.table.weight[: x.size(1)] if positions is None else self.table(positions))
