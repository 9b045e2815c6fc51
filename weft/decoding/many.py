"""Searching many sources at once, batched by length, with results in the order of the sources."""

from collections.abc import Sequence

import torch

from weft.data.batches import pad
from weft.decoding.hypothesis import Hypothesis, Search
from weft.decoding.prompt import from_source
from weft.models.base import Generative
from weft.parts.batching import group_by_length

# Positions in a batch: more do not fit the cache, fewer read the weights too often.
POSITIONS = 4096


def search_all(
    search: Search,
    models: Sequence[Generative],
    sources: Sequence[Sequence[int]],
    start: int,
    end: int,
    device: torch.device | str = "cpu",
) -> list[list[Hypothesis]]:
    """The hypotheses of each source (ids that end with `end`), best first."""
    found: dict[int, list[Hypothesis]] = {}
    for group in group_by_length([(source,) for source in sources], POSITIONS // search.rows):
        batch = pad([sources[i] for i in group]).to(device)
        found.update(zip(group.tolist(), search(models, from_source(models, batch, start, end))))
    return [found[i] for i in range(len(sources))]
