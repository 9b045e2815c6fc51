"""What is answered when there is nothing good to answer: always {"error": a sentence}, never a path or a traceback."""

import re
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException as AnyHTTPException

from weft.errors import WeftError, unknown
from weft.serving.queue import Full

UNSAID = "the body looks like JSON: that is said with the header Content-Type: application/json."
TOLD = 20  # mistakes of one request; a body can hold a hundred thousand


class Problem(BaseModel):
    error: str


REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "What was asked for is not possible; the sentence says why."},
    403: {"model": Problem, "description": "The API key is missing or wrong."},
    408: {"model": Problem, "description": "The body came too slowly."},
    413: {"model": Problem, "description": "The body is too large."},
    503: {"model": Problem, "description": "Too many are waiting; Retry-After says when to come again."},
    504: {"model": Problem, "description": "It took too long."},
}


def refused(sentence: str, status: int = 400) -> HTTPException:
    return HTTPException(status, sentence)


def install(app: FastAPI) -> None:
    """Every error of the application becomes a Problem."""

    @app.exception_handler(WeftError)
    async def mistake(request: Request, error: WeftError) -> JSONResponse:
        return problem(400, str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        is_unsaid = isinstance(error.body, bytes) and looks_like_json(error.body)
        return problem(400, UNSAID if is_unsaid else told(error.errors(), _fields(request)))

    @app.exception_handler(AnyHTTPException)
    async def known(request: Request, error: AnyHTTPException) -> JSONResponse:
        sentence = str(error.detail)
        if error.status_code == 404:
            sentence = "there is nothing at this address; /openapi.json says what there is."
        elif error.status_code == 405:
            sentence = f"{request.method} is not possible here, but {(error.headers or {}).get('Allow')} is."
        return problem(error.status_code, sentence, error.headers)

    @app.exception_handler(Full)
    async def full(request: Request, error: Full) -> JSONResponse:
        sentence = f"too many requests are waiting; come again in {error.seconds} seconds."
        return problem(503, sentence, {"Retry-After": str(error.seconds)})

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> JSONResponse:  # the server logs it besides
        return problem(500, "something went wrong here; the server's log says what.")


def problem(status: int, sentence: str, headers: Any = None) -> JSONResponse:
    return JSONResponse({"error": sentence}, status, headers)


def looks_like_json(body: bytes) -> bool:
    """Which neither a form nor a field of one does."""
    return body.lstrip()[:1] in (b"{", b"[")


def told(errors: Sequence[Any], fields: Sequence[str] = ()) -> str:
    """What pydantic found, as sentences: the first of it at once, and nothing of what was sent."""
    return " ".join(dict.fromkeys(_sentence(error, fields) for error in errors[:TOLD]))


def _fields(request: Request) -> list[str]:
    """What the body of this route may hold."""
    body = getattr(request.scope.get("route"), "body_field", None)
    return list(getattr(body and body.field_info.annotation, "model_fields", {}))


def _sentence(error: Any, fields: Sequence[str]) -> str:
    where = list(error["loc"])
    if where[:1] in (["body"], ["query"], ["path"]):  # where in the request
        del where[0]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where).lstrip(".")
    if error["type"] == "extra_forbidden":
        return unknown("field", name, fields) if len(where) == 1 and fields else f"there is no field {name!r}."
    if error["type"] == "json_invalid":
        return f"the body is not JSON: {error['ctx']['error']}."
    if error["type"] == "missing":
        return f"{name or 'the body'} is missing."
    if error["type"] in ("string_too_short", "string_pattern_mismatch"):  # no text need be more than something
        return f"{name} is empty."
    if error["type"] in ("model_type", "model_attributes_type"):
        return f"{name or 'the body'} should be an object in JSON."
    said = re.sub("^(Value error,|Input|String|List) ", "", error["msg"])
    return f"{name or 'the body'} {said}."
