"""Heads switched off: what a model does without them (arXiv:1905.10650 takes them away one by one)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from weft.decoding import Hypothesis, Search
from weft.models.sequence_to_sequence import SequenceToSequence
from weft.parts.call import Watch
from weft.viewing.attention import Recorder

PLACES = {"encoder": "encoder.{}.mix", "decoder": "decoder.{}.mix", "cross": "decoder.{}.cross"}


@dataclass(frozen=True)
class Head:
    """One head; layers and heads are counted from 1."""

    kind: str  # encoder, decoder or cross
    layer: int
    head: int


class HeadsOff(Recorder):
    """A watcher that silences some heads: their outputs become 0 before W^O. It records as any recorder does."""

    def __init__(self, off: Sequence[Head]):
        super().__init__()
        self.off: dict[str, list[int]] = {}
        for one in off:
            self.off.setdefault(PLACES[one.kind].format(one.layer - 1), []).append(one.head - 1)

    def change(self, place: str, name: str, value: Tensor) -> Tensor:
        if name != "heads" or place not in self.off:
            return value
        return value.index_fill(2, torch.tensor(self.off[place], device=value.device), 0.0)  # (B, T, H, K)


@dataclass(frozen=True)
class Without:
    """A search while some heads are off."""

    search: Search
    off: tuple[Head, ...]

    @property
    def rows(self) -> int:
        return self.search.rows

    def __call__(
        self, models: Sequence[SequenceToSequence], source: Tensor, watch: Watch | None = None
    ) -> list[list[Hypothesis]]:
        assert watch is None, "there is one watcher, and it switches heads off"
        return self.search(models, source, HeadsOff(self.off))
