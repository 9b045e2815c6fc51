"""Attention is a soft lookup: a query is compared with every key, and the answer is the average of the values.

    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V                     "Attention Is All You Need", arXiv:1706.03762, eq. 1

For components of mean 0 and variance 1 the dot product has variance d_k; dividing by √d_k brings it back to 1.
"""

import math
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.parts.call import Call
from weft.parts.diagram import Block, count
from weft.parts.mixer import Mixer


def attention_weights(query: Tensor, key: Tensor, visible: Tensor | None = None) -> Tensor:
    """softmax(Q Kᵀ / √K) over the keys a query may see: (…, T, K) and (…, S, K) → (…, T, S)."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))  # (…, T, S)
    if visible is not None:
        scores = scores.masked_fill(~visible, -math.inf)
    return scores.softmax(-1)


def reference_attention(query: Tensor, key: Tensor, value: Tensor, visible: Tensor | None = None) -> Tensor:
    """Equation 1 as it is written. What the fast path is tested against."""
    return attention_weights(query, key, visible) @ value


class Pattern(Protocol):
    """Which keys a query may see, as a pure function of absolute positions; None where it may see all of them."""

    def __call__(self, query: Tensor, key: Tensor) -> Tensor | None:
        """(B or 1, T) and (B or 1, S) → (B or 1, T, S), True where visible."""


def full(query: Tensor, key: Tensor) -> None:
    """Every query sees every key."""
    return


def causal(query: Tensor, key: Tensor) -> Tensor | None:
    """A token sees itself and its past. A single query is the newest: all there is lies in its past."""
    if query.size(1) == 1:
        return None
    return key[:, None, :] <= query[:, :, None]  # (B, T, S)


class Attention(Mixer):
    """Attention in H heads of their own, concatenated, times W^O.

    MultiHead(x, y) = Concat(head₁, …, head_H) W^O,  head_i = Attention(x W_i^Q, y W_i^K, y W_i^V)

    Queries come from x. Keys and values come from the memory where the call has one (encoder-decoder attention), else
    from x itself (self-attention); `pattern` says which of the sequence's own positions a query may see.
    """

    complexity = "t²·k"
    is_sequential = False
    reach = None
    attends = True

    def __init__(
        self,
        width: int,
        heads: int,
        key_width: int | None = None,
        value_width: int | None = None,
        dropout: float = 0.0,
        pattern: Pattern = full,
    ):
        super().__init__()
        self.heads = heads
        self.key_width = key_width or width // heads
        self.value_width = value_width or width // heads
        self.widths = [heads * self.key_width, heads * self.key_width, heads * self.value_width]
        self.project = nn.Linear(width, sum(self.widths))  # W^Q, W^K and W^V, one above the other
        self.out = nn.Linear(heads * self.value_width, width)  # W^O
        self.dropout = dropout
        self.pattern = pattern

    def forward(self, x: Tensor, call: Call) -> Tensor:
        B, T, _ = x.shape
        query, key, value, visible = self.looks(x, call)
        dropout = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(query, key, value, visible, dropout).transpose(1, 2)  # (B, T, H, K)
        mixed = mixed.reshape(B, T, self.heads, -1)
        if call.watch is not None:
            weights = attention_weights(query, key, visible).transpose(1, 2).reshape(B, T, self.heads, -1)
            call.watch.see(call.place, "weights", weights.transpose(1, 2))  # (B, H, T, S)
            for name, seen in {"query": query, "key": key, "value": value, "visible": visible}.items():
                if seen is not None:
                    call.watch.see(call.place, name, seen)  # (B, H, T or S, K); visible: (B or 1, 1, T or 1, S)
            mixed = call.watch.change(call.place, "heads", mixed)
        return self.out(mixed.flatten(2))  # type: ignore[no-any-return]  # (B, T, D)

    def block(self) -> Block:
        name = "masked self-attention" if self.pattern is causal else "self-attention"
        sizes = {"heads": self.heads, "key width": self.key_width, "value width": self.value_width}
        return Block(name, count(self), sizes)

    def last_weights(self) -> list[Tensor]:
        return [self.out.weight]

    def looks(self, x: Tensor, call: Call) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Queries, keys and values of each head, (B, H, T or S, K), and the keys that a query may see."""
        return self._own(x, call) if call.memory is None else self._across(x, call)

    def _own(self, x: Tensor, call: Call) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        asking = torch.arange(x.size(1), device=x.device)[None] if call.positions is None else call.positions
        asked, keep = asking, call.keep
        projected = self.project(x)
        query, key, value = projected.split(self.widths, -1)  # (B, T, H · K)
        if call.state is not None:
            past = call.state.append(f"{call.place}.key_value", projected[..., self.widths[0] :])
            key, value = torch.split(past, self.widths[1:], -1)  # (B, S, H · K)
            asked = torch.arange(past.size(1), device=x.device)[None]
            if keep is not None:
                keep = call.state.append(f"{call.place}.keep", keep)
        query, key, value = map(self._heads, (query, key, value))
        visible = self.pattern(asking, asked)
        if visible is not None:
            visible = visible[:, None]  # (B, 1, T, S)
        if keep is not None:
            visible = keep[:, None, None] if visible is None else visible & keep[:, None, None]
        return query, key, value, visible

    def _across(self, x: Tensor, call: Call) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        assert call.memory is not None
        memory, state = call.memory, call.state
        weight, bias, queries = self.project.weight, self.project.bias, self.widths[0]

        def keys_and_values() -> Tensor:
            return F.linear(memory.output, weight[queries:], bias[queries:])  # (B, S, 2 H · K)

        query = F.linear(x, weight[:queries], bias[:queries])
        # Hypotheses of one sentence lie next to each other: as more queries of that sentence they share its keys.
        query = self._heads(query.reshape(memory.output.size(0), -1, queries))
        both = keys_and_values() if state is None else state.once(f"{call.place}.key_value", keys_and_values)
        key, value = map(self._heads, torch.split(both, self.widths[1:], -1))
        return query, key, value, memory.keep[:, None, None]

    def _heads(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:2], self.heads, -1).transpose(1, 2)  # (B, T, H · K) → (B, H, T, K)
