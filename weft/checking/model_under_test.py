"""What is checked, and what a check finds."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
import torch

from weft.data.batches import pad
from weft.data.codecs.subwords import END, SPECIAL_TOKENS, Subwords
from weft.decoding import Greedy, Hypothesis
from weft.decoding.prompt import Prompt, from_source
from weft.folder import Folder
from weft.models.base import Generative
from weft.samples.sentences import EXAMPLES
from weft.tasks import task_of
from weft.tasks.translator import Translator, languages_of

SENTENCES = 6  # of the model's own, beside those that are made up


@dataclass(frozen=True)
class ModelUnderTest:
    """A model in its folder, and sources to try it on."""

    folder: Folder
    model: Generative
    tokeniser: Subwords
    sources: list[list[int]]

    @classmethod
    def of(cls, folder: Folder, device: str = "cpu") -> "ModelUnderTest":
        translator = task_of(folder.plan()).predictor([folder], device)
        assert isinstance(translator, Translator)
        model, tokeniser, longest = translator.models[0], translator.codec, translator.limit
        own = [source for source in _own_sources(folder, tokeniser) if len(source) <= longest]
        return cls(folder, model, tokeniser, [*islice(own, SENTENCES), *_made_up(tokeniser, longest)])

    @cached_property
    def alone(self) -> list[Hypothesis]:
        """What greedy search makes of each source by itself: the plain case that others are compared with."""
        return [Greedy()([self.model], self.prompt([row]))[0][0] for row in self.sources]

    def prompt(self, sources: Sequence[Sequence[int]]) -> Prompt:
        special = self.tokeniser.special
        return from_source([self.model], pad(sources).to(self.device), special.start, special.end)

    @property
    def longest(self) -> int:
        """How many tokens a source may have."""
        known = (self.model.limits["source"], self.folder.plan().training.longest)
        return min(limit for limit in known if limit is not None)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device


@dataclass(frozen=True)
class Finding:
    """How far apart two things are that should be the same, and how far they may be."""

    difference: float
    tolerance: float
    of: str  # what was measured, or what broke off

    @property
    def passed(self) -> bool:
        return self.difference <= self.tolerance  # what is no number passes nothing


Check = Callable[[ModelUnderTest], Finding | str]  # a finding, or why there is none


def _own_sources(folder: Folder, tokeniser: Subwords) -> list[list[int]]:
    """Of what a run was validated on, else of what weft ships for its language, else none."""
    if corpus := folder.validated_on():
        return [np.asarray(source).tolist() for source, _ in islice(corpus, 10 * SENTENCES)]
    return tokeniser.encode_all(EXAMPLES.get((languages_of(folder) or ("",))[0], ()))


def _made_up(tokeniser: Subwords, longest: int) -> list[list[int]]:
    """The empty text, and pieces at random in rows of different lengths."""
    draw = random.Random(1)
    lengths = [min(length, longest) - 1 for length in (1, 2, 7, 16)]
    return [[*(draw.randrange(len(SPECIAL_TOKENS), len(tokeniser)) for _ in range(length)), END] for length in lengths]
