"""A training small enough for a test: letters to be said in reverse."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch import Tensor

from weft.folder import Folder
from weft.models.encoder_decoder import EncoderDecoder
from weft.plans import Plan, plan
from weft.training.loop import Observer, Trainer
from weft.training.run import begin, trainer
from weft.weights import parameters

SETTINGS: dict[str, Any] = {
    "width": 8,
    "layers": 1,
    "mixer.heads": 2,
    "cross.heads": 2,
    "feed_forward.hidden": 12,
    "dropout": 0.2,
    "vocabulary": 264,  # the bytes, the signs, and each of four letters with the space before it
    "steps": 8,
    "batch_tokens": 60,
    "accumulate": 1,
    "rate": 0.01,
    "schedule": {"name": "constant", "warmup": 4},
    "validate_every": 3,
    "average_of": 2,
}
Scores = dict[str, float]


def tiny_plan(**settings: Any) -> Plan:
    return plan("transformer-tiny").with_settings({**SETTINGS, **settings})


def reversed_letters(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """("a b d", "d b a") …"""
    draw = random.Random(seed)
    sources = [[draw.choice("abcd") for _ in range(draw.randint(2, 6))] for _ in range(count)]
    return [(" ".join(letters), " ".join(reversed(letters))) for letters in sources]


def tiny_run(out: Path, **settings: Any) -> Folder:
    """A run folder, about to be trained."""
    return begin(tiny_plan(**settings), reversed_letters(60), reversed_letters(6, seed=2), out)


def tiny_trainer(folder: Folder, *observers: Observer) -> Trainer:
    """The training of a folder, without the recorders: pictures of curves take longer than these trainings."""
    job = trainer(folder)
    job.observers = observers
    return job


def weights_of(model: EncoderDecoder) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in parameters(model).items()}


def are_equal(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    """To the last bit."""
    return left.keys() == right.keys() and all(left[name].equal(right[name]) for name in left)


class Scripted:
    """Validation whose outcome is known beforehand; it keeps the weights it was shown."""

    def __init__(self, *scores: Scores):
        self.scores: Iterator[Scores] = iter(scores)
        self.shown: list[dict[str, Tensor]] = []

    def __call__(self, model: EncoderDecoder) -> Scores:
        self.shown.append(weights_of(model))
        return next(self.scores, {"loss": 0.0, "bleu": 0.0})


class Told:
    """An observer that remembers, and may raise after a step."""

    def __init__(self, error: BaseException | None = None, at: int = 0):
        self.error, self.at = error, at
        self.steps: dict[int, Scores] = {}
        self.validations: dict[int, Scores] = {}
        self.is_closed = False

    def step(self, step: int, metrics: Scores) -> None:
        self.steps[step] = metrics
        if self.error is not None and step == self.at:
            raise self.error

    def validation(self, step: int, scores: Scores) -> None:
        self.validations[step] = scores

    def close(self) -> None:
        self.is_closed = True
