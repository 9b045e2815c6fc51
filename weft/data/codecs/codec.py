"""Codecs: values ↔ ids. A text becomes subwords, a label a number, and back."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from weft.data.codecs.visible import merged
from weft.disk import read_text, write_text
from weft.errors import WeftError, unknown

MOST_BYTES = 2**28  # of a codec's file


@dataclass(frozen=True)
class Special:
    """The ids of special tokens."""

    pad: int  # pads the rows of a batch
    start: int  # comes before the first predicted token
    end: int  # ends a sequence


class Codec(ABC):
    """A codec is value → ids and back, and shows tokens to people."""

    name: ClassVar[str]  # in files and plans
    special: Special
    first: ClassVar[int] = 3  # the id of the first value; special tokens stand before it

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
        """The tokens for display, each on its own."""

    def in_text(self, ids: Iterable[int]) -> list[str]:
        """The tokens of one text for display: a character in several of them is shown by the first, and ‥ by the
        others."""
        return merged(self.readable(ids))

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The codec as plain data for its file."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: Any) -> Self:
        """Read the codec from the data of a file; any exception means that the file is not valid."""

    def save(self, file: Path) -> None:
        write_text(file, json.dumps(self.to_dict(), ensure_ascii=False))

    @classmethod
    def load(cls, file: Path) -> Self:
        return load_codec(file, {cls.name: cls}, cls.name)


class TextCodec(Codec):
    """A codec of texts, token by token, for language models."""

    least: ClassVar[int] = 1  # the smallest vocabulary
    is_closed: ClassVar[bool] = False  # a symbol that was not learned is an error
    is_lossless: ClassVar[bool] = True  # any text survives encoding and decoding

    @classmethod
    @abstractmethod
    def train(cls, texts: Iterable[str], vocabulary: int) -> Self:
        """Learn at most `vocabulary` tokens from texts."""

    @abstractmethod
    def pieces_of(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text as part of a longer one, without special tokens."""

    @abstractmethod
    def stream(self) -> Callable[[int], str]:
        """A function from each next id to the text that it adds. A character in several tokens comes with the last."""

    def characters(self, ids: Iterable[int]) -> list[str]:
        """The text that each token adds."""
        return list(map(self.stream(), ids))


Kind = TypeVar("Kind", bound=Codec)


def load_codec(file: Path, kinds: Mapping[str, type[Kind]], default: str) -> Kind:
    """Load the codec in a file, which names its kind, or else has the default kind."""
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
        raise WeftError(f"{file} is not a codec written by weft: {error}") from None
