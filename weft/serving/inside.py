"""Routes of the page that look inside a model: attention, one head step by step, the search, heads switched off.

Layers and heads count from 1, tokens from 0. An answer has one kind and one layer of attention as numbers, or all heads
as small pictures of one byte per weight. The attention of the last few sentences is cached, so that another layer or
head of the same sentence costs nothing.
"""

import dataclasses
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache, partial
from typing import Annotated, Any

import numpy as np
import torch
from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from weft.serving.service import HeadsOff, Served
from weft.viewing.anatomy import masks
from weft.viewing.attention_heads import DEFAULT_KIND, KINDS, Head, formula
from weft.viewing.attention_maps import AttentionMaps
from weft.viewing.what_if import NOTHING, WhatIf

CACHED = 8  # sentences; a long one in a large model takes some 20 MB
DIGITS = 4  # of a weight
BYTES, ND_JSON = "application/octet-stream", "application/x-ndjson"
BINARY: dict[int | str, dict[str, Any]] = {200: {"content": {BYTES: {}}}}  # for clients that accept it
LINES: dict[int | str, dict[str, Any]] = {200: {"content": {ND_JSON: {}}}}
UNCOMPRESSED = {"Content-Encoding": "identity"}  # lines come at once

router = APIRouter(prefix="/api", tags=["inside"])
Accept = Annotated[str | None, Header(include_in_schema=False)]
Kind = Annotated[str, Field(json_schema_extra={"enum": [*KINDS]})]


