"""Attention is a soft lookup: a query is compared with every key, and the answer is the average of the values.

    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V                     "Attention Is All You Need", arXiv:1706.03762, eq. 1

For components of mean 0 and variance 1 the dot product has variance d_k; dividing by √d_k brings it back to 1.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.parts.call import Call
from weft.parts.diagram import Block, count
from weft.parts.mixer import Mixer
from weft.parts.patterns import Pattern, both, causal
from weft.parts.relative_positions import RelativePosition


def attention_scores(query: Tensor, key: Tensor, bias: Tensor | None = None) -> Tensor:
    """Q Kᵀ / √K + bias: (…, T, K) and (…, S, K) → (…, T, S)."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores if bias is None else scores + bias


def attention_weights(query: Tensor, key: Tensor, visible: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    """The softmax of the scores over the keys that a query may see: (…, T, K) and (…, S, K) → (…, T, S)."""
    scores = attention_scores(query, key, bias)
    if visible is not None:
        scores = scores.masked_fill(~visible, -math.inf)
    return scores.softmax(-1)


def reference_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    visible: Tensor | None = None,
    bias: Tensor | None = None,
    on_values: Callable[[Tensor], Tensor] | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Equation 1 as written, with the terms of positions. The fast path is tested against it."""
    weights = F.dropout(attention_weights(query, key, visible, bias), dropout)
    return weights @ value if on_values is None else weights @ value + on_values(weights)


class Lookup(NamedTuple):
    """The inputs of one attention, split into heads. If H > G, H/G neighbouring heads share keys and values."""

    query: Tensor  # (B, H, T, K)
    key: Tensor  # (B, G, S, K)
    value: Tensor  # (B, G, S, value width)
    visible: Tensor | None = None  # (B or 1, 1, T or 1, S), True where a query may see a key; None: everywhere
    bias: Tensor | None = None  # (B or 1, H or 1, T, S), added to the scaled scores
    on_values: Callable[[Tensor], Tensor] | None = None  # weights → a term for the averages of the values

    def mixed(self, dropout: float = 0.0) -> Tensor:
        """The averages of the values, by the fast kernel if possible: (B, H, T, value width)."""
        if self.on_values is not None:  # needs the weights, which the fast kernel does not return
            return reference_attention(*self.unshared(), dropout=dropout)
        mask = self.visible
        if self.bias is not None:
            mask = self.bias if mask is None else self.bias.masked_fill(~mask, -math.inf)
        shared = self.key.size(1) < self.query.size(1)
        return F.scaled_dot_product_attention(self.query, self.key, self.value, mask, dropout, enable_gqa=shared)

    def unshared(self) -> "Lookup":
        """The same with keys and values for every head, each as often as heads share it."""
        sharing = self.query.size(1) // self.key.size(1)
        if sharing == 1:
            return self
        key, value = (each.repeat_interleave(sharing, 1) for each in (self.key, self.value))  # (B, H, S, …)
        return self._replace(key=key, value=value)


class Attention(Mixer):
    """Multi-head attention: H heads, concatenated, times W^O.

    MultiHead(x, y) = Concat(head₁, …, head_H) W^O,  head_i = Attention(x W_i^Q, y W_i^K, y W_i^V)

    Queries come from x. Keys and values come from the memory if the call has one (encoder-decoder attention), else from
    x itself (self-attention). In self-attention, `is_causal` hides the future, and three attributes can be set: `norms`
    of queries and keys (arXiv:2010.04245), `position`, which encodes positions in them, and `pattern`, which limits the
    keys that a query sees.

    With fewer `kv_heads` than heads, neighbouring heads share keys and values, and the cache is smaller (Ainslie et al.
    2023, arXiv:2305.13245; one for all heads is arXiv:1911.02150).
    """

    complexity = "t²·k"
    is_sequential = False
    attends = True

    def __init__(
        self,
        width: int,
        heads: int,
        key_width: int | None = None,
        value_width: int | None = None,
        dropout: float = 0.0,
        is_causal: bool = False,
        kv_heads: int | None = None,
        bias: bool = True,
    ):
        super().__init__()
        self.heads = heads
        self.kv_heads = kv_heads or heads
        self.key_width = key_width or width // heads
        self.value_width = value_width or width // heads
        self.widths = [heads * self.key_width, self.kv_heads * self.key_width, self.kv_heads * self.value_width]
        self.project = nn.Linear(width, sum(self.widths), bias)  # W^Q, W^K and W^V, stacked
        self.out = nn.Linear(heads * self.value_width, width, bias)  # W^O
        self.dropout = dropout
        self.is_causal = is_causal
        self.norms = nn.ModuleList()  # of queries and of keys
        self.position: RelativePosition | None = None
        self.pattern: Pattern | None = None

    @property
    def _counts(self) -> tuple[int, int, int]:
        """Heads of queries, of keys and of values."""
        return self.heads, self.kv_heads, self.kv_heads

    @property
    def reach(self) -> int | None:  # type: ignore[override]
        return None if self.pattern is None else self.pattern.reach

    def forward(self, x: Tensor, call: Call) -> Tensor:
        B, T, _ = x.shape
        look = self.looks(x, call)
        mixed = look.mixed(self.dropout if self.training else 0.0).transpose(1, 2)  # (B, T, H, K)
        mixed = mixed.reshape(B, T, self.heads, -1)
        if call.watch is not None:
            look = look.unshared()
            weights = attention_weights(look.query, look.key, look.visible, look.bias)
            weights = weights.transpose(1, 2).reshape(B, T, self.heads, -1)
            call.watch.see(call.place, "weights", weights.transpose(1, 2))  # (B, H, T, S)
            for name in ("query", "key", "value", "visible"):
                if (seen := getattr(look, name)) is not None:
                    call.watch.see(call.place, name, seen)  # (B, H, T or S, K); visible: (B or 1, 1, T or 1, S)
            if look.bias is not None:  # the scores are more than query · key
                call.watch.see(call.place, "scores", attention_scores(look.query, look.key, look.bias))  # (B, H, T, S)
            mixed = call.watch.change(call.place, "heads", mixed)
        return self.out(mixed.flatten(2))  # type: ignore[no-any-return]  # (B, T, D)

    def block(self) -> Block:
        name = "masked self-attention" if self.is_causal else "self-attention"
        sizes = {"heads": self.heads, "key width": self.key_width, "value width": self.value_width}
        if self.kv_heads < self.heads:
            sizes["key-value heads"] = self.kv_heads
        return Block(name, count(self), sizes)

    def last_weights(self) -> list[Tensor]:
        return [self.out.weight]

    def looks(self, x: Tensor, call: Call) -> Lookup:
        """Queries, keys and values: of the sequence, or with keys and values of the memory if the call has one."""
        return self._own(x, call) if call.memory is None else self._across(x, call)

    def _own(self, x: Tensor, call: Call) -> Lookup:
        positions = torch.arange(x.size(1), device=x.device)[None] if call.positions is None else call.positions
        of_keys, keep = positions, call.keep
        projected = self.project(x)
        if self.norms or self.position is not None:
            projected = self._prepared(projected, positions, call)
        query, key, value = projected.split(self.widths, -1)  # (B, T, H · K) and (B, T, G · K) twice
        if call.state is not None:
            past = call.state.append(f"{call.place}.key_value", projected[..., self.widths[0] :])
            key, value = torch.split(past, self.widths[1:], -1)  # (B, S, G · K)
            keep = self._remembered_keep(x, call, key.size(1))
            if self._compares_positions:
                of_keys = call.state.append(f"{call.place}.positions", positions.expand(x.shape[:2]))  # (B, S)
        query, key, value = map(_heads, (query, key, value), self._counts)
        look = Lookup(query, key, value, self._visible(positions, of_keys, key.size(2), keep, call))
        return look if self.position is None else _with_position(look, self.position, positions, of_keys, call)

    @property
    def _compares_positions(self) -> bool:
        """Whether positions of queries and keys are compared; only then are those of cached keys stored."""
        position = self.position
        return self.pattern is not None or (position is not None and (position.on_scores or position.on_values))

    def _prepared(self, projected: Tensor, positions: Tensor, call: Call) -> Tensor:
        """Queries and keys normed and with their positions encoded, and values unchanged."""
        query, key, value = torch.split(projected, self.widths, -1)
        query, key = (each.reshape(*each.shape[:2], -1, self.key_width) for each in (query, key))  # (B, T, heads, K)
        if self.norms:
            query, key = (norm(each) for norm, each in zip(self.norms, (query, key), strict=True))
        if self.position is not None:
            query, key = self.position.queries(query, positions, call), self.position.keys(key, positions, call)
        return torch.cat((query.flatten(2), key.flatten(2), value), -1)

    def _remembered_keep(self, x: Tensor, call: Call, S: int) -> Tensor | None:
        """Which of the cached keys are real, (B, S); None: all of them."""
        assert call.state is not None
        name, keep = f"{call.place}.keep", call.keep
        if keep is None and name not in call.state.hypotheses:
            return call.state.real(S)
        return call.state.append(name, torch.ones_like(x[..., 0], dtype=torch.bool) if keep is None else keep)

    def _visible(self, queries: Tensor, keys: Tensor, S: int, keep: Tensor | None, call: Call) -> Tensor | None:
        """Which keys a query may see, from the positions of both: (B or 1, 1, T or 1, S)."""
        visible = causal(queries.size(1), S, queries.device) if self.is_causal else None
        if self.pattern is not None:
            visible = both(visible, self.pattern(queries, keys))  # (B or 1, T, S)
        if keep is not None:
            kept = keep[:, None]  # (B, 1, S)
            if self.pattern is not None and call.keep is not None:  # padding far from any token would see nothing
                kept = kept | ~call.keep[:, :, None]
            visible = both(visible, kept)
        return None if visible is None else visible[:, None]

    def _across(self, x: Tensor, call: Call) -> Lookup:
        assert call.memory is not None
        memory, state, queries = call.memory, call.state, self.widths[0]

        def keys_and_values() -> Tensor:
            return self._projected(memory.output, slice(queries, None))  # (B, S, 2 G · K)

        query = self._projected(x, slice(queries))
        # Hypotheses of a sentence are adjacent rows: treated as more queries, they share the keys of the sentence.
        query = _heads(query.reshape(memory.output.size(0), -1, queries), self.heads)
        both = keys_and_values() if state is None else state.once(f"{call.place}.key_value", keys_and_values)
        key, value = map(_heads, torch.split(both, self.widths[1:], -1), self._counts[1:])
        return Lookup(query, key, value, memory.keep[:, None, None])

    def _projected(self, x: Tensor, rows: slice) -> Tensor:
        bias = self.project.bias  # its type says that there is always one
        return F.linear(x, self.project.weight[rows], bias if bias is None else bias[rows])


def _heads(x: Tensor, heads: int) -> Tensor:
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)  # (B, T, H · K) → (B, H, T, K)


def _with_position(look: Lookup, position: RelativePosition, i: Tensor, j: Tensor, call: Call) -> Lookup:
    """The lookup with the terms that a position part adds to scores and values."""
    bias = position.bias(look.query, i, j, call) if position.on_scores else None
    on_values = partial(position.values, i=i, j=j, call=call) if position.on_values else None
    return look._replace(bias=bias, on_values=on_values)
