"""What an evaluation found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.evaluation.scores import Score


@dataclass(frozen=True)
class Report:
    """Scores of a model on a test set."""

    scores: tuple[Score, ...]
    notes: tuple[str, ...]  # what must be known to read them
    examples: int
    left_out: int  # examples that are longer than the model's positions, and so have no perplexity
    seconds: float  # of predicting
    predictions: Sequence[str]

    def score(self, name: str) -> Score:
        """A score by the name of its metric."""
        return next(score for score in self.scores if score.metric.name == name)

    def __getitem__(self, name: str) -> float:
        return self.score(name).value

    def to_dict(self) -> dict[str, Any]:
        return {
            **{
                score.metric.name: {"score": score.value, "signature": score.signature}
                if score.signature
                else score.value
                for score in self.scores
            },
            "left_out": self.left_out,
            "sentences": self.examples,
            "seconds": self.seconds,
        }
