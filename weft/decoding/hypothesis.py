"""What a search finds, and what all searches have in common."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from weft.errors import WeftError
from weft.models.sequence_to_sequence import END, PAD, SequenceToSequence
from weft.parts.call import Watch

STRONGEST = 10  # length penalty


@dataclass(frozen=True)
class Hypothesis:
    """One translation: its tokens with the END that closes it, and the log-probability of each."""

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    score: float  # what the search ranked it by
    rows: tuple[int, ...]  # the row of the batch it stood in at each step: where a watcher saw it

    @property
    def finished(self) -> bool:
        """Did it end by itself, or did the limit on its length end it?"""
        return self.ids[-1:] == (END,)


class Search(Protocol):
    """Sources (B, S) → for each its hypotheses, best first. Several models vote: the mean of their probabilities."""

    @property
    def rows(self) -> int:
        """Of a batch, for each sentence."""

    def __call__(
        self, models: Sequence[SequenceToSequence], source: Tensor, watch: Watch | None = None
    ) -> list[list[Hypothesis]]: ...


def length_limits(models: Sequence[SequenceToSequence], source: Tensor) -> list[int]:
    """How many tokens a translation may have: twice its source and 20 more, or what the positions know.

    A model that has lost the thread repeats itself for ever; a translation that long is hardly one.
    """
    known = min((model.limits[1] or 10**9 for model in models), default=10**9)
    return [min(2 * length + 20, known) for length in (source != PAD).sum(1).tolist()]


def check_length_penalty(alpha: float) -> None:
    """A stronger one ranks no differently, and |Y|^α would leave what a float can hold."""
    if not -STRONGEST <= alpha <= STRONGEST:  # nan is neither
        raise WeftError(f"a length penalty lies between -{STRONGEST} and {STRONGEST}, not {alpha}.")


def length_penalised(log_prob: float, length: int, alpha: float) -> float:
    """log P(Y) / |Y|^α, with the END counted: 0 prefers short translations, 1 is the mean per token."""
    return log_prob / math.pow(length, alpha)
