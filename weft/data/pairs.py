"""Pairs of id sequences as batches for an encoder-decoder."""

from collections.abc import Iterator, Sequence

from torch.nn import functional as F

from weft.data.batches import pad
from weft.models.base import IGNORED, Batch
from weft.parts.batching import Row, group_by_length

POSITIONS = 8192  # in a batch for evaluation, padding included


def batch_of(rows: Sequence[Row], start: int) -> Batch:
    """Pairs of ids, each ending in the codec's end token: the decoder reads the target shifted by the start token."""
    sources, targets = zip(*rows)
    shifted = F.pad(pad(targets)[:, :-1], (1, 0), value=start)  # (B, T)
    return Batch({"source": pad(sources), "target": shifted}, pad(targets, IGNORED))


def batches_of(rows: Sequence[Row], start: int) -> Iterator[Batch]:
    """All pairs in batches of similar length."""
    return (batch_of([rows[i] for i in group], start) for group in group_by_length(rows, POSITIONS))
