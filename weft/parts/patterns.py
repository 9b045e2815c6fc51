"""Patterns of attention: which keys a query may see, as a pure function of their absolute positions.

Without a pattern a query sees every key. In a decoder, causality applies as well.
"""

from abc import ABC, abstractmethod
from typing import Annotated

import torch
from torch import Tensor

from weft.parts.options import Number


class Pattern(ABC):
    """A pattern defines which keys a query may see."""

    reach: int | None  # how many positions away a query can see; None: all

    @abstractmethod
    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        """Positions (B or 1, T) and (B or 1, S) → (B or 1, T, S), True where visible."""


class Window(Pattern):
    """A query sees keys at most this many positions away (arXiv:2004.05150)

    |i - j| ≤ width, in decoders only on the left: the sliding window of Longformer, whose w is 2 · width (§ 3.1).
    """

    def __init__(self, width: Annotated[int, Number("positions visible on each side", 1, 2**16)] = 128):
        self.width = self.reach = width

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return (query[:, :, None] - key[:, None]).abs() <= self.width  # (B or 1, T, S)


def causal(queries: int, keys: int, device: torch.device | None = None) -> Tensor | None:
    """The causal mask: (1, T, S), True where visible; None if every key is visible.

    Queries are the last T of the S tokens in the order of writing, so this holds wherever a row starts; a single query
    is the last token, which sees everything.
    """
    if queries == 1:
        return None
    order = torch.arange(keys, device=device)
    return (order <= order[keys - queries :, None])[None]


def both(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    """The conjunction of two masks; None: everything is visible."""
    if one is None or other is None:
        return other if one is None else one
    return one & other
