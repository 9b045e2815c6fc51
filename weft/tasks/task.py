"""A task defines how files become batches, how a model is validated, and what a trained model does.

Training knows tasks only by this interface. A task is one file and one line in `weft.tasks.TASKS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from weft.data.codecs import Codec
from weft.data.corpus import Chunk, Corpus
from weft.errors import WeftError, nearest, unknown
from weft.evaluation.scores import Metric
from weft.folder import Folder
from weft.models.base import Batch, Model
from weft.parts.batching import Row
from weft.plans.part import Part
from weft.plans.plan import Plan, Training
from weft.tasks.predictor import Predictor

Example = TypeVar("Example", covariant=True)
Thing = TypeVar("Thing")
Codecs = Mapping[str, Codec]  # by the name of their file


class Examples(Protocol[Example]):
    """The examples of some files, read lazily and as often as needed."""

    @property
    def passed_over(self) -> dict[str, dict[str, int]]:
        """The number of entries without an example, by file and reason."""

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
    """A kind of work that a model can learn."""

    name: ClassVar[str]  # what plans call it
    columns: ClassVar[tuple[str, ...]]  # of its corpus
    unit: ClassVar[str]  # the name of its examples, in the plural
    codecs: ClassVar[tuple[str, ...]] = ("tokeniser",)  # the names of their files; the first has the vocabulary
    metrics: ClassVar[tuple[Metric, ...]]  # what `validate` measures, in the order it is shown
    best_by: ClassVar[str]  # the metric that chooses checkpoints, unless the plan says otherwise
    needs: ClassVar[Mapping[str, tuple[str, ...]]]  # the parts that a plan for this task may have, by their setting

    def check(self, plan: Plan) -> None:
        """Raise one error that lists why a plan cannot be trained for this task."""
        wrong = []
        for setting, parts in self.needs.items():
            part = plan.to_dict()
            for name in setting.split("."):
                part = part[name]
            if (name := Part.read(part, setting).name) not in parts:
                guess = "".join(f" Did you mean {near!r}?" for near in nearest(name, parts)[:1])
                wrong.append(f"{setting}: task {plan.task.name} needs {' or '.join(parts)}, got {name}.{guess}")
        self.metric(plan.training.best_by)
        if wrong:
            raise WeftError("\n".join(wrong))

    def hold_out(self, examples: Examples[Example]) -> tuple[Examples[Example], Examples[Example], str]:
        """Training and validation examples where only one set was given, and a sentence on how it was split."""
        raise WeftError("training needs --train FILE... and --valid FILE...")

    def counted(self, corpus: Corpus, purpose: str) -> str:
        """How much there is of a corpus, for the user."""
        return f"{len(corpus):,} {purpose} {self.unit}"

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
        `base` the model that fine-tuning starts from. Further options describe the files.
        """

    def remarks(self, examples: Examples[Example]) -> Iterable[str]:
        """Messages for the user about the examples that were read."""
        return ()

    @abstractmethod
    def learn(self, examples: Iterable[Example], plan: Plan) -> Codecs:
        """Learn the codecs for these examples."""

    @abstractmethod
    def encode(self, examples: Iterable[Example], codecs: Codecs, longest: int | None) -> Iterator[Chunk]:
        """Rows of ids; examples with more than `longest` tokens are left out and counted, or cut."""

    def made_up(self, length: int, codecs: Codecs, random: np.random.Generator) -> Row:
        """A row of random tokens, so many in each column with the end, to check a model with."""
        codec = codecs[self.codecs[0]]
        drawn = (random.integers(codec.first, len(codec), length - 1).tolist() for _ in self.columns)
        return tuple([*ids, codec.special.end] for ids in drawn)

    @abstractmethod
    def collate(self, rows: Sequence[Row], codecs: Codecs, random: np.random.Generator) -> Batch:
        """Make a batch of rows: padded, shifted, masked; anything random is drawn from the generator."""

    @abstractmethod
    def validate(self, model: Model, corpus: Corpus, codecs: Codecs, workers: Workers) -> dict[str, float]:
        """Return the value of each metric, on all workers."""

    @abstractmethod
    def predictor(self, folders: Sequence[Folder], device: str) -> Predictor:
        """The predictor of a trained model."""

    def facts(self, examples: Iterable[Example], base: Folder | None) -> dict[str, Any]:
        """The facts that a model folder records about its data; `base` is the model that fine-tuning starts from."""
        return {}

    def noted(self, folder: Folder) -> str:
        """What `facts` recorded of a model, in a line."""
        return f"task: {self.name}"

    @property
    def verb(self) -> str:
        """The command for its models, before one is loaded."""
        return str(signature(self.predictor).return_annotation.verb)

    def augment(self, rows: Sequence[Row], codecs: Codecs, options: Training, seed: str) -> Sequence[Row]:
        """The rows with the random changes of one epoch."""
        return rows

    def finish(self, folder: Folder) -> None:
        """Do what remains after training."""

    def metric(self, best_by: str) -> Metric:
        """The metric with this name; `auto`: the task's own."""
        name = self.best_by if best_by == "auto" else best_by
        found = {metric.name: metric for metric in self.metrics}
        if name not in found:
            raise WeftError(f"training.best_by: {unknown('score', name, found)}")
        return found[name]
