"""Pairs of token sequences on disk: written once in a stream, memory-mapped from then on, so that ten million pairs
cost no more memory than ten."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft.data.tokeniser import Tokeniser
from weft.disk import flush, seal, write_text
from weft.errors import WeftError

KINDS: dict[str, DTypeLike] = {"uint16": np.uint16, "uint32": np.uint32}
Ids = NDArray[np.uint16] | NDArray[np.uint32]


class Corpus:
    """Pair i is `corpus[i]`, a source and a target as ids that end in END."""

    FILES = ("corpus.json", "ends.bin", "ids.bin")

    def __init__(self, folder: Path):
        self.folder = folder
        try:
            about = json.loads((folder / "corpus.json").read_text())
            self.left_out: dict[str, int] = dict(about["left_out"])
            self._ends: NDArray[np.int64] = _mapped(folder / "ends.bin", np.int64)  # of source 0, target 0, source 1, …
            self._ids: Ids = _mapped(folder / "ids.bin", KINDS[about["type"]])
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            raise WeftError(f"{folder} is damaged: {error}.") from None
        if len(self._ends) % 2 or int(self._ends[-1:].sum()) != len(self._ids):
            raise WeftError(f"{folder} is damaged: ids.bin and ends.bin do not fit together.")

    @classmethod
    def write(
        cls, folder: Path, pairs: Iterable[tuple[str, str]], tokeniser: Tokeniser, longest: int | None = None
    ) -> "Corpus":
        """Tokenise pairs into a folder. Pairs with an empty side or too many tokens are left out, and counted."""
        folder.mkdir(parents=True, exist_ok=True)
        left_out: Counter[str] = Counter()
        kind = np.uint16 if len(tokeniser) <= 2**16 else np.uint32
        end = 0
        with open(folder / "ids.bin", "wb") as ids, open(folder / "ends.bin", "wb") as ends:
            for some in _chunks(pairs, 10_000):
                full = [pair for pair in some if pair[0].strip() and pair[1].strip()]
                sources, targets = (tokeniser.encode_all([pair[side] for pair in full]) for side in (0, 1))
                kept = [longest is None or max(len(s), len(t)) <= longest for s, t in zip(sources, targets)]
                rows = [row for pair, is_kept in zip(zip(sources, targets), kept) if is_kept for row in pair]
                left_out["with an empty side"] += len(some) - len(full)
                left_out[f"longer than {longest} tokens"] += kept.count(False)
                lengths = np.fromiter(map(len, rows), np.int64, len(rows))
                ends.write((end + lengths.cumsum()).data)
                end += int(lengths.sum())
                ids.write(np.fromiter(chain.from_iterable(rows), kind, int(lengths.sum())).data)
        about = {"type": np.dtype(kind).name, "left_out": {k: n for k, n in left_out.items() if n}}
        for name in ("ids.bin", "ends.bin"):
            flush(folder / name)
        write_text(folder / "corpus.json", json.dumps(about))  # last: a folder without it is not a corpus
        seal(folder, cls.FILES)
        return cls(folder)

    @staticmethod
    def exists(folder: Path) -> bool:
        return all((folder / name).is_file() for name in Corpus.FILES)

    def __len__(self) -> int:
        return len(self._ends) // 2

    def __getitem__(self, i: int) -> tuple[Ids, Ids]:
        start = int(self._ends[2 * i - 1]) if i else 0
        middle, end = int(self._ends[2 * i]), int(self._ends[2 * i + 1])
        return self._ids[start:middle], self._ids[middle:end]

    def __iter__(self) -> Iterator[tuple[Ids, Ids]]:
        return (self[i] for i in range(len(self)))


def _mapped(file: Path, kind: DTypeLike) -> NDArray[Any]:
    """The numbers in a file; an empty one cannot be mapped. A plain array: slices of a memmap are slow to make."""
    return np.asarray(np.memmap(file, kind, "r")) if file.stat().st_size else np.zeros(0, kind)


def _chunks(pairs: Iterable[tuple[str, str]], size: int) -> Iterator[list[tuple[str, str]]]:
    stream = iter(pairs)
    while some := list(islice(stream, size)):
        yield some
