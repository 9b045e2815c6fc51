"""Many sources at once: those of like length together, the answers in the order they were asked."""

from collections.abc import Sequence

from weft.data.batches import compose, filled
from weft.decoding.hypothesis import Hypothesis, Search
from weft.models.sequence_to_sequence import SequenceToSequence

# Places in a batch: more of them leave the cache, fewer make too little of each look at the weights.
CELLS = 4096


def search_all(
    search: Search, models: Sequence[SequenceToSequence], sources: Sequence[Sequence[int]]
) -> list[list[Hypothesis]]:
    """For each source (ids that end in END) its hypotheses, best first."""
    device = next(models[0].parameters()).device
    found: dict[int, list[Hypothesis]] = {}
    for group in compose([(source, source) for source in sources], CELLS // search.rows):
        batch = filled([sources[i] for i in group]).to(device)
        found.update(zip(group.tolist(), search(models, batch)))
    return [found[i] for i in range(len(sources))]
