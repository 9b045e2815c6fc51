"""POST /api/translate: weft's own translation route, with scores, tokens, alignment and glossary."""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from weft.data.sentences import Piece
from weft.data.texts import Translation, joined, texts_of
from weft.decoding import Beam, Constrained, Search, best_first
from weft.errors import WeftError
from weft.serving.cutting import cut
from weft.serving.glossary import Occurrence, Outcome, Term, occurring, outcome, phrases_of
from weft.serving.service import BeamWidth, HeadsOff, LengthPenalty, Served
from weft.tasks.alignment import Link, links, pharaoh
from weft.tasks.translator import Translator
from weft.viewing.attention_heads import Head, Without

router = APIRouter(prefix="/api", tags=["translate"])


class TranslateRequest(BaseModel):
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
    beam: BeamWidth = Beam.width
    nbest: BeamWidth = Field(1, description="Number of translations, at most the beam width.")
    length_penalty: LengthPenalty = Beam.length_penalty
    alignment: bool = Field(False, description="Whether to return the word alignment.")
    glossary: list[Term] = Field([], max_length=200)
    off: HeadsOff = []


class ScoredTranslation(BaseModel):
    text: str
    score: float = Field(
        description="What translations are ranked by: log P / |Y|^length_penalty, or log P where a term of the "
        "glossary replaces no word. For several sentences, the mean."
    )
    tokens: list[str]
    log_probs: list[float] = Field(description="A term of the glossary has that of the word it replaces.")
    finished: bool = Field(description="False: cut by the length limit.")


class TranslateAnswer(BaseModel):
    translation: str
    translations: list[ScoredTranslation]
    alignment: str | None = Field(description="0-0 1-2 …: source and target word of each link.")
    glossary: Outcome


@router.post("/translate")
async def translate(asked: TranslateRequest, service: Served) -> TranslateAnswer:
    """Translate a text: the n best with scores, tokens and alignment, with a glossary, or without some heads."""
    service.check_size([asked.text])
    if asked.nbest > asked.beam:
        raise WeftError(f"nbest {asked.nbest} needs a beam of at least {asked.nbest}, got {asked.beam}.")
    translator, queue = service.translator, service.queue
    off = translator.existing(asked.off)
    pieces, occurrences = await asyncio.to_thread(_prepared, asked, translator)
    sentences = texts_of(pieces)
    best = _without(off, best_first(asked.beam, asked.length_penalty))
    found = await queue.search(sentences, best, rated=asked.nbest)
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
    unchanged = Translation(asked.text, 0.0, (), (), (), True)
    pairs = [*zip(sentences, (some[0].text for some in found)), *((between, between) for _, between in pieces)]
    translations = joined(pieces, found)[: asked.nbest] if found else [unchanged]
    return TranslateAnswer(
        translation=translations[0].text,
        translations=[ScoredTranslation.model_validate(one.to_dict()) for one in translations],
        alignment=pharaoh(_shifted(pieces, found, aligned)) if asked.alignment else None,
        glossary=await asyncio.to_thread(outcome, asked.glossary, pairs),
    )


def _prepared(asked: TranslateRequest, translator: Translator) -> tuple[list[Piece], list[list[Occurrence]]]:
    """Return the pieces of the text and the terms in each sentence."""
    pieces = cut(asked.text, translator)
    return pieces, [list(occurring(asked.glossary, sentence)) for sentence in texts_of(pieces)]


def _without(off: tuple[Head, ...], search: Search) -> Search:
    return Without(search, off) if off else search


def _shifted(
    pieces: Sequence[Piece], found: Sequence[Sequence[Translation]], aligned: Sequence[list[Link]]
) -> Iterator[Link]:
    """Convert links of each sentence to links of the text. A word may span two pieces without white space between."""
    each = iter(zip(found, aligned))
    source = target = ""
    for piece, space in pieces:
        if piece.strip():
            some, own = next(each)
            shifts = [
                len(before.split()) - _continues(before, text)
                for before, text in ((source, piece), (target, some[0].text))
            ]
            yield from ((s + shifts[0], t + shifts[1]) for s, t in own)
            target += some[0].text
        source, target = source + piece + space, target + space


def _continues(before: str, after: str) -> bool:
    """Return whether the last word of one text continues in the next."""
    return bool(before and after) and not (before[-1].isspace() or after[0].isspace())
