"""What a search finds, and what all searches have in common."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from weft.decoding.prompt import Prompt
from weft.errors import WeftError
from weft.models.base import Generative
from weft.parts.call import Watch

STRONGEST = 10  # length penalty


@dataclass(frozen=True)
class Hypothesis:
    """One sequence: its tokens with the end token that closes it, and the log-probability of each."""

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    score: float  # what the search ranked it by
    rows: tuple[int, ...]  # the row of the batch it stood in at each step: where a watcher saw it
    finished: bool  # False: cut by the limit on its length


class Search(Protocol):
    """A prompt → for each of its sequences the hypotheses, best first. Several models are an ensemble: the mean of
    their probabilities."""

    @property
    def rows(self) -> int:
        """How many rows of a batch each sequence takes."""

    def __call__(
        self, models: Sequence[Generative], prompt: Prompt, watch: Watch | None = None
    ) -> list[list[Hypothesis]]: ...


def check_length_penalty(alpha: float) -> None:
    """Refuse what |Y|^α could not hold in a float; a stronger penalty would rank no differently."""
    if not -STRONGEST <= alpha <= STRONGEST:  # nan is neither
        raise WeftError(f"length penalty must be between -{STRONGEST} and {STRONGEST}, got {alpha}.")


def length_penalised(log_prob: float, length: int, alpha: float) -> float:
    """log P(Y) / |Y|^α, with the end token counted: 0 prefers short sequences, 1 is the mean per token."""
    return log_prob / math.pow(length, alpha)
