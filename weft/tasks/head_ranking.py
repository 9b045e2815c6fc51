"""The heads of a model ranked on the examples of its task."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from weft.errors import WeftError
from weft.parts.batching import Row, group_by_length
from weft.viewing.head_scores import POSITIONS, HeadScores, head_scores

if TYPE_CHECKING:
    from weft.tasks.predictor import Predictor


def rank_heads(
    predictor: "Predictor",
    examples: Sequence[Any] | Path | str,
    first: int,
    alignments: Path | None,
    tell: Callable[[str], None],
) -> HeadScores:
    """Score all heads of the (first) model in the first so many rows of these examples, or of those of a file."""
    if not any(map(any, predictor.heads.values())):
        raise WeftError("this model has no attention.")
    if first < 2:
        raise WeftError(f"at least 2 examples are needed for an interval, got {first}.")
    file = Path(examples) if isinstance(examples, str | Path) else None
    given = examples if not isinstance(examples, str | Path) else predictor.read(Path(examples))
    found = predictor.completed(list(islice(given, first)))
    numbered = list(islice(_rows(predictor, found), first))
    if len(numbered) < 2:
        raise WeftError(f"{file or 'this'} has too few examples: at least 2 are needed for an interval.")
    rows = [row for _, row in numbered]
    groups = group_by_length(rows, POSITIONS)
    random, codecs = np.random.default_rng(0), {predictor.task.codecs[0]: predictor.codec}
    batches = [predictor.task.collate([rows[i] for i in group], codecs, random) for group in groups]
    compared = predictor.agreeing(numbered, alignments)
    aligned, agreement = compared or (None, None)

    def agree(batch: int, row: int, cross: Tensor) -> Tensor:
        assert agreement is not None
        return agreement(groups[batch][row], cross)

    heads = predictor.heads
    loss, scores = head_scores(predictor.models[0], heads, batches, agree if agreement else None, tell)
    of = f"{len(rows):,} {predictor.task.unit}{f' of {file.name}' if file else ''}"
    return HeadScores(predictor.folders[0].name, predictor.hash, of, predictor.task.unit, loss, aligned, scores)


def _rows(predictor: "Predictor", examples: Sequence[Any]) -> Iterator[tuple[int, Row]]:
    """The rows of ids that a model can read, with the number of their example."""
    limits = [limit for limit in predictor.models[0].limits.values() if limit is not None]
    longest = min(limits, default=predictor.limit - 1)
    codecs = {predictor.task.codecs[0]: predictor.codec}
    for number, example in enumerate(examples):
        for rows, _ in predictor.task.encode([example], codecs, longest):
            yield from ((number, row) for row in rows)
