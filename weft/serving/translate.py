"""POST /api/translate: weft's own way to ask for a translation, with everything the search knows of it."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from functools import partial

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from weft.decoding import Constrained, Search, best_first
from weft.errors import WeftError
from weft.serving.cutting import cut
from weft.serving.service import Served, Service
from weft.text.sentences import Piece
from weft.translator import Translation, Translator, joined, texts_of
from weft.viewing.alignment import Link, links, pharaoh
from weft.viewing.heads import Head, Without

router = APIRouter(prefix="/api", tags=["translate"])
WIDEST = 20  # beam


class Term(BaseModel):
    """Wherever the source term occurs, as whole words in any case, the translation holds the target term."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str = Field(min_length=1, max_length=200, pattern=r"\S", examples=["weather"])
    target: str = Field(min_length=1, max_length=200, pattern=r"\S", examples=["Witterung"])


class Asked(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "text": "The weather was bad. We stayed at home.",
                    "nbest": 2,
                    "alignment": True,
                    "glossary": [{"source": "weather", "target": "Witterung"}],
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
    score: float = Field(description="log P / |Y|^length_penalty; of several sentences their mean.")
    tokens: list[str]
    log_probs: list[float]
    finished: bool = Field(description="False: cut by the limit on its length.")


class Glossary(BaseModel):
    kept: list[Term]
    failed: list[Term]


class Answer(BaseModel):
    translation: str
    translations: list[Found]
    alignment: str | None = Field(description="0-0 1-2 …: source and target word, between white space, of each link.")
    glossary: Glossary


@router.post("/translate")
async def translate(asked: Asked, service: Served) -> Answer:
    """Translate a text: the n best, with scores, tokens and alignment, by a glossary, or without some heads."""
    service.check_size([asked.text])
    if asked.nbest > asked.beam:
        raise WeftError(f"nbest {asked.nbest} needs a beam of {asked.nbest} or more, not {asked.beam}.")
    translator, queue = service.translator, service.queue
    off = translator.existing(asked.off)
    pieces, searches = await asyncio.to_thread(_prepared, asked, off, translator)
    sentences = texts_of(pieces)
    found = await _found(sentences, searches, service)
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
        translations=[Found.model_validate(one.plain()) for one in translations],
        alignment=pharaoh(_shifted(pieces, found, aligned)) if asked.alignment else None,
        glossary=await asyncio.to_thread(_outcome, asked.glossary, pairs),
    )


def occurring(glossary: Sequence[Term], text: str) -> Iterator[Term]:
    """The terms of a glossary where they occur. Of two that share words only one does: the one that begins sooner, else
    the longer, else the last that was given."""
    terms = {term.source.casefold(): term for term in glossary}
    longest_first = sorted(terms, key=len, reverse=True)
    pattern = "|".join(rf"(?<!\w){re.escape(term)}(?!\w)" for term in longest_first)
    return (terms[match[0]] for match in re.finditer(pattern, text.casefold())) if terms else iter(())


def _prepared(asked: Asked, off: tuple[Head, ...], translator: Translator) -> tuple[list[Piece], list[Search]]:
    """The text in pieces, and how each sentence is searched, by the terms that occur in it."""
    pieces = cut(asked.text, translator)
    wanted = [list(occurring(asked.glossary, sentence)) for sentence in texts_of(pieces)]
    return pieces, [_search(asked, terms, off, translator) for terms in wanted]


def _search(asked: Asked, terms: Sequence[Term], off: tuple[Head, ...], translator: Translator) -> Search:
    tokeniser = translator.tokeniser
    search = best_first(asked.beam, asked.length_penalty)
    if terms:
        phrases = tuple(tuple(tokeniser.encode(term.target.strip())[:-1]) for term in terms)
        search = Constrained(phrases, tokeniser.inner, asked.beam, asked.length_penalty)
    return Without(search, off) if off else search


async def _found(sentences: list[str], searches: list[Search], service: Service) -> list[list[Translation]]:
    """Sentences that are searched alike go together, the others beside them."""
    groups: dict[Search, list[int]] = {}
    for i, search in enumerate(searches):
        groups.setdefault(search, []).append(i)
    asked = [
        asyncio.ensure_future(service.queue.search([sentences[i] for i in group], search))
        for search, group in groups.items()
    ]
    try:
        each = await asyncio.gather(*asked)
    finally:  # where one was refused, nobody waits for the others
        for one in asked:
            one.cancel()
    found = {i: one for group, some in zip(groups.values(), each) for i, one in zip(group, some)}
    return [found[i] for i in range(len(sentences))]


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


def _outcome(glossary: Sequence[Term], pairs: Sequence[tuple[str, str]]) -> Glossary:
    """Which terms stand in every translation as often as they should. Those that had to make room for another are asked
    for too: the target of `car` may have come with that of `my car`."""
    by_target: dict[str, list[Term]] = {}
    for term in glossary:
        by_target.setdefault(term.target.strip(), []).append(term)
    seen: dict[Term, None] = {}
    failed: dict[Term, None] = {}
    for sentence, text in pairs:
        folded = sentence.casefold()
        for target, terms in by_target.items():
            maybe = [term for term in terms if term.source.casefold() in folded]
            if there := [term for term in maybe if any(occurring([term], sentence))]:
                wanted = sum(1 for _ in occurring(there, sentence))
                seen |= dict.fromkeys(there)
                if len(re.findall(rf"(?<!\w){re.escape(target)}(?!\w)", text)) < wanted:
                    failed |= dict.fromkeys(there)
    return Glossary(kept=[term for term in seen if term not in failed], failed=list(failed))
