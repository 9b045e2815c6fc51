"""The predictor: a trained model ready to be used, by commands, the service and Python; `weft.load` returns one."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

from weft.data.codecs import Codec
from weft.data.languages import Languages
from weft.decoding import Hypothesis
from weft.decoding.prompt import Prompt
from weft.errors import WeftError
from weft.evaluation.report import Report
from weft.folder import Folder
from weft.models.base import Generative, Model
from weft.parts.batching import Row
from weft.viewing.attention_heads import Head
from weft.viewing.attention_maps import AttentionMaps, check_head, heads_of
from weft.viewing.what_if import NOTHING, WhatIf


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


class Writing(Predictor):
    """A predictor that writes: tokens follow a prompt, one after the other. What `weft check` asks of it."""

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
