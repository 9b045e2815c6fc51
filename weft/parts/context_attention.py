"""Attention before 2017: one head that attends to the encoder's output without projections.

α_tj = softmax over j of score(s_t, h_j),   context_t = Σ_j α_tj h_j

additive   v · tanh(W s + U h)              Bahdanau, Cho & Bengio 2014, arXiv:1409.0473
general    s · W h                          Luong, Pham & Manning 2015, arXiv:1508.04025
dot        s · h                            the same
"""

import math

from torch import Tensor, nn

from weft.parts.call import Call, Memory
from weft.parts.diagram import Block, count
from weft.parts.layers import SOURCE_EMBEDDINGS
from weft.parts.mixer import Mixer


class ScoreFunction(nn.Module):
    """A score function of queries and keys. What depends on one of them only is computed once."""

    formula: str  # s is the query and h the key
    hidden: int | None = None  # hidden units, if there are any

    def queries(self, x: Tensor) -> Tensor:
        """(B, T, D) → (B, T, K)"""
        return x

    def keys(self, output: Tensor) -> Tensor:
        """(B, S, D) → (B, S, K)"""
        return output

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """(B, T, K) and (B, S, K) → (B, T, S)"""
        raise NotImplementedError


class Additive(ScoreFunction):
    """v · tanh(W s + U h): a small network with one hidden layer."""

    formula = "v · tanh(W s + U h)"

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.hidden = hidden
        self.query = nn.Linear(width, hidden, bias=False)  # W
        self.key = nn.Linear(width, hidden)  # U
        self.out = nn.Linear(hidden, 1, bias=False)  # v

    def queries(self, x: Tensor) -> Tensor:
        return self.query(x)  # type: ignore[no-any-return]  # (B, T, hidden)

    def keys(self, output: Tensor) -> Tensor:
        return self.key(output)  # type: ignore[no-any-return]  # (B, S, hidden)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        hidden = (queries[:, :, None] + keys[:, None]).tanh()  # (B, T, S, hidden)
        return self.out(hidden)[..., 0]  # type: ignore[no-any-return]  # (B, T, S)


class Dot(ScoreFunction):
    """s · h"""

    formula = "s · h"

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        return queries @ keys.transpose(1, 2)  # (B, T, S)


class General(Dot):
    """s · W h"""

    formula = "s · W h"

    def __init__(self, width: int):
        super().__init__()
        self.key = nn.Linear(width, width, bias=False)  # W

    def keys(self, output: Tensor) -> Tensor:
        return self.key(output)  # type: ignore[no-any-return]  # (B, S, D)


class ContextAttention(Mixer):
    """Σ_j α_tj h_j over the encoder's output; Σ_j α_tj (h_j + e_j) if the memory has the source embeddings e."""

    complexity = "t²·k"
    is_sequential = False
    reach = None
    attends = True
    rereads_memory = True
    uses = (SOURCE_EMBEDDINGS,)

    def __init__(self, score: ScoreFunction):
        super().__init__()
        self.score = score
        self.hidden = score.hidden

    def forward(self, x: Tensor, call: Call) -> Tensor:
        assert call.memory is not None, f"{call.place} attends to the memory, but the call has none"
        memory, state = call.memory, call.state
        B, S, D = memory.output.shape

        def keys() -> Tensor:
            return self.score.keys(memory.output)

        key = keys() if state is None else state.once(f"{call.place}.key", keys)
        # Hypotheses of a sentence are adjacent rows, treated as more queries of that sentence.
        query, value = self.score.queries(x.reshape(B, -1, D)), _values(memory)
        scores = self.score(query, key)  # (B, hypotheses · T, S)
        weights = scores.masked_fill(~memory.keep[:, None], -math.inf).softmax(-1)
        context: Tensor = (weights @ value).view_as(x)  # (B, T, D)
        if call.watch is not None:
            call.watch.see(call.place, "weights", weights.reshape(x.size(0), 1, -1, S))  # (B, H, T, S)
            for name, seen in {"query": query, "key": key, "value": value, "scores": scores}.items():
                call.watch.see(call.place, name, seen[:, None])  # (B, H, T or S, K); scores: (B, H, T, S)
            call.watch.see(call.place, "visible", memory.keep[:, None, None])  # (B, 1, 1, S)
            context = call.watch.change(call.place, "heads", context[:, :, None])[:, :, 0]  # (B, T, H, K)
        return context

    def block(self) -> Block:
        return Block("attention", count(self), formula=self.score.formula)


def _values(memory: Memory) -> Tensor:
    return memory.output if memory.embedded is None else memory.output + memory.embedded
