"""Batches by token budget: sentences of like length together, recomposed each epoch, in an order fixed by the seed."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from weft.data.bpe_dropout import BpeDropout
from weft.data.corpus import Corpus, Ids
from weft.data.tokeniser import Tokeniser
from weft.models.sequence_to_sequence import PAD, Batch

POOL = 2**18  # sentences that are sorted by length at a time
Row = Sequence[int] | Ids
Pair = tuple[Row, Row]


class Batches:
    """`epoch(n)` gives the batches of the n-th pass through a corpus: the same for the same seed, whenever asked."""

    def __init__(
        self,
        corpus: Corpus,
        budget: int,
        seed: int,
        tokeniser: Tokeniser,
        bpe_dropout: float = 0.0,
        longest: int | None = None,  # where BPE dropout would make a sentence longer than this, it stays as it is
    ):
        self.corpus = corpus
        self.budget = budget
        self.seed = seed
        self.tokeniser = tokeniser
        self.bpe_dropout = bpe_dropout
        self.longest = longest

    def epoch(self, n: int, skip: int = 0) -> Iterator[Batch]:
        """All batches of the n-th pass but the first `skip`."""
        random = np.random.default_rng((self.seed, n))
        order = random.permutation(len(self.corpus))
        for start in range(0, len(order), POOL):
            some = [self.corpus[i] for i in order[start : start + POOL].tolist()]
            pairs: Sequence[Pair] = some
            if self.bpe_dropout:
                drop = BpeDropout(self.tokeniser, self.bpe_dropout, f"{self.seed} {n} {start}")
                pairs = [(self._dropped(source, drop), self._dropped(target, drop)) for source, target in some]
            groups = compose(pairs, self.budget)
            for g in random.permutation(len(groups)):
                if skip:
                    skip -= 1
                else:
                    yield collate([pairs[i] for i in groups[g]])

    def _dropped(self, ids: Ids, drop: BpeDropout) -> Row:
        drawn = drop(ids.tolist())
        return drawn if self.longest is None or len(drawn) <= self.longest else ids


def compose(pairs: Sequence[Pair], budget: int) -> list[NDArray[np.int64]]:
    """Indices of pairs, in groups whose longer side has at most `budget` places once filled up to a rectangle.

    Sorted by target length in steps of two, and within a step by source length, up and down by turns: neighbours are
    then alike on both sides. Pairs of equal lengths stay in the order they come in, which is random.
    """
    source, target = (np.array([len(pair[side]) for pair in pairs], np.int64) for side in (0, 1))
    step = target // 2
    order = np.lexsort((np.where(step % 2, -source, source), step))
    longer = np.maximum(source, target)[order]
    groups, start, widest = [], 0, 0
    for at, length in enumerate(longer.tolist()):
        widest = max(widest, length)
        if widest * (at - start + 1) > budget and at > start:
            groups.append(order[start:at])
            start, widest = at, length
    groups.append(order[start:])
    return groups if len(order) else []


def collate(pairs: Sequence[Pair]) -> Batch:
    return Batch(*(filled([pair[side] for pair in pairs]) for side in (0, 1)))


def filled(rows: Sequence[Row]) -> torch.Tensor:
    """Rows of ids as one rectangle, PAD on the right: (B, longest)."""
    out = np.full((len(rows), max(map(len, rows), default=0)), PAD, np.int64)
    for row, ids in zip(out, rows):
        row[: len(ids)] = ids
    return torch.from_numpy(out)
