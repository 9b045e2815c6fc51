"""Translating texts of any length, whatever computes: a text that is too long is cut, and what was made of its pieces
is joined. Nothing here needs torch, so that a command whose engine is another program starts without it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Protocol, TypeVar

from weft.data.codecs import Subwords
from weft.data.sentences import Piece, split_long, split_sentences
from weft.errors import WeftError

AT_A_TIME = 1024  # texts that are sorted by length and translated together
REMEMBERED = 8 * AT_A_TIME  # texts whose ids are kept
Asked = TypeVar("Asked")  # how a search is described


@dataclass(frozen=True)
class Translation:
    """One translation of a text, and how the model rates it."""

    text: str
    score: float  # log P / |Y|^α; for a text in several pieces, their mean
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]  # of each token
    finished: bool  # False: cut by the limit on its length

    def to_dict(self) -> dict[str, object]:
        return {
            "text": self.text,
            "score": self.score,
            "tokens": list(self.tokens),
            "log_probs": list(self.log_probs),
            "finished": self.finished,
        }


class Engine(Protocol):
    """Another program that searches with the weights of a model, and was found to agree with it."""

    name: str

    def takes(self, width: int, length_penalty: float) -> bool:
        """Whether it does this search as weft does: beam search, greedy search if the width is 1."""

    def search(
        self, sources: Sequence[Sequence[int]], width: int, length_penalty: float, rated: int | None = None
    ) -> list[list[Translation] | None]:
        """The translations of each source (ids that end with END), best first; None where weft may find others.
        The log-probabilities of tokens are left out but for the `rated` best."""


class Texts(ABC, Generic[Asked]):
    """Translates texts with an engine where there is one that can, else by its own means."""

    codec: Subwords
    limit: int  # the most tokens of a source
    engine: Engine | None = None
    _known: dict[str, list[int]]  # recent texts and their ids: a text is encoded once

    @abstractmethod
    def compute(self, texts: Sequence[str], search: Asked) -> list[list[Translation]]:
        """The translations of texts that the model allows, without an engine."""

    @abstractmethod
    def best_first(self, search: Asked) -> tuple[int, float] | None:
        """The width and length penalty of a beam search; None for any other search."""

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of texts; those of recent texts are cached."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self.codec.encode_all(new)))
        found = [self._known[text] for text in texts]
        for text in list(self._known)[:-REMEMBERED]:
            del self._known[text]
        return found

    def search(
        self,
        texts: Iterable[str],
        search: Asked,
        *,
        split: bool = False,
        too_long: str = "split",
        first: int = 1,
        rated: int | None = None,
    ) -> Iterator[list[Translation]]:
        """For each text its translations, best first.

        `split` splits every text into sentences first. A text longer than the model allows is always split, or an
        error if `too_long` is "error"; white space between the pieces is kept. Errors count texts from `first`.
        The log-probabilities of tokens may be left out but for the `rated` best: an engine computes them separately.
        """
        stream = iter(enumerate(texts, first))
        while some := list(islice(stream, AT_A_TIME)):
            self.encode_all([text for _, text in some if isinstance(text, str)])  # all at once: most fit unsplit
            cut = [self.cut(text, f"line {number}", split=split, too_long=too_long) for number, text in some]
            found = iter(self._found([piece for pieces in cut for piece in texts_of(pieces)], search, rated))
            for pieces in cut:
                yield joined(pieces, list(islice(found, len(texts_of(pieces)))))

    def engine_for(self, search: Asked) -> Engine | None:
        """The engine, if it does this search."""
        numbers = self.best_first(search)
        return self.engine if self.engine and numbers and self.engine.takes(*numbers) else None

    def by_engine(
        self, sources: Sequence[Sequence[int]], search: Asked, rated: int | None = None
    ) -> list[list[Translation] | None]:
        """What the engine finds for each source; None where there is none, or it cannot."""
        numbers, engine = self.best_first(search), self.engine_for(search)
        return engine.search(sources, *numbers, rated) if engine and numbers else [None for _ in sources]

    def _found(self, texts: Sequence[str], search: Asked, rated: int | None) -> list[list[Translation]]:
        found = self.by_engine(self.encode_all(texts), search, rated)
        left = [text for text, some in zip(texts, found) if some is None]
        computed = iter(self.compute(left, search) if left else ())
        return [next(computed) if some is None else some for some in found]

    def cut(self, text: str, where: str, *, split: bool, too_long: str = "split") -> list[Piece]:
        """Split a text into pieces that the model allows; errors name the place, `where`."""
        check_text(text, where)

        def fits(piece: str) -> bool:
            return len(self.encode_all([piece])[0]) <= self.limit

        sentences = split_sentences(text) if split else [(text, "")]
        if all(fits(sentence) for sentence, _ in sentences):
            return sentences
        if too_long == "error":
            longest = max(map(len, self.encode_all([sentence for sentence, _ in sentences])))
            raise WeftError(
                f"{where} has {'a sentence of ' if split else ''}{longest} tokens, and this model allows "
                f"{self.limit}; --too-long split cuts it into pieces."
            )
        pieces = [p for sentence, space in split_sentences(text) for p in _closed(split_long(sentence, fits), space)]
        for piece, _ in pieces:
            if not fits(piece):
                raise WeftError(
                    f"{where} has a character, {piece!r}, of more tokens than the {self.limit} that this model allows."
                )
        return pieces


def translation_of(
    codec: Subwords, ids: Sequence[int], log_probs: Sequence[float], score: float, finished: bool = True
) -> Translation:
    tokens = tuple(codec.readable(ids))
    return Translation(codec.decode(ids), score, tuple(ids), tokens, tuple(log_probs), finished)


def check_text(text: object, where: str) -> None:
    if not isinstance(text, str):
        raise WeftError(f"{where}: expected a text, got {text!r}.")


def _closed(pieces: list[Piece], space: str) -> list[Piece]:
    """Pieces of one sentence, the last followed by the white space that followed the sentence."""
    *rest, (last, between) = pieces or [("", "")]
    return [*rest, (last, between + space)]


def texts_of(pieces: Sequence[Piece]) -> list[str]:
    """The texts of the pieces that are not empty."""
    return [piece for piece, _ in pieces if piece.strip()]


def joined(pieces: Sequence[Piece], found: Sequence[list[Translation]]) -> list[Translation]:
    """Join the translations of pieces to translations of the whole: its i-th best joins the i-th best of each."""
    if len(pieces) == len(found) == 1 and not pieces[0][1]:
        return found[0]
    each = iter(found)
    rows = [(next(each) if piece.strip() else None, space) for piece, space in pieces]
    options = max(map(len, found), default=1)
    return [
        _one([(some[min(i, len(some) - 1)] if some else None, space) for some, space in rows]) for i in range(options)
    ]


def _one(pieces: Sequence[tuple[Translation | None, str]]) -> Translation:
    made = [one for one, _ in pieces if one]
    return Translation(
        "".join((one.text if one else "") + space for one, space in pieces) if made else "",
        sum(one.score for one in made) / max(1, len(made)),
        tuple(i for one in made for i in one.ids),
        tuple(token for one in made for token in one.tokens),
        tuple(value for one in made for value in one.log_probs),
        all(one.finished for one in made),
    )
