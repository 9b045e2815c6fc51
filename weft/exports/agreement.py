"""Measures whether an export agrees with its model: both score the same translations and translate the same texts.

Scoring is the sharper test: it needs no search, and a misplaced weight shows in the first digits. Translations are what
users see; between two with the same score to the last digit, an engine may choose either.
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
    """A loaded export, with its own subwords: ids here are those of its tokeniser."""

    def translate(self, texts: Sequence[str], beam: int, limits: Sequence[int]) -> list[list[int]]:
        """The best translation of each text, of at most `limits` tokens including END, by weft's rules of search."""

    def log_probs(self, texts: Sequence[str], translations: Sequence[Sequence[int]]) -> list[list[float]]:
        """The log-probability of each token of these translations and of END after them."""

    def text(self, ids: Sequence[int]) -> str:
        """The text of a translation."""


@dataclass(frozen=True)
class Difference:
    """A text that the two translate differently, and how much better the export scores its own translation."""

    text: str
    ours: str
    theirs: str
    gain: float  # in log P / |Y|, both scored by the export


@dataclass(frozen=True)
class Searched:
    """A comparison of the translations of both at this beam width."""

    beam: int
    same: int
    cut: int  # cut off by the length limit in at least one of the two, where they rank differently
    different: tuple[Difference, ...]


@dataclass(frozen=True)
class Agreement:
    texts: int
    gap: float  # the largest difference in the log-probability of a token
    searched: tuple[Searched, ...]
    unit: str = "translations"  # what was searched for


def agreement(translator: Translator, engine: Engine, texts: Sequence[str]) -> Agreement:
    sources = translator.tokeniser.encode_all(texts)
    limits = [translator.prompt([source]).limits[0] for source in sources]
    special = translator.codec.special
    gaps, searched = [], []
    for beam in BEAMS:
        search = best_first(beam, Beam.length_penalty)
        ours = [found[0] for found in search_all(search, translator.models, sources, special.start, special.end)]
        theirs = engine.translate(texts, beam, limits)
        # The engine scores translations with an end. Of one that was cut off, END takes the place of the last token.
        ids = [one.ids if one.finished else one.ids[:-1] for one in ours]
        for one, some, rated in zip(ours, ids, engine.log_probs(texts, ids), strict=True):
            gaps += [abs(a - b) for a, b in zip(one.log_probs[: len(some)], rated)]
        searched.append(_compared(translator, engine, texts, beam, ours, theirs))
    return Agreement(len(texts), worst(gaps), tuple(searched))


def worst(differences: Iterable[float]) -> float:
    """The largest difference; NaN if one of them is NaN."""
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
