"""The numbers of one query of one head."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class HeadNumbers:
    """One query of one head, step by step: q · k, divided by √K, softmax, weighted sum of the values. Attention before
    2017 has a score function of its own instead of q · k and does not scale it (`attention_heads.formula`)."""

    query: Tensor  # (K)
    keys: Tensor  # (S, K)
    values: Tensor  # (S, V)
    scores: Tensor  # (S)  q · k
    scaled: Tensor | None  # (S)  q · k / √K
    visible: Tensor  # (S)  False where a mask hides the key
    weights: Tensor  # (S)  softmax over the visible ones
    output: Tensor  # (V)  Σ weight · value

    def table(self, keys: Sequence[str]) -> list[list[object]]:
        """Every number of a computation as a table, as the page has it."""
        query, output = self.query.tolist(), self.output.tolist()
        width = max(len(query), self.keys.size(1))  # they may differ where the score is not q · k
        names = [f"{name}{i + 1}" for name, count in (("k", width), ("v", len(output))) for i in range(count)]
        scaled = [""] * len(keys) if self.scaled is None else self.scaled.tolist()
        rows = zip(keys, self.scores.tolist(), scaled, self.weights.tolist())

        def wide(vector: list[float]) -> list[object]:
            return [*vector, *[""] * (width - len(vector))]

        vectors = zip(self.keys.tolist(), self.values.tolist())
        return [
            ["key", "score", "scaled", "weight", *names],
            ["(query)", "", "", "", *wide(query), *[""] * len(output)],
            *([*row, *wide(key), *value] for row, (key, value) in zip(rows, vectors)),
            ["(output)", "", "", "", *wide([]), *output],
        ]
