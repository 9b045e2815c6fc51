"""Looking inside, for the page: attention, one head by the numbers, the search, heads switched off, the model itself.

Layers and heads are counted from 1, tokens from 0. Only what is looked at is sent: one kind and one layer of attention
as numbers, or all heads as small pictures of a byte a cell. What was seen of the last few sentences is remembered, so
that another layer or head of the same sentence costs nothing.
"""

from base64 import b64encode
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal

import torch
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from weft.models.sequence_to_sequence import START
from weft.plans.cost import parameters_by_part
from weft.serving.service import Served
from weft.text.sentences import split_sentences
from weft.translator import Translator
from weft.viewing.anatomy import diagram, masks, position_vectors
from weft.viewing.attention import Attention
from weft.viewing.heads import KINDS, Head

REMEMBERED = 8  # sentences; a long one in a large model is some 20 MB
DIGITS = 4  # of a weight
NEIGHBOUR = "Thank you."  # a short sentence beside the one that is looked at, so that there is padding to be seen

router = APIRouter(prefix="/api", tags=["inside"])
Kind = Literal["encoder", "decoder", "cross"]


class Sentence(BaseModel):
    """A sentence, the translation to look at (None: the model's own), and the heads that are switched off."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "The cat sleeps."}]})

    text: str
    target: str | None = None
    off: list[Head] = Field([], max_length=1000, description="Heads to switch off; layers and heads count from 1.")


class Layer(Sentence):
    kind: Kind = "cross"
    layer: int | None = None  # None: all of them
    mean: bool = False  # one map, the mean over the heads (and layers, where all are asked for)


class Overview(Sentence):
    kind: Kind = "cross"


class OneHead(Sentence):
    kind: Kind = "cross"
    layer: int = 1
    head: int = 1
    token: int = 0  # the query that is looked at


class Search(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "The cat sleeps.", "beam": 3}]})

    text: str
    beam: int = Field(5, ge=1, le=20)
    length_penalty: float = Field(1.0, ge=-10, le=10, allow_inf_nan=False)


class Text(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "One. Two."}]})

    text: str


Target = str | tuple[int, ...] | None  # a translation to look at, or its ids; None: the model's own


class Memory:
    """The last few sentences that were looked at."""

    def __init__(self, translator: Translator):
        self.translator = translator
        self.seen: OrderedDict[tuple[str, Target, tuple[Head, ...]], Attention] = OrderedDict()

    def attention(self, text: str, target: Target, off: tuple[Head, ...]) -> Attention:
        key = (text, target, off)
        if key not in self.seen:
            self.seen[key] = self.translator.attention(*key)
        self.seen.move_to_end(key)
        while len(self.seen) > REMEMBERED:
            self.seen.popitem(last=False)
        return self.seen[key]


Look = Callable[..., Awaitable[Attention]]  # (text, target=None, off=None) → what is seen


def _look(request: Request, service: Served) -> Look:
    state = request.app.state
    if not hasattr(state, "memory"):
        state.memory = Memory(service.translator)

    async def look(text: str, target: Target = None, off: list[Head] | None = None) -> Attention:
        """In the thread that computes."""
        service.check_size([text, target if isinstance(target, str) else ""])
        return await service.queue.run(lambda: state.memory.attention(text, target, tuple(off or ())))

    return look


Looking = Annotated[Look, Depends(_look)]


def _rounded(values: Tensor, digits: int = DIGITS) -> Any:
    return torch.round(values.double(), decimals=digits).tolist()


def _pair(seen: Attention) -> dict[str, Any]:
    return {
        "source": seen.source,
        "target": seen.target,
        "translation": seen.translation,
        "log_probs": [round(value, DIGITS) for value in seen.log_probs],
        "score": round(seen.score, DIGITS),
    }


@router.post("/attention")
async def attention(asked: Layer, look: Looking) -> dict[str, Any]:
    """The weights of one layer, or of all: maps[layer][head][query][key]."""
    seen = await look(asked.text, asked.target, asked.off)
    maps = seen.of(asked.kind, asked.layer)[None, None] if asked.mean else seen.each(asked.kind, asked.layer)
    queries, keys = seen.tokens(asked.kind)
    return {**_pair(seen), "kind": asked.kind, "queries": queries, "keys": keys, "maps": _rounded(maps)}


@router.post("/overview")
async def overview(asked: Overview, look: Looking) -> dict[str, Any]:
    """Every layer and head of a kind as a picture: pictures[layer][head] is base64, a byte (255: weight 1) a cell."""
    seen = await look(asked.text, asked.target, asked.off)
    queries, keys = seen.tokens(asked.kind)
    cells = (seen.each(asked.kind) * 255).round().to(torch.uint8).cpu().numpy()
    pictures = [[b64encode(head.tobytes()).decode() for head in layer] for layer in cells]
    return {**_pair(seen), "kind": asked.kind, "queries": queries, "keys": keys, "pictures": pictures}


@router.post("/head")
async def head(asked: OneHead, look: Looking) -> dict[str, Any]:
    """One query of one head in four steps: q · k, ÷ √K, softmax, the weighted sum of the values."""
    seen = await look(asked.text, asked.target, asked.off)
    numbers = seen.numbers(asked.kind, asked.layer, asked.head, asked.token)
    queries, keys = seen.tokens(asked.kind)
    return {
        **_pair(seen),
        "queries": queries,
        "keys": keys,
        "width": numbers.query.size(0),
        "query": _rounded(numbers.query),
        "rows": [
            {"key": key, "dot": dot, "scaled": scaled, "visible": visible, "weight": weight, "value": value}
            for key, dot, scaled, visible, weight, value in zip(
                _rounded(numbers.keys),
                _rounded(numbers.dots),
                _rounded(numbers.scaled),
                numbers.visible.tolist(),
                _rounded(numbers.weights),
                _rounded(numbers.values),
            )
        ],
        "output": _rounded(numbers.output),
    }


@router.post("/off")
async def off(asked: Sentence, look: Looking) -> dict[str, Any]:
    """What becomes of a translation without some heads: `whole` with all of them, `without` as the model then writes,
    and how it then rates the first translation: `after`."""
    whole = await look(asked.text, asked.target)
    without = await look(asked.text, asked.target, asked.off)
    after = await look(asked.text, whole.ids, asked.off)
    return {"whole": _pair(whole), "without": _pair(without), "after": _pair(after)}


@router.post("/importance")
async def importance(asked: Sentence, look: Looking, service: Served) -> dict[str, Any]:
    """For each head alone: by how much the mean log-probability of the translation falls when it is switched off."""
    ids = (await look(asked.text, asked.target)).ids
    before = await look(asked.text, ids, asked.off)

    def score_without(head: Head) -> float:
        return service.translator.attention(asked.text, ids, [*asked.off, head]).score

    falls: dict[str, list[list[float]]] = {}
    for kind, (layers, heads) in service.translator.heads.items():
        falls[kind] = [[0.0] * heads for _ in range(layers)]
        for layer in range(layers):
            for head in range(heads):  # one at a time, so that others get their turn
                score = await service.queue.run(partial(score_without, Head(kind, layer + 1, head + 1)))
                falls[kind][layer][head] = round(before.score - score, DIGITS)
    return {"target": before.target, "falls": falls}


@router.post("/search")
async def search(asked: Search, service: Served) -> dict[str, Any]:
    """The tree that beam search grows: every candidate of every step, and the translations it ended with."""
    service.check_size([asked.text])
    translator = service.translator
    tree = await service.queue.run(
        lambda: translator.search_tree(asked.text, beam=asked.beam, length_penalty=asked.length_penalty)
    )
    return asdict(tree)


@router.post("/masks")
async def look_at_masks(asked: Sentence, look: Looking, service: Served) -> dict[str, Any]:
    """Who may look at whom, where the sentence is read in one batch with a short one: kind → [sentence][query][key]."""
    tokeniser = service.translator.tokeniser
    both = await look(asked.text, asked.target), await look(NEIGHBOUR)
    sources = [tokeniser.encode(one.text) for one in both]
    targets = [[START, *one.ids[:-1]] for one in both]
    found = await service.queue.run(lambda: masks(service.translator.models[0], sources, targets))
    return {
        "source": [tokeniser.readable(ids) for ids in sources],
        "target": [tokeniser.readable(ids) for ids in targets],
        "masks": {kind: mask.int().tolist() for kind, mask in found.items()},
    }


@router.post("/sentences")
async def sentences(asked: Text, service: Served) -> list[dict[str, str]]:
    """A text cut into sentences, each with the white space after it."""
    service.check_size([asked.text])
    return [{"text": text, "space": space} for text, space in split_sentences(asked.text)]


@router.get("/model")
async def model(service: Served) -> dict[str, Any]:
    """What is served: its plan, its blocks and sizes, its parameters by part."""
    translator = service.translator
    first, folder = translator.models[0], translator.folders[0]
    counts = parameters_by_part(first)
    card = folder.path / "README.md"
    return {
        "name": service.name,
        "languages": list(service.languages),
        "plan": folder.plan().plain(),
        "parameters": sum(counts.values()),
        "parts": [{"name": name, "count": count} for name, count in counts.items()],
        "diagram": diagram(first),
        "heads": {kind: {"layers": translator.heads[kind][0], "heads": translator.heads[kind][1]} for kind in KINDS},
        "limit": translator.limit,
        "card": card.read_text(encoding="utf-8") if card.is_file() else None,
    }


@router.get("/positions")
async def positions(service: Served, length: Annotated[int, Query(ge=1, le=512)] = 64) -> dict[str, Any]:
    """What each position brings to a token, (length, width) of the encoder and of the decoder."""
    first = service.translator.models[0]
    ends = {"encoder": first.source, "decoder": first.target}
    found = await service.queue.run(lambda: {side: position_vectors(end, length) for side, end in ends.items()})
    return {side: _rounded(vectors, 3) for side, vectors in found.items()}
