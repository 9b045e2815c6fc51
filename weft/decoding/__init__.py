"""From a source to its target, one token after the other. One greedy search, one beam search and one sampler serve
every model that has `encode`, `decode` and a head."""

from weft.decoding.beam import Beam
from weft.decoding.constrained import Constrained, Phrase
from weft.decoding.greedy import Greedy
from weft.decoding.hypothesis import Hypothesis, Search
from weft.decoding.many import search_all
from weft.decoding.sample import Sample


def best_first(width: int, length_penalty: float) -> Search:
    """Beam search of this width, which is greedy search where it is 1."""
    return Greedy(length_penalty) if width == 1 else Beam(width, length_penalty)


__all__ = ["Beam", "Constrained", "Greedy", "Hypothesis", "Phrase", "Sample", "Search", "best_first", "search_all"]
