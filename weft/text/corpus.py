"""Pairs of token sequences on disk: written once in a stream, memory-mapped from then on, so that ten million pairs
cost no more memory than ten."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.text.tokeniser import Tokeniser

Ids = NDArray[np.uint16] | NDArray[np.uint32]


class Corpus:
    """Pair i is `corpus[i]`, a source and a target as ids that end in END."""

    def __init__(self, folder: Path):
        self.folder = folder
        about = json.loads((folder / "corpus.json").read_text())
        self.left_out: dict[str, int] = about["left_out"]
        self.words: int = about["words"]  # in the targets, as white space divides them
        self._ends = np.load(folder / "ends.npy", mmap_mode="r")  # of source 0, target 0, source 1, …
        self._ids: Ids = np.memmap(folder / "ids.bin", dtype=about["type"], mode="r")

    @classmethod
    def write(
        cls, folder: Path, pairs: Iterable[tuple[str, str]], tokeniser: Tokeniser, longest: int | None = None
    ) -> "Corpus":
        """Tokenise pairs into a folder. Pairs with an empty side or too many tokens are left out, and counted."""
        folder.mkdir(parents=True, exist_ok=True)
        left_out: Counter[str] = Counter()
        words = 0
        kind = np.uint16 if len(tokeniser) <= 2**16 else np.uint32
        lengths: list[NDArray[np.int64]] = []
        with open(folder / "ids.bin", "wb") as file:
            for some in _chunks(pairs, 10_000):
                kept = [pair for pair in some if pair[0].strip() and pair[1].strip()]
                left_out["with an empty side"] += len(some) - len(kept)
                sources, targets = (tokeniser.encode_all([pair[side] for pair in kept]) for side in (0, 1))
                rows = [row for pair in zip(sources, targets) if not _too_long(pair, longest) for row in pair]
                left_out[f"longer than {longest} tokens"] += len(kept) - len(rows) // 2
                words += sum(len(target.split()) for _, target in kept)
                lengths.append(np.fromiter(map(len, rows), np.int64, len(rows)))
                np.fromiter((i for row in rows for i in row), kind).tofile(file)
        np.save(folder / "ends.npy", np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths])))
        about = {"type": np.dtype(kind).name, "left_out": {k: n for k, n in left_out.items() if n}, "words": words}
        (folder / "corpus.json").write_text(json.dumps(about))  # last: a folder without it is not a corpus
        return cls(folder)

    @staticmethod
    def exists(folder: Path) -> bool:
        return (folder / "corpus.json").exists()

    def __len__(self) -> int:
        return len(self._ends) // 2

    def __getitem__(self, i: int) -> tuple[Ids, Ids]:
        start = int(self._ends[2 * i - 1]) if i else 0
        middle, end = int(self._ends[2 * i]), int(self._ends[2 * i + 1])
        return self._ids[start:middle], self._ids[middle:end]

    def __iter__(self) -> Iterator[tuple[Ids, Ids]]:
        return (self[i] for i in range(len(self)))


def _too_long(pair: tuple[list[int], list[int]], longest: int | None) -> bool:
    return longest is not None and max(map(len, pair)) > longest


def _chunks(pairs: Iterable[tuple[str, str]], size: int) -> Iterator[list[tuple[str, str]]]:
    stream = iter(pairs)
    while some := list(islice(stream, size)):
        yield some
