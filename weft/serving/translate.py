"""POST /api/translate: weft's own way to ask for a translation, with everything the search knows."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from weft.decoding import best_first
from weft.serving.service import Served
from weft.translator import joined, texts_of
from weft.viewing.heads import Head, Without

router = APIRouter(prefix="/api")


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str
    beam: int = Field(5, ge=1, le=20)
    nbest: int = Field(1, ge=1, le=20)
    length_penalty: float = 1.0
    off: list[Head] = []


@router.post("/translate")
async def translate(asked: Asked, service: Served) -> dict[str, Any]:
    search = best_first(asked.beam, asked.length_penalty)
    if asked.off:
        search = Without(search, tuple(asked.off))
    pieces = service.translator.cut(asked.text, "the text", split=True)
    found = await service.queue.search(texts_of(pieces), search)
    translations = joined(pieces, found)[: asked.nbest]
    return {
        "translation": translations[0].text,
        "translations": [one.plain() for one in translations],
        "alignment": None,
        "glossary": {"kept": [], "failed": []},
    }
