"""The served model, for the page: its plan, blocks and sizes, parameters, and positions."""

from typing import Annotated, Any

import torch
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, RootModel

from weft.decoding import Beam
from weft.plans.size import parameters_by_part
from weft.serving.service import Served
from weft.tasks.alignment import Aligner
from weft.tasks.translator import Translator
from weft.viewing.anatomy import Diagram, diagram, position_vectors
from weft.viewing.attention_heads import described

DIGITS = 3  # of a positional encoding

router = APIRouter(prefix="/api", tags=["inside"])


class ParameterCount(BaseModel):
    """The parameters of one part of the model."""

    name: str
    count: int


class View(BaseModel):
    """A view of the page: static/NAME.js draws it."""

    name: str
    label: str


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
    views: list[View] = Field(description="Of the page, in their order.")
    kinds: list[AttentionKind] = Field(description="The kinds of attention that this model has.")
    languages: list[str] = Field(description="Of the source and the target; none if the model does not translate.")
    example: str = Field(description="A text to begin with.")
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
        views=[View(name=name, label=label) for name, label in predictor.views.items()],
        kinds=[
            AttentionKind(**kind)
            for kind in described((kind for kind, each in predictor.heads.items() if each), len(first.sides))
        ],
        languages=list(service.languages or ()),
        example=predictor.example,
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
