"""Models that can be worked out by hand: the next token depends on the last one, and on the source's first."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from tests.pairs import prompt
from weft.data.codecs.subwords import END, PAD, START
from weft.decoding import Hypothesis, Search
from weft.models.base import Inputs
from weft.parts.call import Call, Memory, Watch

A, B, C = 3, 4, 5
VOCABULARY = 50  # most of it never comes: there is room for wide beams
Table = Mapping[int, Mapping[int, float]]  # last token → next token → its probability


class TableHead:
    vocabulary = VOCABULARY

    def __init__(self, tables: Mapping[int, Table]):
        self.log_table = torch.full((VOCABULARY, VOCABULARY, VOCABULARY), -math.inf)  # source, last, next
        for source, table in tables.items():
            for last, nexts in table.items():
                for token, probability in nexts.items():
                    self.log_table[source, last, token] = math.log(probability)

    def log_probs(self, hidden: Tensor) -> Tensor:
        source, last = hidden.long().unbind(-1)
        return self.log_table[source, last]

    def best(self, hidden: Tensor, k: int) -> tuple[Tensor, Tensor]:
        top = self.log_probs(hidden).topk(k, -1)
        return top.values, top.indices


class TableModel:
    """Everything a search asks of a model. It counts the rows of each step, and shows its history to a watcher."""

    def __init__(self, tables: Mapping[int, Table], limit: int | None = None):
        self.head = TableHead(tables)
        self.limits = {"source": None, "target": limit}
        self.rows: list[int] = []
        self.encoded = 0

    def prompt(self, inputs: Inputs, call: Call) -> Memory:
        self.encoded += 1
        return Memory(inputs["source"][:, :, None].float(), inputs["source"] != PAD)

    def decode(self, tokens: Tensor, memory: Memory | None, call: Call) -> Tensor:
        self.rows.append(tokens.size(0))
        assert memory is not None
        assert call.positions is not None
        assert call.state is not None
        assert call.positions.tolist() == [[len(self.rows) - 1]] * tokens.size(0)
        history = call.state.append("history", tokens)  # (R, T)
        if call.watch is not None:
            call.watch.see("decoder", "history", history)
        beams = tokens.size(0) // max(1, memory.output.size(0))
        source = memory.output[:, :1].repeat_interleave(beams, 0)  # (R, 1, 1)
        return torch.cat((source, tokens[:, :, None].float()), -1)  # (R, 1, 2)

    def parameters(self) -> list[Tensor]:
        return [self.head.log_table]


class History:
    """A watcher that keeps what every row had been fed at every step."""

    def __init__(self) -> None:
        self.steps: list[list[list[int]]] = []

    def see(self, place: str, name: str, value: Tensor) -> None:
        if name == "history":
            self.steps.append(value.tolist())

    def change(self, place: str, name: str, value: Tensor) -> Tensor:
        return value


def searched(
    search: Search, models: Sequence[Any], source: Tensor, watch: Watch | None = None
) -> list[list[Hypothesis]]:
    """What a search finds for sources (B, S)."""
    return search(models, prompt(models, source), watch)


def one_table(table: Table, limit: int | None = None) -> TableModel:
    """The same table whatever the source begins with."""
    return TableModel(dict.fromkeys(range(VOCABULARY), table), limit)


def sources(*lengths: int) -> Tensor:
    """One sentence for each length, its END counted; the i-th begins with token A + i (or END, if that is all)."""
    rows = [[A + i] * (length - 1) + [END] + [PAD] * (max(lengths) - length) for i, length in enumerate(lengths)]
    return torch.tensor(rows)


# At each step: an a, a b, or the end. Greedy says a, but "b" as a whole is likelier.
TRAP: Table = {START: {A: 0.6, B: 0.4}, A: {A: 0.4, B: 0.35, END: 0.25}, B: {END: 0.9, A: 0.1}}
FOREVER: Table = {START: {A: 1.0}, A: {A: 0.9, END: 0.1}}
