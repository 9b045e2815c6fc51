"""Codecs: values ↔ ids. A text becomes subwords, a label a number, and back."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from weft.disk import read_text, write_text
from weft.errors import WeftError, unknown

MOST_BYTES = 2**28  # of a codec's file


@dataclass(frozen=True)
class Special:
    """The ids of a codec that stand for no value of their own."""

    pad: int  # fills up the rows of a batch
    start: int  # stands before the first token that is predicted
    end: int  # ends a sequence


class Codec(ABC):
    """value → ids and back. What a model reads and writes, and how a person sees it."""

    name: ClassVar[str]  # what its files and plans call it
    special: Special

    @abstractmethod
    def __len__(self) -> int:
        """The size of the vocabulary, special tokens included."""

    @abstractmethod
    def encode_all(self, values: Sequence[Any]) -> list[list[int]]:
        """Values → ids."""

    def encode(self, value: Any) -> list[int]:
        return self.encode_all([value])[0]

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> Any:
        """Ids → the value."""

    @abstractmethod
    def readable(self, ids: Iterable[int]) -> list[str]:
        """Each token as a person may see it."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """What the codec's file holds."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: Any) -> Self:
        """The codec that a file holds; any exception means that the file is not one of this codec's."""

    def save(self, file: Path) -> None:
        write_text(file, json.dumps(self.to_dict(), ensure_ascii=False))

    @classmethod
    def load(cls, file: Path) -> Self:
        return load_codec(file, {cls.name: cls}, cls.name)


Kind = TypeVar("Kind", bound=Codec)


def load_codec(file: Path, kinds: Mapping[str, type[Kind]], default: str) -> Kind:
    """The codec in a file, which names its kind; one that does not is of the default kind."""
    try:
        data = json.loads(read_text(file, MOST_BYTES))
        kind = data.get("codec", default)
        if kind not in kinds:
            raise ValueError(unknown("codec", str(kind), kinds))
        return kinds[kind].from_dict(data)
    except FileNotFoundError:
        raise WeftError(f"{file} is missing.") from None
    except WeftError:
        raise
    except Exception as error:  # the tokenizers library raises plain Exception
        raise WeftError(f"{file} is not a codec that weft wrote: {error}") from None
