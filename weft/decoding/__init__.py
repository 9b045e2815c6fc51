"""From a source to its target, one token after the other. One greedy search, one beam search and one sampler serve
every model that has `encode`, `decode` and a head."""

from weft.decoding.beam import Beam
from weft.decoding.greedy import Greedy
from weft.decoding.hypothesis import Hypothesis, Search
from weft.decoding.many import search_all
from weft.decoding.sample import Sample

__all__ = ["Beam", "Greedy", "Hypothesis", "Sample", "Search", "search_all"]
