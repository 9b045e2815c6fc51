"""Hypotheses, and the interface of all searches."""

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
    """A decoded sequence: its tokens, END included, and the log-probability of each."""

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    score: float  # what the search ranked it by
    rows: tuple[int, ...]  # its row in the batch at each step, as a watcher saw it
    finished: bool  # False: cut by the length limit


Found = list[list[Hypothesis]]  # for each sequence of a prompt its hypotheses, best first


class Search(Protocol):
    """A search is prompt → for each of its sequences the hypotheses, best first. Several models are an ensemble: their
    probabilities are averaged."""

    @property
    def rows(self) -> int:
        """The number of batch rows that each sequence takes."""

    def __call__(self, models: Sequence[Generative], prompt: Prompt, watch: Watch | None = None) -> Found: ...


def check_length_penalty(alpha: float) -> None:
    """Raise an error if |Y|^α could overflow; a larger penalty would not rank differently anyway."""
    if not -STRONGEST <= alpha <= STRONGEST:  # nan is neither
        raise WeftError(f"length penalty must be between -{STRONGEST} and {STRONGEST}, got {alpha}.")


def length_penalised(log_prob: float, length: int, alpha: float) -> float:
    """log P(Y) / |Y|^α, with the end token counted: 0 prefers short sequences, 1 is the mean per token."""
    return log_prob / math.pow(length, alpha)
