"""Routes of the page that look inside a model: attention, one head step by step, the search, heads switched off.

Layers and heads count from 1, tokens from 0. An answer has one kind and one layer of attention as numbers, or all heads
as small pictures of one byte per weight. The attention of the last few sentences is cached, so that another layer or
head of the same sentence costs nothing.
"""

import asyncio
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache, partial
from typing import Annotated, Any

import torch
from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from weft.data.sentences import split_sentences
from weft.decoding import Beam
from weft.errors import WeftError
from weft.serving.service import BeamWidth, HeadsOff, LengthPenalty, Served
from weft.viewing.anatomy import masks
from weft.viewing.attention_heads import DEFAULT_KIND, KINDS, Head, formula
from weft.viewing.attention_maps import AttentionMaps
from weft.viewing.search import SearchTree

CACHED = 8  # sentences; a long one in a large model takes some 20 MB
DIGITS = 4  # of a weight
NEIGHBOUR = "Thank you."  # a short sentence for the same batch, so that the masks show padding

router = APIRouter(prefix="/api", tags=["inside"])
Kind = Annotated[str, Field(json_schema_extra={"enum": [*KINDS]})]


class SentenceRequest(BaseModel):
    """A sentence, its translation, and heads to switch off."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "The cat sleeps."}]})

    text: str
    target: str | None = Field(None, description="A translation; null: the model's own.")
    off: HeadsOff = []


class KindRequest(SentenceRequest):
    kind: Kind = DEFAULT_KIND


class LayerRequest(KindRequest):
    layer: int | None = Field(None, description="null: all layers.")
    mean: bool = Field(False, description="Return one map: the mean over heads, and over layers if layer is null.")


class HeadRequest(KindRequest):
    layer: int = 1
    head: int = 1
    token: int = Field(0, description="The query.")


class SearchRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "The cat sleeps.", "beam": 3}]})

    text: str
    beam: BeamWidth = Beam.width
    length_penalty: LengthPenalty = Beam.length_penalty


class TextRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "One. Two."}]})

    text: str


Target = str | tuple[int, ...] | None  # a translation or its ids; None: the model's own
Look = Callable[..., Awaitable[AttentionMaps]]  # (text, target=None, off=()) → attention


def _look(request: Request, service: Served) -> Look:
    state = request.app.state
    if not hasattr(state, "attention"):
        state.attention = lru_cache(CACHED)(service.translator.attention)

    async def look(text: str, target: Target = None, off: Sequence[Head] = ()) -> AttentionMaps:
        """Compute attention in the computing thread."""
        service.check_size([text, target if isinstance(target, str) else ""])
        return await service.queue.run(lambda: state.attention(text, target, tuple(off)))

    return look


Looking = Annotated[Look, Depends(_look)]


def _rounded(values: Tensor) -> Any:
    return torch.round(values.cpu().double(), decimals=DIGITS).tolist()


class ScoredPair(BaseModel):
    """A sentence and its translation as tokens, and the log-probability of the translation."""

    source: list[str]
    target: list[str]
    translation: str
    log_probs: list[float]
    score: float = Field(description="Mean log-probability per token.")


def _pair(seen: AttentionMaps) -> dict[str, Any]:
    return {
        "source": seen.source,
        "target": seen.target,
        "translation": seen.translation,
        "log_probs": [round(value, DIGITS) for value in seen.log_probs],
        "score": round(seen.score, DIGITS),
    }


class KindAnswer(ScoredPair):
    """The tokens of one kind of attention."""

    kind: Kind
    queries: list[str]
    keys: list[str]


def _tokens(seen: AttentionMaps, kind: Kind) -> dict[str, Any]:
    queries, keys = seen.axes[kind]
    return {**_pair(seen), "kind": kind, "queries": queries, "keys": keys}


class MapsAnswer(KindAnswer):
    maps: list[list[list[list[float]]]] = Field(description="[layer][head][query][key]")


@router.post("/attention")
async def attention(asked: LayerRequest, look: Looking) -> MapsAnswer:
    """Return the weights of one layer, or of all."""
    seen = await look(asked.text, asked.target, asked.off)
    maps = seen.of(asked.kind, asked.layer)[None, None] if asked.mean else seen.each(asked.kind, asked.layer)
    return MapsAnswer(**_tokens(seen, asked.kind), maps=_rounded(maps))


class OverviewAnswer(KindAnswer):
    pictures: list[list[str]] = Field(description="[layer][head]: base64, one byte per weight; 255 is a weight of 1.")


@router.post("/overview")
async def overview(asked: KindRequest, look: Looking) -> OverviewAnswer:
    """Return every layer and head of one kind of attention as a picture."""
    seen = await look(asked.text, asked.target, asked.off)
    cells = (seen.each(asked.kind) * 255).round().to(torch.uint8).cpu().numpy()
    pictures = [[b64encode(head.tobytes()).decode() for head in layer] for layer in cells]
    return OverviewAnswer(**_tokens(seen, asked.kind), pictures=pictures)


class KeyNumbers(BaseModel):
    """One key of one query: scores, weight and value."""

    key: list[float]
    score: float = Field(description="q · k, or by the formula.")
    scaled: float | None = Field(description="q · k / √K; null for attention before 2017, which does not scale.")
    visible: bool = Field(description="False if masked.")
    weight: float
    value: list[float]


class HeadAnswer(KindAnswer):
    width: int
    formula: str = Field(description="How the score is computed.")
    query: list[float]
    rows: list[KeyNumbers]
    output: list[float] = Field(description="Weighted sum of the values.")


@router.post("/head")
async def head(asked: HeadRequest, look: Looking, service: Served) -> HeadAnswer:
    """Return one query of one head in four steps: q · k, ÷ √K, softmax, the weighted sum of the values."""
    seen = await look(asked.text, asked.target, asked.off)
    numbers = seen.numbers(asked.kind, asked.layer, asked.head, asked.token)
    columns = {
        "key": _rounded(numbers.keys),
        "score": _rounded(numbers.scores),
        "scaled": [None] * len(numbers.scores) if numbers.scaled is None else _rounded(numbers.scaled),
        "visible": numbers.visible.tolist(),
        "weight": _rounded(numbers.weights),
        "value": _rounded(numbers.values),
    }
    return HeadAnswer(
        **_tokens(seen, asked.kind),
        width=numbers.query.size(0),
        formula=formula(service.translator.models[0], asked.layer) if numbers.scaled is None else "q · k",
        query=_rounded(numbers.query),
        rows=[KeyNumbers(**dict(zip(columns, row))) for row in zip(*columns.values())],
        output=_rounded(numbers.output),
    )


class AblationAnswer(BaseModel):
    whole: ScoredPair = Field(description="Translation with all heads.")
    without: ScoredPair = Field(description="Translation without those that are off.")
    after: ScoredPair = Field(description="The original translation, re-scored without them.")


@router.post("/off")
async def off(asked: SentenceRequest, look: Looking) -> AblationAnswer:
    """Translate and score a sentence without some heads."""
    whole = await look(asked.text, asked.target)
    without = await look(asked.text, asked.target, asked.off)
    after = await look(asked.text, whole.ids, asked.off)
    return AblationAnswer(
        whole=ScoredPair(**_pair(whole)), without=ScoredPair(**_pair(without)), after=ScoredPair(**_pair(after))
    )


class ImportanceAnswer(BaseModel):
    target: list[str]
    falls: dict[str, list[list[float]]] = Field(description="By kind: [layer][head]")


@router.post("/importance")
async def importance(asked: SentenceRequest, look: Looking, service: Served) -> ImportanceAnswer:
    """Return by how much the mean log-probability of the translation falls when each head alone is switched off."""
    ids = (await look(asked.text, asked.target)).ids
    before = await look(asked.text, ids, asked.off)

    def score_without(head: Head) -> float:
        return service.translator.attention(asked.text, ids, [*asked.off, head]).score

    falls: dict[str, list[list[float]]] = {}
    for kind, heads in service.translator.heads.items():
        falls[kind] = [[] for _ in heads]
        for layer, count in enumerate(heads, 1):
            for head in range(1, count + 1):  # one at a time, so that other requests get their turn
                score = await service.queue.run(partial(score_without, Head(kind, layer, head)))
                falls[kind][layer - 1].append(round(before.score - score, DIGITS))
    return ImportanceAnswer(target=before.target, falls=falls)


@router.post("/search")
async def search(asked: SearchRequest, service: Served) -> SearchTree:
    """Return the tree of a beam search: every candidate of every step, and the complete translations."""
    service.check_size([asked.text])
    translator = service.translator
    return await service.queue.run(
        lambda: translator.search_tree(asked.text, beam=asked.beam, length_penalty=asked.length_penalty)
    )


class MasksAnswer(BaseModel):
    source: list[list[str]]
    target: list[list[str]]
    masks: dict[str, list[list[list[int]]]] = Field(description="By kind: [sentence][query][key], 1 or 0")


@router.post("/masks")
async def look_at_masks(asked: SentenceRequest, look: Looking, service: Served) -> MasksAnswer:
    """Return the masks of a batch of the sentence and a short one."""
    tokeniser = service.translator.tokeniser
    both = await look(asked.text, asked.target), await look(NEIGHBOUR)
    sources = [tokeniser.encode(one.text) for one in both]
    targets = [[tokeniser.special.start, *one.ids[:-1]] for one in both]
    found = await service.queue.run(lambda: masks(service.translator.models[0], sources, targets))
    return MasksAnswer(
        source=[tokeniser.readable(ids) for ids in sources],
        target=[tokeniser.readable(ids) for ids in targets],
        masks={kind: mask.int().tolist() for kind, mask in found.items()},
    )


class AlignRequest(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"text": "The cat sleeps.", "target": "Die Katze schläft."}]}
    )

    text: str
    target: str = Field(description="A translation of the text.")


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
    weights = await service.queue.run(partial(translator.align, asked.text, target))
    return AlignAnswer(source=_words(asked.text), target=_words(asked.target), weights=_rounded(torch.tensor(weights)))


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
