"""The report of an evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from weft.evaluation.scores import Score


@dataclass(frozen=True)
class Report:
    """Scores of a model on a test set."""

    scores: tuple[Score, ...]
    notes: tuple[str, ...]  # on how to read them
    examples: int
    unit: str  # what the examples are called, in the plural
    left_out: int  # examples that are longer than the model's positions, and so have no perplexity
    seconds: float  # of predicting
    predictions: Sequence[str] = ()
    settings: Mapping[str, int] = field(default_factory=dict)  # on which the scores depend

    def score(self, name: str) -> Score:
        """The score of the metric with this name."""
        return next(score for score in self.scores if score.metric.name == name)

    def __getitem__(self, name: str) -> float:
        return self.score(name).value

    def to_dict(self) -> dict[str, Any]:
        return {
            **{score.metric.name: score.to_json() for score in self.scores},
            **self.settings,
            "left_out": self.left_out,
            self.unit: self.examples,
            "seconds": self.seconds,
        }
