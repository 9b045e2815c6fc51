"""Many sources at once: those of similar length together, the answers in the order of the questions."""

from collections.abc import Sequence

import torch

from weft.data.batches import pad
from weft.decoding.hypothesis import Hypothesis, Search
from weft.decoding.prompt import from_source
from weft.models.base import Generative
from weft.parts.batching import group_by_length

# Positions in a batch: more of them leave the cache, fewer make too little of each look at the weights.
POSITIONS = 4096


def search_all(
    search: Search,
    models: Sequence[Generative],
    sources: Sequence[Sequence[int]],
    start: int,
    end: int,
    device: torch.device | str = "cpu",
) -> list[list[Hypothesis]]:
    """For each source (ids that close with `end`) its hypotheses, best first."""
    found: dict[int, list[Hypothesis]] = {}
    for group in group_by_length([(source,) for source in sources], POSITIONS // search.rows):
        batch = pad([sources[i] for i in group]).to(device)
        found.update(zip(group.tolist(), search(models, from_source(models, batch, start, end))))
    return [found[i] for i in range(len(sources))]
