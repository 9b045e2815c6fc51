"""Codecs with a token for each distinct symbol of a text: its characters, or its words.

A symbol that was not in the training text has no id. For characters it is an error; for words it becomes <unk>, if the
training text has that token, as the files of WikiText do, or has more words than the vocabulary has room for.
"""

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Any, Self

from weft.data.codecs.codec import Special, TextCodec
from weft.errors import WeftError

PAD, START, END = 0, 1, 2
SEEN = ("", "∅", "∎")  # what a person sees of the special tokens
UNKNOWN = "<unk>"


class Symbols(TextCodec):
    """Each distinct symbol is a token; ids 0 to 2 are the special tokens."""

    special = Special(PAD, START, END)
    first = len(SEEN)
    least = len(SEEN) + 1
    is_lossless = False

    def __init__(self, symbols: Sequence[str]):
        self.symbols = tuple(symbols)
        self.ids = {symbol: i for i, symbol in enumerate(self.symbols, len(SEEN))}

    def __len__(self) -> int:
        return len(SEEN) + len(self.symbols)

    @staticmethod
    @abstractmethod
    def split(text: str) -> Sequence[str]:
        """Split a text into symbols; `stream` joins them again."""

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int) -> Self:
        """The symbols of the vocabulary: the most frequent ones, if there are too many."""
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(cls.split(text))
        if not counts:
            raise WeftError("there is no text to learn a vocabulary from.")
        return cls(sorted(cls._chosen(counts, vocabulary - len(SEEN))))

    @classmethod
    def _chosen(cls, counts: "Counter[str]", most: int) -> Iterable[str]:
        if len(counts) > most:
            raise WeftError(
                f"the text has {len(counts):,} different {cls.name}, but a vocabulary of {most + len(SEEN):,} has room "
                f"for {most:,}; set vocabulary={len(counts) + len(SEEN)}, or codec=subwords."
            )
        return counts

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [[*ids, END] for ids in self.pieces_of(texts)]

    def pieces_of(self, texts: Sequence[str]) -> list[list[int]]:
        try:
            return [list(map(self.ids.__getitem__, self.split(text))) for text in texts]
        except KeyError:
            return [[self.ids[known] for known in map(self._known, self.split(text))] for text in texts]

    def _known(self, symbol: str) -> str:
        if symbol in self.ids or UNKNOWN in self.ids:
            return symbol if symbol in self.ids else UNKNOWN
        raise WeftError(f"{symbol!r} is not in this model's vocabulary of {len(self.symbols)} {self.name}.")

    def decode(self, ids: Iterable[int]) -> str:
        return "".join(self.characters(takewhile(lambda i: i != END, ids)))

    def readable(self, ids: Iterable[int]) -> list[str]:
        return [SEEN[i] if i < len(SEEN) else _visible(self.symbols[i - len(SEEN)]) for i in ids]

    def to_dict(self) -> dict[str, Any]:
        return {"codec": self.name, "symbols": list(self.symbols)}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        symbols = data["symbols"]
        if not all(isinstance(symbol, str) and symbol for symbol in symbols) or len(set(symbols)) < len(symbols):
            raise ValueError("its symbols are not distinct texts")
        return cls(symbols)


class Characters(Symbols):
    """A token for each character of the training text."""

    name = "characters"
    is_closed = True

    @staticmethod
    def split(text: str) -> Sequence[str]:
        return text

    def stream(self) -> Callable[[int], str]:
        return lambda i: "" if i < len(SEEN) else self.symbols[i - len(SEEN)]


class Words(Symbols):
    """A token for each word between spaces, and one for the end of a line: for text that is already tokenised."""

    name = "words"

    @staticmethod
    def split(text: str) -> Sequence[str]:
        return re.findall(r"\n|[^\s]+", text)

    @classmethod
    def _chosen(cls, counts: "Counter[str]", most: int) -> Iterable[str]:
        """The most frequent words; others become <unk>."""
        if len(counts) <= most:
            return counts
        frequent = [word for word, _ in counts.most_common(most) if word != UNKNOWN]
        return [*frequent[: most - 1], UNKNOWN]

    def stream(self) -> Callable[[int], str]:
        between = ""

        def add(i: int) -> str:
            nonlocal between
            if i < len(SEEN):
                return ""
            symbol = self.symbols[i - len(SEEN)]
            before, between = ("" if symbol == "\n" else between), ("" if symbol == "\n" else " ")
            return before + symbol

        return add


def _visible(symbol: str) -> str:
    """The symbol for display: · is a space, ↵ a line end, other invisible characters are code points."""
    if symbol in " \n":
        return {" ": "·", "\n": "↵"}[symbol]
    return symbol if symbol.isprintable() else f"<{ord(symbol[0]):02X}>"
