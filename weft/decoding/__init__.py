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


def numbers(search: Search) -> tuple[int, float] | None:
    """The width and length penalty with which `best_first` makes this search; None for any other."""
    match search:
        case Greedy(alpha):
            return 1, alpha
        case Beam(width, alpha):
            return width, alpha
    return None


__all__ = [
    "Beam",
    "Constrained",
    "Greedy",
    "Hypothesis",
    "Phrase",
    "Sample",
    "Search",
    "best_first",
    "numbers",
    "search_all",
]
