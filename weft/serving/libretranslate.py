"""LibreTranslate's API, so that its clients work with any weft model: https://libretranslate.com/docs

Fields are sent as JSON, as a form or in the query. Unknown fields are ignored, as LibreTranslate does.
"""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field, PlainValidator, TypeAdapter, ValidationError, WithJsonSchema

from weft.data.languages import language_name, same_language
from weft.errors import WeftError, unknown
from weft.serving import keys
from weft.serving.answers import ERRORS, JSON_AS_FORM, http_error, looks_like_json, sentences
from weft.serving.detection import in_source_language
from weft.serving.documents import Document, HtmlDocument, TextDocument, translated
from weft.serving.keys import Bearer
from weft.serving.service import Served, Service

router = APIRouter(tags=["LibreTranslate"], responses=ERRORS)
ALTERNATIVES = 10
SURE = 90  # per cent; below, a text is translated, because one left untranslated by mistake is useless
Model = TypeVar("Model", bound=BaseModel)
TEXTS = {
    "description": "A text or a list of texts.",
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
    "examples": ["How are you?", ["Good morning.", "Good night."]],
}


def _texts(given: Any) -> Any:
    """Validate `q` with one message, where pydantic would give one for each of the two types."""
    if not given or not all(isinstance(text, str) for text in (given if isinstance(given, list) else [given])):
        raise ValueError("must be a non-empty text or list of texts")
    return given


class LibreTranslateRequest(BaseModel):
    q: Annotated[str | list[str], PlainValidator(_texts), WithJsonSchema(TEXTS)]
    source: str = Field(description='A language code, or "auto".', examples=["en"])
    target: str = Field(description="A language code.", examples=["de"])
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(0, ge=0, le=ALTERNATIVES, description="Number of alternative translations.")
    api_key: str = ""


class DetectRequest(BaseModel):
    q: str = Field(min_length=1, examples=["How are you?"])
    api_key: str = ""


class Detected(BaseModel):
    confidence: float = Field(ge=0, le=100)
    language: str


class LibreTranslateAnswer(BaseModel):
    translatedText: str | list[str]  # noqa: N815 (LibreTranslate's name)
    alternatives: list[str] | list[list[str]] | None = None
    detectedLanguage: Detected | list[Detected] | None = None  # noqa: N815


class Language(BaseModel):
    code: str
    name: str
    targets: list[str]


async def fields(request: Request) -> dict[str, Any]:
    """Read the fields of a request, from JSON or from query and form; a repeated field becomes a list."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return _object(await request.body())
    if looks_like_json(await request.body()):
        raise http_error(JSON_AS_FORM)
    try:
        form = await request.form()
    except UnicodeError:  # a form may name any encoding that Python knows
        raise http_error("the form is not in its declared encoding.") from None
    given: dict[str, list[Any]] = {}
    for name, value in [*request.query_params.multi_items(), *form.multi_items()]:
        given.setdefault(name, []).append(value)
    return {name: some[0] if len(some) == 1 else some for name, some in given.items()}


def _object(body: bytes) -> dict[str, Any]:
    try:
        return TypeAdapter(dict[str, Any]).validate_json(body)
    except ValidationError as error:
        raise http_error(sentences(error.errors())) from None


Fields = Annotated[dict[str, Any], Depends(fields)]


def _body(model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI description of a body that has three forms."""
    schema = model.model_json_schema()
    kinds = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}}


@router.post("/translate", response_model_exclude_none=True, openapi_extra=_body(LibreTranslateRequest))
async def translate(given: Fields, bearer: Bearer, service: Served) -> LibreTranslateAnswer:
    """Translate a text or a list of texts."""
    asked = _read(LibreTranslateRequest, given)
    keys.check(service, bearer, asked.api_key)
    texts = asked.q if isinstance(asked.q, list) else [asked.q]
    service.check_size(texts)
    source, target = _direction(asked, service)
    form: Callable[[str], Document] = HtmlDocument if asked.format == "html" else TextDocument
    documents = await asyncio.to_thread(lambda: [form(text) for text in texts])
    detected: list[Detected] = []
    is_foreign = [source != target] * len(texts)
    if source == "auto":
        detected = await _detect(["\n".join(one.texts) for one in documents], service)
        is_foreign = [one.language != target or one.confidence < SURE for one in detected]
    foreign = [document for document, is_it in zip(documents, is_foreign) if is_it]
    found = iter(await translated(foreign, service.search(asked.alternatives + 1), service, asked.alternatives + 1))
    answers = [next(found) if is_it else [text] for text, is_it in zip(texts, is_foreign)]
    single = isinstance(asked.q, str)
    best, others = [some[0] for some in answers], [some[1:] for some in answers]
    return LibreTranslateAnswer(
        translatedText=best[0] if single else best,
        alternatives=None if not asked.alternatives else others[0] if single else others,
        detectedLanguage=None if not detected else detected[0] if single else detected,
    )


@router.post("/detect", openapi_extra=_body(DetectRequest))
async def detect(given: Fields, bearer: Bearer, service: Served) -> list[Detected]:
    """Detect which of the model's two languages a text is in, the likelier first."""
    asked = _read(DetectRequest, given)
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
    """Return the settings that LibreTranslate's own page asks for."""
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
        raise http_error(sentences(error.errors())) from None


def _direction(asked: LibreTranslateRequest, service: Service) -> tuple[str, str]:
    """Return the service's codes of source and target, if the model translates between them."""
    source = "auto" if asked.source == "auto" else _code(asked.source, service)
    target = _code(asked.target, service)
    if target != service.codes[1] and source != target:
        raise WeftError(f"this model translates from {' to '.join(service.codes)}, not to {target}.")
    return source, target


def _code(tag: str, service: Service) -> str:
    """Return the service's code of a language, which a request may give with its region."""
    for code in service.codes:
        if tag.lower() == code.lower() or (same_language(tag, code) and not same_language(*service.codes)):
            return code
    raise WeftError(unknown("language", tag, service.codes))


async def _detect(texts: list[str], service: Service) -> list[Detected]:
    return [
        Detected(confidence=round(100 * max(chance, 1 - chance), 1), language=service.codes[chance < 0.5])
        for chance in await in_source_language(service.queue, texts)
    ]
