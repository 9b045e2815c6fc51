"""The predictor: a trained model ready to be used, by commands, the service and Python; `weft.load` returns one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor

from weft.data.codecs import Codec, TextCodec
from weft.data.languages import Languages
from weft.decoding import Hypothesis
from weft.decoding.prompt import Prompt
from weft.disk import checksum
from weft.errors import WeftError
from weft.evaluation.report import Report
from weft.folder import Folder
from weft.models.base import Generative, Model
from weft.parts.batching import Row
from weft.tasks.head_ranking import rank_heads
from weft.viewing.attention_heads import Head
from weft.viewing.attention_maps import AttentionMaps, check_head, heads_of
from weft.viewing.head_scores import HeadScores
from weft.viewing.what_if import NOTHING, WhatIf

HASH = 12  # digits of a checksum that are shown


class Predictor(ABC):
    """One model, or an ensemble of several with one vocabulary."""

    verb: ClassVar[str]  # the command for this model
    traces: ClassVar[Sequence[str]] = ()  # what the page can show of it because of its task
    limit: int  # the most tokens in a column of a row
    routes: ClassVar[Sequence[str]] = ("model",)  # of the service: names of weft.serving.app.ROUTES
    example: str = ""  # a text to begin with
    beside: ClassVar[str | None] = None  # a short text for the same batch, so that its masks show padding
    languages: Languages | None = None  # of source and target, if it translates and they are recorded

    def __init__(self, folders: Sequence[Folder], device: str = "cpu"):
        all_codecs = [folder.codec() for folder in folders]
        for folder, codec in zip(folders[1:], all_codecs[1:]):
            if codec.to_dict() != all_codecs[0].to_dict():
                raise WeftError(
                    f"{folder.path} and {folders[0].path} have different vocabularies, and an ensemble needs one: "
                    "train the second with --from the first, or from the same data."
                )
        for folder in folders:
            if (size := len(all_codecs[0])) != (known := folder.plan().vocabulary):
                raise WeftError(f"{folder.path}/tokeniser.json has {size} tokens, but its model has {known}.")
        self.folders = folders
        self.device = device
        self.codec: Codec = all_codecs[0]
        self.models: Sequence[Model] = [folder.model(device) for folder in folders]

    @abstractmethod
    def score_files(self, **options: Any) -> Report:
        """Score the model on the test set in some files; which they are is up to the task."""

    def attention(
        self, text: str, target: str | Sequence[int] | None = None, what_if: WhatIf = NOTHING
    ) -> AttentionMaps:
        """The attention of the (first) model to a text and what it writes, or the given target, under some changes."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name of the model without its path; of an ensemble, of each."""
        return ",".join(folder.path.name for folder in self.folders)

    def __repr__(self) -> str:
        return f"weft.load({','.join(folder.name for folder in self.folders)!r})"

    @cached_property
    def heads(self) -> dict[str, tuple[int, ...]]:
        """The number of heads in each layer of the (first) model, by kind of attention."""
        return heads_of(self.models[0])

    def existing(self, heads: Iterable[Head]) -> tuple[Head, ...]:
        """These heads without duplicates; an error if the model has no such head."""
        found = tuple(dict.fromkeys(heads))
        for head in found:
            check_head(head, self.heads)
        return found

    @property
    def task(self) -> Any:
        """What the (first) model was trained for."""
        from weft.tasks import task_of

        return task_of(self.folders[0].plan())

    @cached_property
    def hash(self) -> str:
        """The first digits of the checksum of the weights; of an ensemble, of each."""
        return ",".join(checksum(folder.weights())[:HASH] for folder in self.folders)

    def read(self, file: Path) -> Iterable[Any]:
        """The examples of a file, as for a training."""
        examples: Iterable[Any] = self.task.read([file], base=self.folders[0])
        return examples

    def completed(self, examples: Sequence[Any]) -> Sequence[Any]:
        """Examples as for a training, where they can also be given in part."""
        return [(each,) if isinstance(each, str) else each for each in examples]

    def agreeing(
        self, rows: Sequence[tuple[int, Row]], links_file: Path | None
    ) -> tuple[str, Callable[[int, Tensor], Tensor]] | None:
        """What the alignments of heads can be compared with, and how; None: it aligns nothing."""
        return None

    def head_scores(
        self,
        examples: Sequence[Any] | Path | str,
        *,
        first: int = 1000,
        alignments: Path | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> HeadScores:
        """How much each head of the (first) model matters, and where it looks, in the first so many examples: pairs of
        texts, texts, or those of a file. `alignments` is a file of links between words, `0-0 1-2`, for each pair."""
        return rank_heads(self, examples, first, alignments, tell)


class Writing(Predictor):
    """A predictor that writes: tokens follow a prompt, one after the other. What `weft check` asks of it."""

    codec: TextCodec
    models: Sequence[Generative]

    @abstractmethod
    def prompt_of(self, row: Row) -> Prompt:
        """What is given of an example; the rest of it could be written."""

    @abstractmethod
    def row_of(self, prompt: Prompt, ids: Sequence[int]) -> Row:
        """The example made of a prompt and what follows it."""

    @abstractmethod
    def write_together(self, prompts: Sequence[Prompt]) -> list[Hypothesis]:
        """What greedy search writes after prompts of different lengths, all in one batch."""
