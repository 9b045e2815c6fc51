"""The model under test, and the findings of checks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.data.codecs import Codec
from weft.decoding import Greedy, Hypothesis
from weft.decoding.prompt import Prompt
from weft.folder import Folder
from weft.models.base import Batch, Model
from weft.parts.batching import Row
from weft.parts.call import Call
from weft.samples.sentences import EXAMPLES
from weft.tasks import Task, task_of
from weft.tasks.predictor import Predictor, Writing
from weft.tasks.translator import languages_of

OWN = 6  # rows that are real, besides made-up ones
LENGTHS = (1, 2, 7, 16)  # of those
FEW = 10 * OWN  # real rows that are looked at


class WriterUnderTest:
    """A model that writes, and prompts to try it on."""

    def __init__(self, predictor: Writing, rows: Sequence[Row], batch: Callable[[Sequence[Row]], Batch]):
        self.predictor = predictor
        self.models = predictor.models
        self.batch = batch
        self.prompts = [predictor.prompt_of(row) for row in rows]

    @cached_property
    def alone(self) -> list[Hypothesis]:
        """What greedy search finds for each prompt by itself, the reference for other ways of decoding."""
        return [Greedy()(self.models, prompt)[0][0] for prompt in self.prompts]

    @torch.inference_mode()
    def rated(self, prompt: Prompt, ids: Sequence[int]) -> Tensor:
        """Log-probabilities of every token at each position of a continuation, without a cache: (T, V)."""
        batch = self.batch([self.predictor.row_of(prompt, ids)])
        hidden = self.models[0].hidden(batch.inputs, Call())[0]
        return self.models[0].head.log_probs(hidden[-len(ids) :])


@dataclass(frozen=True)
class ModelUnderTest:
    """A model in its folder, and rows to try it on."""

    folder: Folder
    task: Task[Any]
    predictor: Predictor
    codecs: dict[str, Codec]
    rows: list[Row]

    @classmethod
    def of(cls, folder: Folder, device: str = "cpu") -> "ModelUnderTest":
        task = task_of(folder.plan())
        predictor, codecs = task.predictor([folder], device), {name: folder.codec(name) for name in task.codecs}
        own = [row for row in _own_rows(folder, task, codecs) if max(map(len, row)) <= predictor.limit]
        random = np.random.default_rng(1)
        made_up = [task.made_up(min(length, predictor.limit), codecs, random) for length in LENGTHS]
        return cls(folder, task, predictor, codecs, [*own[:OWN], *made_up])

    @property
    def model(self) -> Model:
        return self.predictor.models[0]

    @cached_property
    def writer(self) -> WriterUnderTest | None:
        """None: not a generative model."""
        return WriterUnderTest(self.predictor, self.rows, self.batch) if isinstance(self.predictor, Writing) else None

    @property
    def codec(self) -> Codec:
        return self.predictor.codec

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def batch(self, rows: Sequence[Row]) -> Batch:
        """These rows, padded to one length."""
        return self.task.collate(rows, self.codecs, np.random.default_rng(1)).to(self.device)


@dataclass(frozen=True)
class Finding:
    """How far apart two things are that should be the same, and how far they may be."""

    difference: float
    tolerance: float
    of: str  # what was measured, or the error

    @property
    def passed(self) -> bool:
        return self.difference <= self.tolerance  # False for NaN


Check = Callable[[ModelUnderTest], Finding | str]  # a finding, or why it was skipped


def _own_rows(folder: Folder, task: Task[Any], codecs: dict[str, Codec]) -> list[Row]:
    """Rows of the validation set, or else of sample sentences in the language of the model, if any."""
    if corpus := folder.validated_on():
        return [tuple(np.asarray(ids).tolist() for ids in row) for row in islice(corpus, FEW)]
    texts = EXAMPLES.get((languages_of(folder) or ("",))[0], ())
    examples = [(text,) * len(task.columns) for text in texts]
    return [row for rows, _ in task.encode(examples, codecs, None) for row in rows]
