"""A trained model at work: what `weft.load` returns. Commands, the service and Python all use it."""

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

from weft.data.codecs import Codec
from weft.errors import WeftError
from weft.folder import Folder
from weft.models.base import Model
from weft.viewing.attention_heads import Head
from weft.viewing.attention_maps import check_head, heads_of


class Predictor(ABC):
    """One model, or an ensemble of several with one vocabulary."""

    verb: ClassVar[str]  # the command that this model is for
    views: ClassVar[Mapping[str, str]]  # of the page, in their order: what each is called

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

    def __repr__(self) -> str:
        return f"weft.load({','.join(folder.name for folder in self.folders)!r})"

    @cached_property
    def heads(self) -> dict[str, tuple[int, ...]]:
        """How many heads each layer of the (first) model has, by kind of attention."""
        return heads_of(self.models[0])

    def existing(self, heads: Iterable[Head]) -> tuple[Head, ...]:
        """These heads, each once; an error where the model has no such head."""
        found = tuple(dict.fromkeys(heads))
        for head in found:
            check_head(head, self.heads)
        return found
