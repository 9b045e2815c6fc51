"""Decoding: greedy search, beam search and sampling, for every generative model."""

from weft.decoding.beam import Beam
from weft.decoding.constrained import Constrained, Phrase
from weft.decoding.greedy import Greedy
from weft.decoding.hypothesis import Hypothesis, Search
from weft.decoding.many import search_all
from weft.decoding.sample import Sample


def best_first(width: int, length_penalty: float) -> Search:
    """Beam search of this width; greedy search if it is 1."""
    return Greedy(length_penalty) if width == 1 else Beam(width, length_penalty)


__all__ = ["Beam", "Constrained", "Greedy", "Hypothesis", "Phrase", "Sample", "Search", "best_first", "search_all"]
