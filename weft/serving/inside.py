"""Looking inside, for the page: attention, one head by the numbers, the search, heads switched off.

Layers and heads are counted from 1, tokens from 0. Only what is looked at is sent: one kind and one layer of attention
as numbers, or all heads as small pictures of a byte a cell. What was seen of the last few sentences is remembered, so
that another layer or head of the same sentence costs nothing.
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
from weft.errors import WeftError
from weft.serving.service import Served
from weft.viewing.anatomy import masks
from weft.viewing.attention_heads import DEFAULT_KIND, KINDS, Head, formula
from weft.viewing.attention_maps import AttentionMaps
from weft.viewing.search import SearchTree

REMEMBERED = 8  # sentences; a long one in a large model is some 20 MB
DIGITS = 4  # of a weight
NEIGHBOUR = "Thank you."  # a short sentence beside the one that is looked at, so that there is padding to be seen

router = APIRouter(prefix="/api", tags=["inside"])
Kind = Annotated[str, Field(json_schema_extra={"enum": [*KINDS]})]


class Sentence(BaseModel):
    """A sentence, the translation to look at (None: the model's own), and the heads that are switched off."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "The cat sleeps."}]})

    text: str
    target: str | None = None
    off: list[Head] = Field([], max_length=1000, description="Heads to switch off; layers and heads count from 1.")


class Overview(Sentence):
    kind: Kind = DEFAULT_KIND


class Layer(Overview):
    layer: int | None = Field(None, description="None: all of them.")
    mean: bool = Field(False, description="One map: the mean over the heads, and layers where all are asked for.")


class OneHead(Overview):
    layer: int = 1
    head: int = 1
    token: int = Field(0, description="The query that is looked at.")


class Search(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "The cat sleeps.", "beam": 3}]})

    text: str
    beam: int = Field(5, ge=1, le=20)
    length_penalty: float = Field(1.0, ge=-10, le=10, allow_inf_nan=False)


class Text(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "One. Two."}]})

    text: str


Target = str | tuple[int, ...] | None  # a translation to look at, or its ids; None: the model's own


Look = Callable[..., Awaitable[AttentionMaps]]  # (text, target=None, off=()) → what is seen


def _look(request: Request, service: Served) -> Look:
    state = request.app.state
    if not hasattr(state, "attention"):
        state.attention = lru_cache(REMEMBERED)(service.translator.attention)

    async def look(text: str, target: Target = None, off: Sequence[Head] = ()) -> AttentionMaps:
        """In the thread that computes."""
        service.check_size([text, target if isinstance(target, str) else ""])
        return await service.queue.run(lambda: state.attention(text, target, tuple(off)))

    return look


Looking = Annotated[Look, Depends(_look)]


def _rounded(values: Tensor) -> Any:
    return torch.round(values.cpu().double(), decimals=DIGITS).tolist()


class Pair(BaseModel):
    """A sentence and its translation, as tokens, and how the model rates it."""

    source: list[str]
    target: list[str]
    translation: str
    log_probs: list[float]
    score: float = Field(description="The mean of the log-probabilities.")


def _pair(seen: AttentionMaps) -> dict[str, Any]:
    return {
        "source": seen.source,
        "target": seen.target,
        "translation": seen.translation,
        "log_probs": [round(value, DIGITS) for value in seen.log_probs],
        "score": round(seen.score, DIGITS),
    }


class Looks(Pair):
    """Which tokens look at which, in one kind of attention."""

    kind: Kind
    queries: list[str]
    keys: list[str]


def _looks(seen: AttentionMaps, kind: Kind) -> dict[str, Any]:
    queries, keys = seen.axes[kind]
    return {**_pair(seen), "kind": kind, "queries": queries, "keys": keys}


class Maps(Looks):
    maps: list[list[list[list[float]]]] = Field(description="[layer][head][query][key]")


@router.post("/attention")
async def attention(asked: Layer, look: Looking) -> Maps:
    """The weights of one layer, or of all."""
    seen = await look(asked.text, asked.target, asked.off)
    maps = seen.of(asked.kind, asked.layer)[None, None] if asked.mean else seen.each(asked.kind, asked.layer)
    return Maps(**_looks(seen, asked.kind), maps=_rounded(maps))


class Pictures(Looks):
    pictures: list[list[str]] = Field(description="[layer][head]: base64, a byte a cell; 255 is a weight of 1.")


@router.post("/overview")
async def overview(asked: Overview, look: Looking) -> Pictures:
    """Every layer and head of a kind as a picture."""
    seen = await look(asked.text, asked.target, asked.off)
    cells = (seen.each(asked.kind) * 255).round().to(torch.uint8).cpu().numpy()
    pictures = [[b64encode(head.tobytes()).decode() for head in layer] for layer in cells]
    return Pictures(**_looks(seen, asked.kind), pictures=pictures)


class Row(BaseModel):
    """One key, as the query meets it."""

    key: list[float]
    score: float = Field(description="q · k, or as the formula says.")
    scaled: float | None = Field(description="q · k / √K; attention before 2017 does not divide.")
    visible: bool = Field(description="False where a mask hides it.")
    weight: float
    value: list[float]


