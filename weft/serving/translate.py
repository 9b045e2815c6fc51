"""POST /api/translate: weft's own way to ask for a translation, with everything the search knows of it."""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from weft.data.sentences import Piece
from weft.decoding import Constrained, Search, best_first
from weft.errors import WeftError
from weft.serving.cutting import cut
from weft.serving.glossary import Occurrence, Outcome, Term, occurring, outcome, phrases_of
from weft.serving.service import Served
from weft.tasks.alignment import Link, links, pharaoh
from weft.tasks.translator import Translation, Translator, joined, texts_of
from weft.viewing.attention_heads import Head, Without

router = APIRouter(prefix="/api", tags=["translate"])
WIDEST = 20  # beam


class Asked(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "text": "The weather was bad. We stayed at home.",
                    "nbest": 2,
                    "alignment": True,
                    "glossary": [{"source": "weather", "target": "Klima"}],
                }
            ]
        },
    )

    text: str
    beam: int = Field(5, ge=1, le=WIDEST)
    nbest: int = Field(1, ge=1, le=WIDEST, description="At most as many as the beam is wide.")
    length_penalty: float = Field(1.0, ge=-10, le=10, allow_inf_nan=False)
    alignment: bool = Field(False, description="Whether to say which words were written from which.")
    glossary: list[Term] = Field([], max_length=200)
    off: list[Head] = Field([], max_length=1000, description="Heads to switch off; layers and heads count from 1.")


class Found(BaseModel):
    text: str
    score: float = Field(
        description="They are ranked by it: log P / |Y|^length_penalty, or log P where a term of the glossary stands "
        "for no word. Of several sentences it is the mean."
    )
    tokens: list[str]
    log_probs: list[float] = Field(description="A term of the glossary has that of the word it stands for.")
    finished: bool = Field(description="False: cut by the limit on its length.")


class Answer(BaseModel):
    translation: str
    translations: list[Found]
    alignment: str | None = Field(description="0-0 1-2 …: source and target word, between white space, of each link.")
    glossary: Outcome


@router.post("/translate")
async def translate(asked: Asked, service: Served) -> Answer:
    """Translate a text: the n best, with scores, tokens and alignment, by a glossary, or without some heads."""
    service.check_size([asked.text])
    if asked.nbest > asked.beam:
        raise WeftError(f"nbest {asked.nbest} needs a beam of {asked.nbest} or more, not {asked.beam}.")
    translator, queue = service.translator, service.queue
    off = translator.existing(asked.off)
    pieces, occurrences = await asyncio.to_thread(_prepared, asked, translator)
    sentences = texts_of(pieces)
    found = await queue.search(sentences, _without(off, best_first(asked.beam, asked.length_penalty)))
    for i, (sentence, some) in enumerate(zip(sentences, occurrences)):
        if some:
            phrases = await queue.run(partial(phrases_of, some, sentence, found[i][0].ids, translator))
            search = Constrained(phrases, translator.tokeniser.inner, asked.beam, asked.length_penalty)
            [found[i]] = await queue.search([sentence], _without(off, search))
    aligned = (
        [links(await queue.run(partial(translator.align, text, some[0].ids))) for text, some in zip(sentences, found)]
        if asked.alignment
        else []
    )
    as_it_is = Translation(asked.text, 0.0, (), (), (), True)
    pairs = [*zip(sentences, (some[0].text for some in found)), *((between, between) for _, between in pieces)]
    translations = joined(pieces, found)[: asked.nbest] if found else [as_it_is]
    return Answer(
        translation=translations[0].text,
        translations=[Found.model_validate(one.to_dict()) for one in translations],
        alignment=pharaoh(_shifted(pieces, found, aligned)) if asked.alignment else None,
        glossary=await asyncio.to_thread(outcome, asked.glossary, pairs),
    )


def _prepared(asked: Asked, translator: Translator) -> tuple[list[Piece], list[list[Occurrence]]]:
    """The text in pieces, and the terms that occur in each sentence."""
    pieces = cut(asked.text, translator)
    return pieces, [list(occurring(asked.glossary, sentence)) for sentence in texts_of(pieces)]


def _without(off: tuple[Head, ...], search: Search) -> Search:
    return Without(search, off) if off else search


def _shifted(
    pieces: Sequence[Piece], found: Sequence[Sequence[Translation]], aligned: Sequence[list[Link]]
) -> Iterator[Link]:
    """Links within sentences as links within the text: its words may go on where a piece ends without white space."""
    each = iter(zip(found, aligned))
    source = target = ""
    for piece, space in pieces:
        if piece.strip():
            some, own = next(each)
            shifts = [
                len(before.split()) - _goes_on(before, text)
                for before, text in ((source, piece), (target, some[0].text))
            ]
            yield from ((s + shifts[0], t + shifts[1]) for s, t in own)
            target += some[0].text
        source, target = source + piece + space, target + space


def _goes_on(before: str, after: str) -> bool:
    """Whether the last word of a text goes on in the next."""
    return bool(before and after) and not (before[-1].isspace() or after[0].isspace())
