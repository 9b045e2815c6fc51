"""Does an export do what its model does? Both rate the same translations, and both translate the same texts.

The first is the sharper question: it needs no search, and a weight in the wrong place shows in the first digits. The
second is what people see. Of two translations that are rated alike to the last digit of a float, either may be taken.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from weft.data.codecs.subwords import END
from weft.decoding import Beam, best_first, search_all
from weft.decoding.hypothesis import Hypothesis
from weft.tasks.translator import Translator

BEAMS = (1, 5)


class Engine(Protocol):
    """An export at work. Its own subwords take part: ids here are what they make of a text."""

    def translate(self, texts: Sequence[str], beam: int, limits: Sequence[int]) -> list[list[int]]:
        """The best translation of each, END counted and of at most so many tokens, by weft's rules of search."""

    def log_probs(self, texts: Sequence[str], translations: Sequence[Sequence[int]]) -> list[list[float]]:
        """How it rates each token of these translations, and an END after them."""

    def text(self, ids: Sequence[int]) -> str:
        """What a translation says."""


@dataclass(frozen=True)
class Difference:
    """A text that the two translate differently, and how much better the export thinks of its own translation."""

    text: str
    ours: str
    theirs: str
    gain: float  # in log P / |Y|, both as the export rates them


@dataclass(frozen=True)
class Searched:
    """Both, with a beam of this width."""

    beam: int
    same: int
    cut: int  # by the limit on the length, in one of the two at least: there they rank differently
    different: tuple[Difference, ...]


@dataclass(frozen=True)
class Agreement:
    texts: int
    gap: float  # the largest difference in the log-probability of a token
    searched: tuple[Searched, ...]


def agreement(translator: Translator, engine: Engine, texts: Sequence[str]) -> Agreement:
    sources = translator.tokeniser.encode_all(texts)
    limits = [translator.prompt([source]).limits[0] for source in sources]
    special = translator.codec.special
    gaps, searched = [], []
    for beam in BEAMS:
        search = best_first(beam, Beam.length_penalty)
        ours = [found[0] for found in search_all(search, translator.models, sources, special.start, special.end)]
        theirs = engine.translate(texts, beam, limits)
        # The engine rates what has an end. One that was cut is rated without its last token: the end takes its place.
        ids = [one.ids if one.finished else one.ids[:-1] for one in ours]
        for one, some, rated in zip(ours, ids, engine.log_probs(texts, ids), strict=True):
            gaps += [abs(a - b) for a, b in zip(one.log_probs[: len(some)], rated)]
        searched.append(_compared(translator, engine, texts, beam, ours, theirs))
    return Agreement(len(texts), worst(gaps), tuple(searched))


def worst(differences: Iterable[float]) -> float:
    """The largest; one that is no number is the worst of all."""
    return float(torch.tensor([0.0, *differences], dtype=torch.float64).max())


def _compared(
    translator: Translator,
    engine: Engine,
    texts: Sequence[str],
    beam: int,
    ours: Sequence[Hypothesis],
    theirs: Sequence[Sequence[int]],
) -> Searched:
    same, cut, different = 0, 0, []
    for text, one, other in zip(texts, ours, theirs, strict=True):
        mine, others = translator.tokeniser.decode(one.ids), engine.text(other)
        if mine == others:
            same += 1
        elif END not in one.ids or END not in other:
            cut += 1
        else:
            of_mine, of_other = (sum(p) / len(p) for p in engine.log_probs([text, text], [one.ids, other]))
            different.append(Difference(text, mine, others, of_other - of_mine))
    return Searched(beam, same, cut, tuple(different))
