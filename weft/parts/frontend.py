"""Frontends turn tokens into vectors with positions.

    x = dropout(√D · E[token] + PE)                                                        arXiv:1706.03762, § 3.4

The matrix E may be shared with the output layer: then both hold the same object.
"""

import math

from torch import Tensor, nn

from weft.parts.dropout import Dropout
from weft.parts.positions import Position

PAD = 0  # pads the rows of a batch; a codec whose ids an encoder reads has no token with this id


class ScaledEmbedding(nn.Embedding):
    """√D · E[token]: components have variance 1, as E is initialised with N(0, 1/D)."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input) * math.sqrt(self.embedding_dim)  # (B, T, D)


class Frontend(nn.Module):
    """Token embedding, position, dropout: ids (B, T) → (B, T, D)."""

    def __init__(self, embedding: nn.Module, position: Position, dropout: float = 0.0):
        super().__init__()
        self.embedding = embedding
        self.position = position
        self.dropout = Dropout(dropout)

    def keep(self, tokens: Tensor) -> Tensor:
        """Which positions are real: (B, T)."""
        return tokens != PAD

    def forward(self, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        return self.dropout(self.position(self.embedding(tokens), positions))  # type: ignore[no-any-return]
