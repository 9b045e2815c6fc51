"""Batching: which rows of a corpus form a batch. A row is a tuple of id sequences, one for each column of the corpus.

    by-length    rows of similar length together, with little padding
    shuffled     rows in random order, as many as fit
    blocks       all rows as one stream of tokens, cut into blocks of one length: nothing is padding

A batch has at most `budget` positions in its longest column, padding included.
"""

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from weft.parts.options import LONGEST, Number

Ids = Sequence[int] | NDArray[np.uint16] | NDArray[np.uint32] | NDArray[np.int64]
Row = tuple[Ids, ...]
# (rows, budget, random) → batches, in no particular order
Batching = Callable[[Sequence[Row], int, np.random.Generator], list[list[Row]]]


def by_length() -> Batching:
    """Rows of similar length together, recomposed each epoch"""
    return lambda rows, budget, _: [[rows[i] for i in group] for group in group_by_length(rows, budget)]


def shuffled() -> Batching:
    """Rows in random order, as many as fit into a batch"""
    return lambda rows, budget, _: [[rows[i] for i in group] for group in _packed(_longest(rows), budget)]


def blocks(*, length: Annotated[int, Number("tokens in a block", 1, LONGEST)] = 256) -> Batching:
    """All rows joined and cut into blocks of this many predictions; what is left at the end is dropped

    A block has one token more, which is predicted as the last of a block and read as the first of the next.
    """

    def compose(rows: Sequence[Row], budget: int, random: np.random.Generator) -> list[list[Row]]:
        stream = np.concatenate([np.asarray(row[0]) for row in rows]) if rows else np.zeros(0, np.uint16)
        first = int(random.integers(length)) if len(stream) > 2 * length else 0  # blocks differ from epoch to epoch
        cut: list[Row] = [(stream[i : i + length + 1],) for i in range(first, len(stream) - length, length)]
        each = max(1, budget // length)
        order = random.permutation(len(cut))
        return [[cut[i] for i in order[at : at + each]] for at in range(0, len(cut), each)]

    return compose


def group_by_length(rows: Sequence[Row], budget: int) -> list[NDArray[np.int64]]:
    """Indices of rows in groups that fit the budget, sorted by the length of the last column in steps of two, and
    within a step by that of the first, alternately up and down, so that neighbours are similar in both. Rows of equal
    lengths keep their order, which is random."""
    first, last = (np.array([len(row[column]) for row in rows], np.int64) for column in (0, -1))
    step = last // 2
    order = np.lexsort((np.where(step % 2, -first, first), step))
    return [order[group] for group in _packed(_longest(rows)[order], budget)]


def _longest(rows: Sequence[Row]) -> NDArray[np.int64]:
    """The length of each row's longest column."""
    return np.array([max(map(len, row)) for row in rows], np.int64)


def _packed(lengths: NDArray[np.int64], budget: int) -> list[NDArray[np.int64]]:
    """Consecutive indices in groups as large as the budget allows, padding included."""
    groups, start, widest = [], 0, 0
    for at, length in enumerate(lengths.tolist()):
        widest = max(widest, length)
        if widest * (at - start + 1) > budget and at > start:
            groups.append(np.arange(start, at))
            start, widest = at, length
    return [*groups, np.arange(start, len(lengths))] if len(lengths) else []
