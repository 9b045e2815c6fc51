"""CTranslate2 at work: the searches that it does as weft does, with the scores that weft gives.

CTranslate2 has one limit on the length for all that are translated together, and ranks translations that reach it
differently. So a batch gets the limit of its longest source, and whatever has reached its own limit is left to torch.
"""

import math
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import ctranslate2

from weft.data.codecs import Subwords
from weft.data.texts import Translation, translation_of
from weft.machine import cores

TOGETHER = 64  # texts in a batch, at most
POSITIONS = 16_384  # of a batch, at most: texts × tokens × beam width


class CTranslate2:
    """An engine; see `weft.data.texts.Engine`."""

    def __init__(
        self,
        folder: Path,
        codec: Subwords,
        precision: str,
        limit: int,
        longest: int | None,
        workers: int = 1,
    ):
        self.folder = folder
        self.codec = codec
        self.precision = precision
        self.limit = limit  # the most tokens of a source
        self.longest = longest  # the most tokens of a translation
        self.workers = workers  # batches that are translated at the same time; 1: as it suits their number
        self.name = f"CTranslate2 in {precision}"
        self._loaded: dict[tuple[int, int], Any] = {}

    def takes(self, width: int, length_penalty: float) -> bool:
        # Without a length penalty it counts finished translations differently.
        return width == 1 or (length_penalty != 0 and 2 * width < len(self.codec))

    def search(
        self, sources: Sequence[Sequence[int]], width: int, length_penalty: float, rated: int | None = None
    ) -> list[list[Translation] | None]:
        batches = list(self._batches(sources, width))
        translator = self._translator(len(batches))
        results = [
            translator.translate_batch(
                [self._pieces(sources[i][:-1]) for i in batch],  # CTranslate2 adds END itself
                asynchronous=True,
                beam_size=width,
                num_hypotheses=width,
                length_penalty=length_penalty,
                return_scores=True,
                return_end_token=True,  # its absence shows that a translation was cut
                max_input_length=0,
                min_decoding_length=0,
                max_decoding_length=max(self._limit(sources[i]) for i in batch),
            )
            for batch in batches
        ]
        found: dict[int, list[tuple[list[int], float]]] = {}
        for batch, waiting in zip(batches, results):
            for i, result in zip(batch, (each.result() for each in waiting)):
                some = [[self._ids[piece] for piece in hypothesis] for hypothesis in result.hypotheses]
                if all(ids[-1:] == [self.codec.special.end] and len(ids) <= self._limit(sources[i]) for ids in some):
                    found[i] = list(zip(some, result.scores))
        log_probs = self._rated(translator, sources, batches, found, width if rated is None else rated)
        return [
            self._translations(found[i], log_probs.get(i, []), length_penalty) if i in found else None
            for i in range(len(sources))
        ]

    def _rated(
        self,
        translator: Any,
        sources: Sequence[Sequence[int]],
        batches: Sequence[Sequence[int]],
        found: dict[int, list[tuple[list[int], float]]],
        count: int,
    ) -> dict[int, list[list[float]]]:
        """The log-probabilities of the tokens of the best translations of each source."""
        rows = [[(i, ids) for i in batch if i in found for ids, _ in found[i][:count]] for batch in batches]
        results = [
            translator.score_batch(
                [self._pieces(sources[i][:-1]) for i, _ in some],
                [self._pieces(ids[:-1]) for _, ids in some],
                max_input_length=0,
                asynchronous=True,
            )
            for some in rows
        ]
        log_probs: dict[int, list[list[float]]] = {}
        for some, waiting in zip(rows, results):
            for (i, _), each in zip(some, waiting):
                log_probs.setdefault(i, []).append(each.result().log_probs)
        return log_probs

    def _translations(
        self, found: Sequence[tuple[list[int], float]], log_probs: Sequence[list[float]], length_penalty: float
    ) -> list[Translation]:
        """The score of a translation is that of its tokens where they are known."""
        made = [translation_of(self.codec, ids, (), score) for ids, score in found]
        for rank, each in enumerate(log_probs):
            score = sum(each) / math.pow(len(each), length_penalty)
            made[rank] = translation_of(self.codec, found[rank][0], each, score)
        return sorted(made, key=lambda one: -one.score)

    def _batches(self, sources: Sequence[Sequence[int]], width: int) -> Iterator[list[int]]:
        """Sources of similar length, in batches that keep all workers busy. An empty text is none."""
        order = sorted((i for i, ids in enumerate(sources) if len(ids) > 1), key=lambda i: len(sources[i]))
        most = min(TOGETHER, math.ceil(len(order) / self._workers(len(order))))
        batch: list[int] = []
        for i in order:
            if len(batch) == most or (batch and (len(batch) + 1) * len(sources[i]) * width > POSITIONS):
                yield batch
                batch = []
            batch.append(i)
        if batch:
            yield batch

    def _translator(self, batches: int) -> Any:
        """Several batches are translated by as many workers with one thread each, a single one by all threads."""
        workers = self._workers(batches)
        layout = workers, max(1, threads() // workers)
        if layout not in self._loaded:
            self._loaded[layout] = ctranslate2.Translator(
                str(self.folder), "cpu", compute_type=self.precision, inter_threads=layout[0], intra_threads=layout[1]
            )
        return self._loaded[layout]

    def _workers(self, jobs: int) -> int:
        return self.workers if self.workers > 1 else threads() if jobs > 1 else 1

    def _limit(self, source: Sequence[int]) -> int:
        """The most tokens of the translation of a source, as in `weft.decoding.prompt`."""
        return min(2 * len(source) + 20, self.longest or sys.maxsize)

    def _pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._names[i] for i in ids]

    @cached_property
    def _names(self) -> list[str]:
        return [str(self.codec.pieces.id_to_token(i)) for i in range(len(self.codec))]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {piece: i for i, piece in enumerate(self._names)}


def threads() -> int:
    """The number of threads that torch has, or would have."""
    if "torch" in sys.modules:
        return int(sys.modules["torch"].get_num_threads())
    given = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return int(given) if given.isdecimal() and int(given) else cores()
