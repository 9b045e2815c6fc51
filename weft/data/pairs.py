"""Pairs of id sequences as batches for an encoder-decoder."""

from collections.abc import Iterator, Sequence

from torch.nn import functional as F

from weft.data.batches import pad
from weft.models.base import IGNORED, Batch
from weft.parts.batching import Row, group_by_length
from weft.parts.frontend import PAD

POSITIONS = 8192  # in a batch for evaluation, padding included


def batch_of(rows: Sequence[Row], start: int) -> Batch:
    """Pairs of ids, each ending in the codec's end token: the decoder reads the target shifted by the start token."""
    source, target = (pad([row[side] for row in rows]) for side in (0, 1))  # (B, S), (B, T)
    shifted = F.pad(target[:, :-1], (1, 0), value=start)
    return Batch({"source": source, "target": shifted}, target.masked_fill(target == PAD, IGNORED))


def batches_of(rows: Sequence[Row], start: int) -> Iterator[Batch]:
    """All pairs in batches of similar length."""
    return (batch_of([rows[i] for i in group], start) for group in group_by_length(rows, POSITIONS))