class Numbers(Looks):
    width: int
    formula: str = Field(description="Of the score.")
    query: list[float]
    rows: list[Row]
    output: list[float] = Field(description="The sum of the values by their weights.")


@router.post("/head")
async def head(asked: OneHead, look: Looking, service: Served) -> Numbers:
    """One query of one head in four steps: q · k, ÷ √K, softmax, the weighted sum of the values."""
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
    return Numbers(
        **_looks(seen, asked.kind),
        width=numbers.query.size(0),
        formula=formula(service.translator.models[0], asked.layer) if numbers.scaled is None else "q · k",
        query=_rounded(numbers.query),
        rows=[Row(**dict(zip(columns, row))) for row in zip(*columns.values())],
        output=_rounded(numbers.output),
    )


class Off(BaseModel):
    whole: Pair = Field(description="With all heads.")
    without: Pair = Field(description="As the model writes without those that are off.")
    after: Pair = Field(description="How it then rates the first translation.")


@router.post("/off")
async def off(asked: Sentence, look: Looking) -> Off:
    """What becomes of a translation without some heads."""
    whole = await look(asked.text, asked.target)
    without = await look(asked.text, asked.target, asked.off)
    after = await look(asked.text, whole.ids, asked.off)
    return Off(whole=Pair(**_pair(whole)), without=Pair(**_pair(without)), after=Pair(**_pair(after)))


class Importance(BaseModel):
    target: list[str]
    falls: dict[str, list[list[float]]] = Field(description="By kind: [layer][head]")


@router.post("/importance")
async def importance(asked: Sentence, look: Looking, service: Served) -> Importance:
    """For each head alone: by how much the mean log-probability of the translation falls when it is switched off."""
    ids = (await look(asked.text, asked.target)).ids
    before = await look(asked.text, ids, asked.off)

    def score_without(head: Head) -> float:
        return service.translator.attention(asked.text, ids, [*asked.off, head]).score

    falls: dict[str, list[list[float]]] = {}
    for kind, heads in service.translator.heads.items():
        falls[kind] = [[] for _ in heads]
        for layer, count in enumerate(heads, 1):
            for head in range(1, count + 1):  # one at a time, so that others get their turn
                score = await service.queue.run(partial(score_without, Head(kind, layer, head)))
                falls[kind][layer - 1].append(round(before.score - score, DIGITS))
    return Importance(target=before.target, falls=falls)


@router.post("/search")
async def search(asked: Search, service: Served) -> SearchTree:
    """The tree that beam search grows: every candidate of every step, and the translations it ended with."""
    service.check_size([asked.text])
    translator = service.translator
    return await service.queue.run(
        lambda: translator.search_tree(asked.text, beam=asked.beam, length_penalty=asked.length_penalty)
    )


class Masks(BaseModel):
    source: list[list[str]]
    target: list[list[str]]
    masks: dict[str, list[list[list[int]]]] = Field(description="By kind: [sentence][query][key], 1 or 0")


@router.post("/masks")
async def look_at_masks(asked: Sentence, look: Looking, service: Served) -> Masks:
    """Who may look at whom, where the sentence is read in one batch with a short one."""
    tokeniser = service.translator.tokeniser
    both = await look(asked.text, asked.target), await look(NEIGHBOUR)
    sources = [tokeniser.encode(one.text) for one in both]
    targets = [[tokeniser.special.start, *one.ids[:-1]] for one in both]
    found = await service.queue.run(lambda: masks(service.translator.models[0], sources, targets))
    return Masks(
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
    """Where a word stands in its text, in Unicode characters."""

    start: int
    end: int


class Alignment(BaseModel):
    """How much each word of a translation was written from each word of its text. White space separates words."""

    source: list[WordSpan]
    target: list[WordSpan]
    weights: list[list[float]] = Field(description="[target word][source word]")


@router.post("/align")
async def align(asked: AlignRequest, service: Served) -> Alignment:
    """Align the words of a text and its translation by the attention head chosen for it."""
    service.check_size([asked.text, asked.target])
    translator = service.translator
    source, target = await asyncio.to_thread(translator.tokeniser.encode_all, [asked.text, asked.target])
    if (longest := max(len(source), len(target))) > translator.limit:
        raise WeftError(f"a sentence of {longest} tokens, and this model allows {translator.limit}.")
    weights = await service.queue.run(partial(translator.align, asked.text, target))
    return Alignment(source=_words(asked.text), target=_words(asked.target), weights=_rounded(torch.tensor(weights)))


def _words(text: str) -> list[WordSpan]:
    return [WordSpan(start=match.start(), end=match.end()) for match in re.finditer(r"\S+", text)]


class Piece(BaseModel):
    text: str
    space: str


@router.post("/sentences")
async def sentences(asked: Text, service: Served) -> list[Piece]:
    """A text cut into sentences, each with the white space after it."""
    service.check_size([asked.text])
    return [Piece(text=text, space=space) for text, space in split_sentences(asked.text)]
