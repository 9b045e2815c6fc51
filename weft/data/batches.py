"""The batches of a training, always the same for the same seed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from weft.data.corpus import Corpus
from weft.models.base import Batch
from weft.parts.batching import Batching, Ids, Row
from weft.parts.frontend import PAD

POOL = 2**18  # rows that are composed into batches at a time
Collate = Callable[[Sequence[Row], np.random.Generator], Batch]
Augment = Callable[[Sequence[Row], str], Sequence[Row]]  # rows and a seed → the rows of one pass over the corpus


@dataclass(frozen=True)
class Batches:
    """`epoch(n)` gives the batches of the n-th pass through a corpus."""

    corpus: Corpus
    batching: Batching
    budget: int
    seed: int
    collate: Collate
    augment: Augment = lambda rows, seed: rows

    def epoch(self, n: int, skip: int = 0) -> Iterator[Batch]:
        """All batches of the n-th pass but the first `skip`."""
        random = np.random.default_rng((self.seed, n))
        order = random.permutation(len(self.corpus))
        for start in range(0, len(order), POOL):
            rows = [self.corpus[i] for i in order[start : start + POOL].tolist()]
            groups = self.batching(self.augment(rows, f"{self.seed} {n} {start}"), self.budget, random)
            for g in random.permutation(len(groups)).tolist():
                if skip:
                    skip -= 1
                else:  # randomness within a batch depends on its index, not on the batches before it
                    yield self.collate(groups[g], np.random.default_rng((self.seed, n, start, g)))


def pad(rows: Sequence[Ids], fill: int = PAD) -> torch.Tensor:
    """Rows of ids as one tensor, padded on the right: (B, longest)."""
    out = np.full((len(rows), max(map(len, rows), default=0)), fill, np.int64)
    for row, ids in zip(out, rows):
        row[: len(ids)] = ids
    return torch.from_numpy(out)
