"""Rows of token sequences on disk: written as a stream and then memory-mapped, so that ten million rows need no more
memory than ten.

    corpus.json    the names of the columns, the type of the ids, and what was left out
    ends.bin       where each sequence ends: column by column, row after row
    ids.bin        all sequences, one after the other
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft.disk import flush, seal, write_text
from weft.errors import WeftError
from weft.parts.batching import Row

TYPES: dict[str, DTypeLike] = {"uint16": np.uint16, "uint32": np.uint32}
PAIR = ["source", "target"]  # the columns of a corpus that does not name them
Chunk = tuple[Sequence[Row], Mapping[str, int]]  # some rows, and how many were left out, by reason


class Corpus:
    """Row i is `corpus[i]`: a tuple of id sequences, one for each column."""

    FILES = ("corpus.json", "ends.bin", "ids.bin")

    def __init__(self, folder: Path):
        self.folder = folder
        try:
            about = json.loads((folder / "corpus.json").read_text())
            self.left_out: dict[str, int] = dict(about["left_out"])
            self.columns = tuple(map(str, about.get("columns", PAIR)))
            self._ends: NDArray[np.int64] = _mapped(folder / "ends.bin", np.int64)
            self._ids: NDArray[np.uint16] | NDArray[np.uint32] = _mapped(folder / "ids.bin", TYPES[about["type"]])
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            raise WeftError(f"{folder} is damaged: {error}.") from None
        if not self.columns or len(self._ends) % len(self.columns) or int(self._ends[-1:].sum()) != len(self._ids):
            raise WeftError(f"{folder} is damaged: ids.bin and ends.bin do not fit together.")

    @classmethod
    def write(cls, folder: Path, columns: Sequence[str], chunks: Iterable[Chunk], vocabulary: int) -> "Corpus":
        """Write rows of ids below `vocabulary`, a chunk at a time."""
        folder.mkdir(parents=True, exist_ok=True)
        left_out: Counter[str] = Counter()
        kind = np.uint16 if vocabulary <= 2**16 else np.uint32
        end = 0
        with open(folder / "ids.bin", "wb") as ids, open(folder / "ends.bin", "wb") as ends:
            for rows, skipped in chunks:
                left_out.update(skipped)
                sequences = list(chain.from_iterable(rows))
                lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
                ends.write((end + lengths.cumsum()).data)
                end += int(lengths.sum())
                ids.write(np.fromiter(chain.from_iterable(sequences), kind, int(lengths.sum())).data)
        reasons = {reason: count for reason, count in left_out.items() if count}
        about = {"columns": list(columns), "type": np.dtype(kind).name, "left_out": reasons}
        for name in ("ids.bin", "ends.bin"):
            flush(folder / name)
        write_text(folder / "corpus.json", json.dumps(about))  # last: a folder without it is not a corpus
        seal(folder, cls.FILES)
        return cls(folder)

    @staticmethod
    def exists(folder: Path) -> bool:
        return all((folder / name).is_file() for name in Corpus.FILES)

    def __len__(self) -> int:
        return len(self._ends) // len(self.columns)

    @property
    def size(self) -> int:
        """The number of ids in all columns."""
        return len(self._ids)

    def __getitem__(self, i: int) -> Row:
        first = i * len(self.columns)
        ends = self._ends[max(0, first - 1) : first + len(self.columns)].tolist()
        starts = ends if i else [0, *ends]
        return tuple([self._ids[start:end] for start, end in pairwise(starts)])

    def __iter__(self) -> Iterator[Row]:
        return (self[i] for i in range(len(self)))


def _mapped(file: Path, kind: DTypeLike) -> NDArray[Any]:
    """The numbers in a file; an empty one cannot be mapped. A plain array: slices of a memmap are slow to make."""
    return np.asarray(np.memmap(file, kind, "r")) if file.stat().st_size else np.zeros(0, kind)
