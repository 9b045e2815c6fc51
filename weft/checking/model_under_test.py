"""What is checked, and what a check finds."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import torch

from weft.data.batches import filled
from weft.data.tokeniser import SPECIAL_TOKENS, Tokeniser
from weft.decoding import Greedy, Hypothesis
from weft.folder import Folder
from weft.models.sequence_to_sequence import END, SequenceToSequence
from weft.samples.sentences import EXAMPLES

SENTENCES = 6  # of the model's own, beside those that are made up


@dataclass(frozen=True)
class ModelUnderTest:
    """A model in its folder, and sources to try it on."""

    folder: Folder
    model: SequenceToSequence
    tokeniser: Tokeniser
    sources: list[list[int]]

    @classmethod
    def of(cls, folder: Folder, device: str = "cpu") -> "ModelUnderTest":
        model, tokeniser = folder.model(device), folder.tokeniser()
        longest = min(model.limits[0] or 10**9, folder.plan().training.longest)
        own = [source for source in _own_sources(folder, tokeniser) if len(source) <= longest]
        return cls(folder, model, tokeniser, [*islice(own, SENTENCES), *_made_up(tokeniser, longest)])

    @cached_property
    def alone(self) -> list[Hypothesis]:
        """What greedy search makes of each source by itself: the plain case that others are compared with."""
        return [Greedy()([self.model], filled([row]).to(self.device))[0][0] for row in self.sources]

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


def _own_sources(folder: Folder, tokeniser: Tokeniser) -> list[list[int]]:
    """Of what a run was validated on, else of what weft ships for its language, else none."""
    if corpus := folder.validated_on():
        return [source.tolist() for source, _ in islice(corpus, 10 * SENTENCES)]
    return tokeniser.encode_all(EXAMPLES.get((folder.languages() or ("",))[0], ()))


def _made_up(tokeniser: Tokeniser, longest: int) -> list[list[int]]:
    """The empty text, and pieces at random in rows of different lengths."""
    draw = random.Random(1)
    lengths = [min(length, longest) - 1 for length in (1, 2, 7, 16)]
    return [[*(draw.randrange(len(SPECIAL_TOKENS), len(tokeniser)) for _ in range(length)), END] for length in lengths]