class LookRequest(BaseModel):
    """A text, what is written after it, and what is changed."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "The cat sleeps."}]})

    text: str
    target: str | None = Field(None, description="A translation or continuation; null: the model's own.")
    off: HeadsOff = []
    replace: dict[int, str] = Field(
        {}, max_length=1000, description="By token of the text, from 0: what stands in its place; empty: nothing."
    )
    force: dict[int, str] = Field(
        {}, max_length=1000, description="By step, from 0: the token that is written there; the model goes on from it."
    )
    temperature: float = Field(1.0, gt=0, le=100, description="Divides the logits.")

    @property
    def what_if(self) -> WhatIf:
        return WhatIf(self.off, self.replace, self.force, self.temperature)

    @property
    def is_own(self) -> bool:
        """Whether all that is written is chosen by the model, with its own probabilities."""
        return self.target is None and not self.force and self.temperature == 1.0


class KindRequest(LookRequest):
    kind: Kind | None = Field(None, description="null: the last kind that the model has.")


class LayerRequest(KindRequest):
    layer: int | None = Field(None, description="null: all layers.")
    mean: bool = Field(False, description="Return one map: the mean over heads, and over layers if layer is null.")


class HeadRequest(KindRequest):
    layer: int = 1
    head: int = 1
    token: int = Field(0, description="The query.")


Target = str | tuple[int, ...] | None  # a translation or its ids; None: the model's own
Look = Callable[..., Awaitable[AttentionMaps]]  # (text, target=None, what_if=NOTHING) → attention


def _look(request: Request, service: Served) -> Look:
    state = request.app.state
    if not hasattr(state, "attention"):
        state.attention = lru_cache(CACHED)(service.predictor.attention)

    async def look(text: str, target: Target = None, what_if: WhatIf = NOTHING) -> AttentionMaps:
        """Compute attention in the computing thread."""
        service.check_size([text, (target if isinstance(target, str) else "") + what_if.words])
        return await service.queue.run(lambda: state.attention(text, target, what_if))

    return look


Looking = Annotated[Look, Depends(_look)]


def is_wanted(type: str, accept: str | None) -> bool:
    """Whether a client asks for this type of answer instead of JSON."""
    return type in (accept or "")


def binary(header: dict[str, Any], numbers: Tensor, type: str) -> Response:
    """An answer of four bytes, the length of a header in JSON; the header, with shape and type; and the numbers."""
    said = json.dumps({**header, "shape": [*numbers.shape], "type": type}, ensure_ascii=False).encode()
    said += b" " * (-len(said) % 4)  # so that the numbers begin at a multiple of four
    body = numbers.cpu().numpy().astype(np.dtype(type).newbyteorder("<")).tobytes()
    return Response(len(said).to_bytes(4, "little") + said + body, media_type=BYTES)


def rounded(values: Tensor) -> Any:
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


def _kind(asked: KindRequest, seen: AttentionMaps) -> str:
    return asked.kind or (seen.kinds[-1] if seen.kinds else DEFAULT_KIND)


def _tokens(seen: AttentionMaps, kind: str) -> dict[str, Any]:
    queries, keys = seen.axes[kind]
    return {**_pair(seen), "kind": kind, "queries": queries, "keys": keys}


class MapsAnswer(KindAnswer):
    maps: list[list[list[list[float]]]] = Field(description="[layer][head][query][key]")


@router.post("/attention", response_model=MapsAnswer, responses=BINARY)
async def attention(asked: LayerRequest, look: Looking, accept: Accept = None) -> Any:
    """Return the weights of one layer, or of all."""
    seen = await look(asked.text, asked.target, asked.what_if)
    kind = _kind(asked, seen)
    maps = seen.of(kind, asked.layer)[None, None] if asked.mean else seen.each(kind, asked.layer)
    if is_wanted(BYTES, accept):
        return binary(_tokens(seen, kind), maps, "float16")
    return MapsAnswer(**_tokens(seen, kind), maps=rounded(maps))


class OverviewAnswer(KindAnswer):
    pictures: list[list[str]] = Field(description="[layer][head]: base64, one byte per weight; 255 is a weight of 1.")


@router.post("/overview", response_model=OverviewAnswer, responses=BINARY)
async def overview(asked: KindRequest, look: Looking, accept: Accept = None) -> Any:
    """Return every layer and head of one kind of attention as a picture."""
    seen = await look(asked.text, asked.target, asked.what_if)
    kind = _kind(asked, seen)
    cells = (seen.each(kind) * 255).round()
    if is_wanted(BYTES, accept):
        return binary(_tokens(seen, kind), cells, "uint8")
    pictures = [[b64encode(head.tobytes()).decode() for head in layer] for layer in cells.cpu().numpy().astype("u1")]
    return OverviewAnswer(**_tokens(seen, kind), pictures=pictures)


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
    seen = await look(asked.text, asked.target, asked.what_if)
    kind = _kind(asked, seen)
    numbers = seen.numbers(kind, asked.layer, asked.head, asked.token)
    columns = {
        "key": rounded(numbers.keys),
        "score": rounded(numbers.scores),
        "scaled": [None] * len(numbers.scores) if numbers.scaled is None else rounded(numbers.scaled),
        "visible": numbers.visible.tolist(),
        "weight": rounded(numbers.weights),
        "value": rounded(numbers.values),
    }
    return HeadAnswer(
        **_tokens(seen, kind),
        width=numbers.query.size(0),
        formula=formula(service.predictor.models[0], asked.layer) if numbers.scaled is None else "q · k",
        query=rounded(numbers.query),
        rows=[KeyNumbers(**dict(zip(columns, row))) for row in zip(*columns.values())],
        output=rounded(numbers.output),
    )


class AblationAnswer(BaseModel):
    whole: ScoredPair = Field(description="Translation with all heads.")
    without: ScoredPair = Field(description="Translation without those that are off.")
    after: ScoredPair = Field(description="The original translation, re-scored without them.")


@router.post("/off")
async def off(asked: LookRequest, look: Looking) -> AblationAnswer:
    """Translate and score a sentence without some heads."""
    whole = await look(asked.text, asked.target, dataclasses.replace(asked.what_if, off=()))
    without = await look(asked.text, asked.target, asked.what_if)
    after = await look(asked.text, whole.ids, asked.what_if.unforced)
    return AblationAnswer(
        whole=ScoredPair(**_pair(whole)), without=ScoredPair(**_pair(without)), after=ScoredPair(**_pair(after))
    )


class ImportanceAnswer(BaseModel):
    target: list[str]
    falls: dict[str, list[list[float]]] = Field(description="By kind: [layer][head]")


@router.post("/importance", response_model=ImportanceAnswer, responses=LINES)
async def importance(asked: LookRequest, look: Looking, service: Served, accept: Accept = None) -> Any:
    """Return by how much the mean log-probability of what is written falls when each head alone is switched off."""
    what_if = asked.what_if.unforced
    ids = (await look(asked.text, asked.target, dataclasses.replace(asked.what_if, off=()))).ids
    before = await look(asked.text, ids, what_if)

    def score_without(head: Head) -> float:
        without = dataclasses.replace(what_if, off=(*what_if.off, head))
        return service.predictor.attention(asked.text, ids, without).score

    async def falls() -> AsyncIterator[tuple[Head, float]]:
        for kind, heads in service.predictor.heads.items():
            for layer, count in enumerate(heads, 1):
                for head in (Head(kind, layer, number) for number in range(1, count + 1)):
                    score = await service.queue.run(partial(score_without, head))  # others get their turn in between
                    yield head, round(before.score - score, DIGITS)

    if is_wanted(ND_JSON, accept):
        return StreamingResponse(_lines(before.target, falls()), media_type=ND_JSON, headers=UNCOMPRESSED)
    found: dict[str, list[list[float]]] = {kind: [[] for _ in heads] for kind, heads in service.predictor.heads.items()}
    async for head, fall in falls():
        found[head.kind][head.layer - 1].append(fall)
    return ImportanceAnswer(target=before.target, falls=found)


async def _lines(target: list[str], falls: AsyncIterator[tuple[Head, float]]) -> AsyncIterator[str]:
    """A line of JSON for the target, and one for each head as soon as it is measured."""
    yield json.dumps({"target": target}) + "\n"
    async for head, fall in falls:
        yield json.dumps({**vars(head), "fall": fall}) + "\n"


class MasksAnswer(BaseModel):
    source: list[list[str]]
    target: list[list[str]]
    masks: dict[str, list[list[list[int]]]] = Field(description="By kind: [sentence][query][key], 1 or 0")


@router.post("/masks")
async def look_at_masks(asked: LookRequest, look: Looking, service: Served) -> MasksAnswer:
    """Return the masks of the sentence, in a batch with a short one if the model reads sentences."""
    beside, readable = service.predictor.beside, service.predictor.codec.in_text
    seen = [await look(asked.text, asked.target, asked.what_if), *([] if beside is None else [await look(beside)])]
    rows = {name: [one.read[name] for one in seen] for name in seen[0].read}
    found = await service.queue.run(lambda: masks(service.predictor.models[0], rows))
    *sources, targets = rows.values()
    return MasksAnswer(
        source=[readable(ids) for some in sources for ids in some],
        target=[readable(ids) for ids in targets],
        masks={kind: mask.int().tolist() for kind, mask in found.items()},
    )
