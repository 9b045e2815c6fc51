"""What a task is: how files become batches, how a model is validated, and what it does once it is trained.

A task knows its data; training knows only tasks. One file a task, one line in `weft.tasks.TASKS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from weft.data.codecs import Codec
from weft.data.corpus import Chunk, Corpus
from weft.errors import WeftError, unknown
from weft.evaluation.scores import Metric
from weft.folder import Folder
from weft.models.base import Batch, Model
from weft.parts.batching import Row
from weft.plans.plan import Plan, Training
from weft.tasks.predictor import Predictor

Example = TypeVar("Example", covariant=True)
Thing = TypeVar("Thing")
Codecs = Mapping[str, Codec]  # by the name of their file


class Examples(Protocol[Example]):
    """What files hold, read lazily and as often as needed."""

    passed_over: dict[str, dict[str, int]]  # by file and reason, what was no example

    def __iter__(self) -> Iterator[Example]: ...


class Workers(Protocol):
    """Processes that train together, of which this is one."""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    def total(self, *mine: float) -> list[float]:
        """Each number, summed over all workers."""

    def gather(self, mine: Thing) -> list[Thing]:
        """What each worker has, in the order of their ranks."""


class Task(ABC, Generic[Example]):
    """One kind of work that a model can learn."""

    columns: ClassVar[tuple[str, ...]]  # of its corpus
    unit: ClassVar[str]  # what its examples are called, in the plural
    codecs: ClassVar[tuple[str, ...]] = ("tokeniser",)  # the names of their files; the first has the vocabulary
    metrics: ClassVar[tuple[Metric, ...]]  # what `validate` measures, in the order it is shown
    best_by: ClassVar[str]  # the metric that chooses checkpoints, unless the plan says otherwise

    @abstractmethod
    def read(
        self,
        files: Sequence[Path],
        *,
        beside: Sequence[Path] = (),
        like: Examples[Example] | None = None,
        base: Folder | None = None,
        **options: Any,
    ) -> Examples[Example]:
        """Examples from files; all faults of the files in one report.

        `beside` are the files of the other set, `like` the training examples that validation examples should match,
        `base` the model that a fine-tuning starts from. Further options are what a user can say about the files.
        """

    def remarks(self, examples: Examples[Example]) -> Iterable[str]:
        """What a user should know about the examples that were read."""
        return ()

    @abstractmethod
    def learn(self, examples: Iterable[Example], plan: Plan) -> Codecs:
        """The codecs that these examples need."""

    @abstractmethod
    def encode(self, examples: Iterable[Example], codecs: Codecs, longest: int | None) -> Iterator[Chunk]:
        """Rows of ids; examples with more than `longest` tokens are left out, and counted."""

    @abstractmethod
    def collate(self, rows: Sequence[Row], codecs: Codecs, random: np.random.Generator) -> Batch:
        """Rows as one batch: padded, shifted, masked; what is random about it is drawn from the generator."""

    @abstractmethod
    def validate(self, model: Model, corpus: Corpus, codecs: Codecs, workers: Workers) -> dict[str, float]:
        """The value of each metric, known to all workers."""

    @abstractmethod
    def predictor(self, folders: Sequence[Folder], device: str) -> Predictor:
        """The trained model at work."""

    def facts(self, examples: Iterable[Example], base: Folder | None) -> dict[str, Any]:
        """What a model folder notes about its data; `base` is the model that a fine-tuning starts from."""
        return {}

    def augment(self, rows: Sequence[Row], codecs: Codecs, options: Training, seed: str) -> Sequence[Row]:
        """Rows as one epoch sees them."""
        return rows

    def finish(self, folder: Folder) -> None:
        """What is left to do when a training has ended."""

    def metric(self, best_by: str) -> Metric:
        """The metric by its name."""
        name = self.best_by if best_by == "auto" else best_by
        found = {metric.name: metric for metric in self.metrics}
        if name not in found:
            raise WeftError(f"training.best_by: {unknown('score', name, found)}")
        return found[name]
