"""Routes of the page that only a translator has: the search, the alignment of words, sentences."""

import asyncio
import re
from functools import partial

import torch
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from weft.data.sentences import split_sentences
from weft.decoding import Beam
from weft.errors import WeftError
from weft.serving.inside import LookRequest, rounded
from weft.serving.service import BeamWidth, HeadsOff, LengthPenalty, Served
from weft.viewing.search import SearchTree

router = APIRouter(prefix="/api", tags=["inside"])


class SearchRequest(LookRequest):
    """The search finds a target of its own, whatever is given."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "The cat sleeps.", "beam": 3}]})

    beam: BeamWidth = Beam.width
    length_penalty: LengthPenalty = Beam.length_penalty


class TextRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "One. Two."}]})

    text: str


@router.post("/search")
async def search(asked: SearchRequest, service: Served) -> SearchTree:
    """Return the tree of a beam search: every candidate of every step, and the complete translations."""
    service.check_size([asked.text, asked.what_if.words])
    translator = service.translator
    return await service.queue.run(
        lambda: translator.search_tree(asked.text, asked.what_if, beam=asked.beam, length_penalty=asked.length_penalty)
    )


class AlignRequest(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"text": "The cat sleeps.", "target": "Die Katze schläft."}]}
    )

    text: str
    target: str = Field(description="A translation of the text.")
    off: HeadsOff = []


class WordSpan(BaseModel):
    """The place of a word in its text, in Unicode characters."""

    start: int
    end: int


class AlignAnswer(BaseModel):
    """How much each word of a translation was written from each word of its text. White space separates words."""

    source: list[WordSpan]
    target: list[WordSpan]
    weights: list[list[float]] = Field(description="[target word][source word]")


@router.post("/align")
async def align(asked: AlignRequest, service: Served) -> AlignAnswer:
    """Align the words of a text and its translation by the attention head chosen for it."""
    service.check_size([asked.text, asked.target])
    translator = service.translator
    source, target = await asyncio.to_thread(translator.tokeniser.encode_all, [asked.text, asked.target])
    if (longest := max(len(source), len(target))) > translator.limit:
        raise WeftError(f"the sentence has {longest} tokens; this model allows {translator.limit}.")
    weights = await service.queue.run(partial(translator.align, asked.text, target, asked.off))
    return AlignAnswer(source=_words(asked.text), target=_words(asked.target), weights=rounded(torch.tensor(weights)))


def _words(text: str) -> list[WordSpan]:
    return [WordSpan(start=match.start(), end=match.end()) for match in re.finditer(r"\S+", text)]


class SplitSentence(BaseModel):
    """A sentence and the white space after it."""

    text: str
    space: str


@router.post("/sentences")
async def sentences(asked: TextRequest, service: Served) -> list[SplitSentence]:
    """Split a text into sentences, each with the white space after it."""
    service.check_size([asked.text])
    return [SplitSentence(text=text, space=space) for text, space in split_sentences(asked.text)]
