"""LibreTranslate's API, so that its many clients work with a model of one's own: https://libretranslate.com/docs

Fields come as JSON, as a form or in the query. Fields it does not know are passed over, as LibreTranslate does.
"""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field, PlainValidator, TypeAdapter, ValidationError, WithJsonSchema

from weft.data.languages import language_name, same_language
from weft.decoding import best_first
from weft.errors import WeftError, unknown
from weft.serving import keys
from weft.serving.answers import REFUSALS, UNSAID, looks_like_json, refused, told
from weft.serving.detection import in_source_language
from weft.serving.documents import Document, Html, Text, translated
from weft.serving.keys import Bearer
from weft.serving.service import Served, Service

router = APIRouter(tags=["LibreTranslate"], responses=REFUSALS)
ALTERNATIVES = 10
SURE = 90  # per cent; below, a text is translated: left as it is by mistake it is worth nothing
Model = TypeVar("Model", bound=BaseModel)
TEXTS = {
    "description": "A text or a list of texts.",
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
    "examples": ["How are you?", ["Good morning.", "Good night."]],
}


def _texts(given: Any) -> Any:
    """Said in one sentence, where pydantic would say what it is not of each of the two."""
    if not given or not all(isinstance(text, str) for text in (given if isinstance(given, list) else [given])):
        raise ValueError("is a text or a list of texts, and not empty")
    return given


class Asked(BaseModel):
    q: Annotated[str | list[str], PlainValidator(_texts), WithJsonSchema(TEXTS)]
    source: str = Field(description='A language code, or "auto".', examples=["en"])
    target: str = Field(description="A language code.", examples=["de"])
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(0, ge=0, le=ALTERNATIVES, description="How many other translations to give.")
    api_key: str = ""


class AskedToDetect(BaseModel):
    q: str = Field(min_length=1, examples=["How are you?"])
    api_key: str = ""


class Detected(BaseModel):
    confidence: float = Field(ge=0, le=100)
    language: str


class Translated(BaseModel):
    translatedText: str | list[str]  # noqa: N815 (LibreTranslate's name)
    alternatives: list[str] | list[list[str]] | None = None
    detectedLanguage: Detected | list[Detected] | None = None  # noqa: N815


class Language(BaseModel):
    code: str
    name: str
    targets: list[str]


async def fields(request: Request) -> dict[str, Any]:
    """What was sent, by JSON, or by query and form; a field that is given several times is a list."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return _object(await request.body())
    if looks_like_json(await request.body()):
        raise refused(UNSAID)
    try:
        form = await request.form()
    except UnicodeError:  # a form may name any encoding that Python knows
        raise refused("the form is not in the encoding that it names.") from None
    given: dict[str, list[Any]] = {}
    for name, value in [*request.query_params.multi_items(), *form.multi_items()]:
        given.setdefault(name, []).append(value)
    return {name: some[0] if len(some) == 1 else some for name, some in given.items()}


def _object(body: bytes) -> dict[str, Any]:
    try:
        return TypeAdapter(dict[str, Any]).validate_json(body)
    except ValidationError as error:
        raise refused(told(error.errors())) from None


Fields = Annotated[dict[str, Any], Depends(fields)]


def _body(model: type[BaseModel]) -> dict[str, Any]:
    """How the document describes a body that comes in three forms."""
    schema = model.model_json_schema()
    kinds = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}}


@router.post("/translate", response_model_exclude_none=True, openapi_extra=_body(Asked))
async def translate(given: Fields, bearer: Bearer, service: Served) -> Translated:
    """Translate a text, or each of a list."""
    asked = _read(Asked, given)
    keys.check(service, bearer, asked.api_key)
    texts = asked.q if isinstance(asked.q, list) else [asked.q]
    service.check_size(texts)
    source, target = _direction(asked, service)
    form: Callable[[str], Document] = Html if asked.format == "html" else Text
    documents = await asyncio.to_thread(lambda: [form(text) for text in texts])
    detected: list[Detected] = []
    is_foreign = [source != target] * len(texts)
    if source == "auto":
        detected = await _detect(["\n".join(one.texts) for one in documents], service)
        is_foreign = [one.language != target or one.confidence < SURE for one in detected]
    search = best_first(max(service.settings.beam, asked.alternatives + 1), service.settings.length_penalty)
    foreign = [document for document, is_it in zip(documents, is_foreign) if is_it]
    found = iter(await translated(foreign, search, service, asked.alternatives + 1))
    answers = [next(found) if is_it else [text] for text, is_it in zip(texts, is_foreign)]
    single = isinstance(asked.q, str)
    best, others = [some[0] for some in answers], [some[1:] for some in answers]
    return Translated(
        translatedText=best[0] if single else best,
        alternatives=None if not asked.alternatives else others[0] if single else others,
        detectedLanguage=None if not detected else detected[0] if single else detected,
    )


@router.post("/detect", openapi_extra=_body(AskedToDetect))
async def detect(given: Fields, bearer: Bearer, service: Served) -> list[Detected]:
    """Which of the model's two languages a text is in, the likelier first."""
    asked = _read(AskedToDetect, given)
    keys.check(service, bearer, asked.api_key)
    service.check_size([asked.q])
    [likelier] = await _detect([asked.q], service)
    other = next(code for code in service.codes if code != likelier.language)
    return [likelier, Detected(confidence=round(100 - likelier.confidence, 1), language=other)]


@router.get("/languages")
async def languages(service: Served) -> list[Language]:
    source, target = service.codes
    return [
        Language(code=source, name=language_name(source), targets=[source, target]),
        Language(code=target, name=language_name(target), targets=[target]),
    ]


@router.get("/health")
async def health() -> dict[Literal["status"], Literal["ok"]]:
    return {"status": "ok"}


@router.get("/frontend/settings")
async def frontend_settings(service: Served) -> dict[str, Any]:
    """What LibreTranslate's own page asks for."""
    source, target = ({"code": code, "name": language_name(code)} for code in service.codes)
    return {
        "charLimit": service.settings.characters,
        "frontendTimeout": 500,
        "apiKeys": service.settings.api_key is not None,
        "keyRequired": service.settings.api_key is not None,
        "suggestions": False,
        "filesTranslation": False,
        "supportedFilesFormat": [],
        "language": {"source": source, "target": target},
    }


def _read(model: type[Model], given: dict[str, Any]) -> Model:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise refused(told(error.errors())) from None


def _direction(asked: Asked, service: Service) -> tuple[str, str]:
    """Source and target as the service calls them, if it translates from the one to the other."""
    source = "auto" if asked.source == "auto" else _code(asked.source, service)
    target = _code(asked.target, service)
    if target != service.codes[1] and source != target:
        raise WeftError(f"this model translates from {' to '.join(service.codes)}, and not to {target}.")
    return source, target


def _code(tag: str, service: Service) -> str:
    """What the service calls a language: it may be asked for with its region, or as the model was told it."""
    for code in service.codes:
        if tag.lower() == code.lower() or (same_language(tag, code) and not same_language(*service.codes)):
            return code
    raise WeftError(unknown("language", tag, service.codes))


async def _detect(texts: list[str], service: Service) -> list[Detected]:
    return [
        Detected(confidence=round(100 * max(chance, 1 - chance), 1), language=service.codes[chance < 0.5])
        for chance in await in_source_language(service.queue, texts)
    ]
