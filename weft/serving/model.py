"""The served model, for the page: its plan, blocks and sizes, parameters, and positions."""

import asyncio
import re
from typing import Annotated, Any, Literal

import torch
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, RootModel

from weft.decoding import Beam
from weft.disk import path_inside, read_text
from weft.errors import WeftError
from weft.plans.size import parameters_by_part
from weft.serving.service import Scene, Served, ServedModel, Service
from weft.tasks.alignment import Aligner
from weft.tasks.predictor import Predictor
from weft.tasks.translator import Translator
from weft.viewing.anatomy import Diagram, diagram, position_vectors
from weft.viewing.attention_heads import Head, described
from weft.viewing.attention_maps import Site, sites_of
from weft.viewing.head_scores import HeadScore
from weft.viewing.lens import has_lens

DIGITS = 3  # of a positional encoding
MOST_BYTES = 1_000_000  # of heads.json

router = APIRouter(prefix="/api", tags=["inside"])


class ParameterCount(BaseModel):
    """The parameters of one part of the model."""

    name: str
    count: int


class Example(BaseModel):
    """A text to try the model with, from its card."""

    name: str
    text: str
    note: str | None = Field(description="Such as: too hard for it.")


class RankedHeads(BaseModel):
    """The attention heads, best first."""

    by: str = Field(description="How they were ranked: a sentence.")
    hash: str = Field(description="Of the weights that were measured.")
    heads: list[HeadScore]


class AttentionKind(BaseModel):
    """A kind of attention, and which tokens are its queries and keys."""

    name: str
    label: str
    queries: str = Field(description="source, target, or shifted: the target as the decoder reads it.")
    keys: str
    query_title: str = Field(description="What to write above the queries.")
    key_title: str


class HeadCounts(BaseModel):
    """The layers and heads of one kind of attention."""

    layers: int
    heads: int = Field(description="The maximum of a layer.")
    each: list[int] = Field(description="By layer.")


class ModelAnswer(BaseModel):
    name: str
    task: str
    reads: Literal["text"] = Field(serialization_alias="in")
    writes: Literal["text"] = Field(serialization_alias="out")
    traces: list[str] = Field(description="What can be seen of the model; a view of the page names what it needs.")
    sites: list[Site] = Field(description="Where something can be seen, in the order of computing.")
    kinds: list[AttentionKind] = Field(description="The kinds of attention that this model has.")
    languages: list[str] = Field(description="Of the source and the target; none if the model does not translate.")
    examples: list[Example] = Field(description="Texts to begin with.")
    heads_ranked: RankedHeads | None = Field(description="The heads by what they matter, if that was measured.")
    hash: str = Field(description="The first digits of the SHA-256 of the weights.")
    command: str = Field(description="What serves this model.")
    models: list[ServedModel] = Field(description="All that are served here.")
    scenes: list[Scene] = Field(description="Of a lecture, in their order.")
    plan: dict[str, Any] = Field(description="As `weft show` prints it.")
    parameters: int
    parts: list[ParameterCount] = Field(description="Where the parameters are.")
    diagram: Diagram
    heads: dict[str, HeadCounts] = Field(description="By kind of attention.")
    aligner: Aligner | None = Field(description="The attention head that aligns words; null without such attention.")
    search: Beam | None = Field(description="The default search, if the model has one.")
    limit: int | None = Field(description="Maximum tokens of a text; null: any number.")
    card: str | None = Field(description="The README of the model.")


@router.get("/model")
async def model(service: Served) -> ModelAnswer:
    """Describe the model: its plan, its blocks and sizes, its parameters by part."""
    predictor = service.predictor
    first = predictor.models[0]
    translator = predictor if isinstance(predictor, Translator) else None
    counts = parameters_by_part(first)
    return ModelAnswer(
        name=service.name,
        task=service.plan.task.name,
        reads="text",
        writes="text",
        traces=_traces(predictor),
        sites=sites_of(first),
        kinds=[
            AttentionKind(**kind)
            for kind in described((kind for kind, each in predictor.heads.items() if each), len(first.sides))
        ],
        languages=list(service.languages or ()),
        examples=examples(service.card) or [Example(name="Example", text=predictor.example, note=None)],
        heads_ranked=await asyncio.to_thread(_ranked, service),
        hash=await asyncio.to_thread(lambda: predictor.hash),
        command=f"weft serve {predictor.name}",
        models=list(service.models),
        scenes=list(service.scenes),
        plan=service.plan.to_dict(),
        parameters=sum(counts.values()),
        parts=[ParameterCount(name=name, count=count) for name, count in counts.items()],
        diagram=diagram(first),
        heads={
            kind: HeadCounts(layers=len(each), heads=max(each, default=0), each=list(each))
            for kind, each in predictor.heads.items()
        },
        aligner=translator.aligner if translator and translator.heads["cross"] else None,
        search=Beam() if translator else None,
        limit=predictor.limit,
        card=service.card,
    )


def _traces(predictor: Predictor) -> list[str]:
    """What can be seen of the model: some by its task, some by its parts."""
    model = predictor.models[0]
    heads = ("attention", "numbers", "importance", "masks") if any(map(any, predictor.heads.values())) else ()
    has_positions = any(position_vectors(side.frontend, 2).any() for side in model.sides.values())
    return [*predictor.traces, *heads, *["positions"] * has_positions, *["lens"] * has_lens(model)]


def examples(card: str | None) -> list[Example]:
    """The list items below the heading "Examples" of a card: `- name: text`, perhaps with `(too hard for it)`."""
    section = re.search(r"^## Examples *$(.*?)(^#|\Z)", card or "", re.MULTILINE | re.DOTALL)
    item = re.compile(r"^[-*] ([^:\n]+): (.+?)(?: \((too hard for it)\))? *$", re.MULTILINE)
    items = item.findall(section[1] if section else "")
    return [Example(name=name, text=text, note=note or None) for name, text, note in items]


def _ranked(service: Service) -> RankedHeads | None:
    """What `weft attend --heads` measured, if the file is there and fits the model."""
    try:
        text = read_text(path_inside(service.predictor.folders[0].path, "heads.json"), MOST_BYTES)
        found = RankedHeads.model_validate_json(text)
        service.predictor.existing(Head(one.kind, one.layer, one.head) for one in found.heads)
    except (OSError, ValueError, WeftError):
        return None
    return found if found.hash == service.predictor.hash else None  # else it is of other weights


class Positions(RootModel[dict[str, list[list[float]]]]):
    """The positional encodings of each side of the model: (length, width)."""


@router.get("/positions")
async def positions(service: Served, length: Annotated[int, Query(ge=1, le=512)] = 64) -> Positions:
    """Return the positional encodings, (length, width) of each side of the model."""
    first = service.predictor.models[0]

    def found() -> Positions:
        each = {name: position_vectors(side.frontend, length) for name, side in first.sides.items()}
        return Positions(
            {name: torch.round(vectors.cpu().double(), decimals=DIGITS).tolist() for name, vectors in each.items()}
        )

    return await service.queue.run(found)
