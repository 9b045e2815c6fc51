"""Translating a document: split into sentences, translate them in shared batches, put them together again."""

import asyncio
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from itertools import islice
from typing import Protocol

from weft.data.sentences import Piece
from weft.data.texts import Translation, texts_of
from weft.decoding import Search
from weft.serving.cutting import cut
from weft.serving.html_reading import Running, parsed
from weft.serving.html_writing import Weights, placed
from weft.serving.service import Service
from weft.tasks.alignment import diagonal
from weft.tasks.translator import Translator


@dataclass(frozen=True)
class TranslatedSentence:
    """A piece of running text, its position, and its translations, if it has words."""

    piece: Piece  # and all text up to the next one
    start: int
    found: Sequence[Translation] = ()
    looks: list[Weights] = field(default_factory=list)  # word alignment of each translation, where tags need it

    @property
    def end(self) -> int:
        return self.start + len(self.piece[0])

    def rank(self, rank: int) -> int:
        """Return this rank, or the last one that exists."""
        return min(rank, len(self.found) - 1)


class Document(Protocol):
    @property
    def texts(self) -> list[str]:
        """The running texts of the document."""

    def is_tagged(self, text: int, sentence: TranslatedSentence) -> bool:
        """Return whether a sentence has tags inside, whose place depends on the word alignment."""

    def written(self, texts: list[list[TranslatedSentence]], rank: int) -> str:
        """Return the document with the translations of this rank."""


class TextDocument:
    def __init__(self, text: str):
        self.texts = [text]

    def is_tagged(self, text: int, sentence: TranslatedSentence) -> bool:
        return False

    def written(self, texts: list[list[TranslatedSentence]], rank: int) -> str:
        return "".join((one.found[one.rank(rank)].text if one.found else "") + one.piece[1] for one in texts[0])


class HtmlDocument:
    def __init__(self, html: str):
        self.parts = parsed(html)
        self.running = [part for part in self.parts if isinstance(part, Running)]
        self.texts = [one.read for one in self.running]

    def is_tagged(self, text: int, sentence: TranslatedSentence) -> bool:
        return bool(self.running[text].within(sentence.start, sentence.end))

    def written(self, texts: list[list[TranslatedSentence]], rank: int) -> str:
        made = iter([_passage(one, sentences, rank) for one, sentences in zip(self.running, texts)])
        return "".join(part if isinstance(part, str) else next(made) for part in self.parts)


def _passage(running: Running, sentences: list[TranslatedSentence], rank: int) -> str:
    """Return a running text with its tags: those inside a sentence by alignment, the others where they were."""
    inside = {one.start: running.within(one.start, one.end) for one in sentences if one.found}
    within = {id(tag) for tags in inside.values() for tag in tags}
    outside = deque(tag for tag in running.tags if id(tag) not in within)

    def as_it_is(at: int, end: int) -> str:
        made = ""
        while outside and outside[0].at <= end:
            tag = outside.popleft()
            made += escape(running.text[at : tag.at], quote=False) + tag.raw
            at = tag.at + tag.holds
        return made + escape(running.text[at:end], quote=False)

    out, at = "", 0
    for one in sentences:
        if one.found:
            out += as_it_is(at, one.start)
            best, looks = one.found[one.rank(rank)], one.looks[one.rank(rank)] if one.looks else []
            out += placed(one.piece[0], one.start, inside[one.start], best.text, looks)
            at = one.end
    return out + as_it_is(at, len(running.text))


async def translated(
    documents: Sequence[Document], search: Search, service: Service, options: int = 1
) -> list[list[str]]:
    """Return up to `options` translations of each document, best first."""
    translator, queue = service.translator, service.queue
    in_pieces = await asyncio.to_thread(
        lambda: [[cut(text, translator) for text in document.texts] for document in documents]
    )
    wanted = [_evened(piece) for texts in in_pieces for pieces in texts for piece in texts_of(pieces)]
    found = iter(await queue.search(wanted, search, rated=0))
    made = []
    for document, texts in zip(documents, in_pieces):
        sentences = [_sentences(pieces, list(islice(found, len(texts_of(pieces))))) for pieces in texts]
        ranks = min(options, max((len(one.found) for some in sentences for one in some), default=0) or 1)
        for i, some in enumerate(sentences):
            for one in some:
                if one.found and document.is_tagged(i, one):
                    for best in one.found[:ranks]:
                        one.looks.append(await queue.run(partial(_looks, translator, _evened(one.piece[0]), best)))
        made.append((document, sentences, ranks))
    return await asyncio.to_thread(lambda: [[one.written(some, rank) for rank in range(n)] for one, some, n in made])


def _looks(translator: Translator, text: str, best: Translation) -> Weights:
    if translator.heads["cross"]:
        return translator.align(text, best.ids)
    return diagonal(len(text.split()), len(best.text.split()))


def _evened(piece: str) -> str:
    """Return a piece as the model reads it, with one space between words."""
    return re.sub(" +", " ", piece)


def _sentences(pieces: Sequence[Piece], found: Sequence[list[Translation]]) -> list[TranslatedSentence]:
    each, start, made = iter(found), 0, []
    for piece, space in pieces:
        made.append(TranslatedSentence((piece, space), start, next(each) if piece.strip() else ()))
        start += len(piece) + len(space)
    return made
