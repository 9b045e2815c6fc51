"""Error answers: always {"error": a sentence}, never a path or a traceback; below /v1 in the shape of OpenAI's."""

import re
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as AnyHTTPException

from weft.errors import WeftError, unknown
from weft.serving.queue import Full

JSON_AS_FORM = "the body looks like JSON; set Content-Type: application/json."
INTERNAL = "internal error; see the server's log."
OF_OPENAI = re.compile(r"(/models/[^/]+)?/v1/")  # paths
REPORTED = 20  # errors of one request; a body can have a hundred thousand


class Problem(BaseModel):
    """What every error answer contains."""

    error: str


ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request is invalid; the sentence says why."},
    403: {"model": Problem, "description": "The API key is missing or wrong."},
    408: {"model": Problem, "description": "The body did not arrive in time."},
    413: {"model": Problem, "description": "The body is too large."},
    503: {"model": Problem, "description": "The queue is full; Retry-After says when to try again."},
    504: {"model": Problem, "description": "Timed out."},
}


KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}  # of OpenAI's errors


class OpenAIError(BaseModel):
    """An error as clients of OpenAI read it."""

    message: str
    type: str
    param: str | None = Field(description="The field that is wrong.")
    code: str | None


class OpenAIProblem(BaseModel):
    """What every error answer below /v1 contains."""

    error: OpenAIError


class Refused(Exception):  # noqa: N818
    """A request below /v1 that is not answered, and why."""

    def __init__(self, sentence: str, param: str | None = None, code: str | None = None, status: int = 400):
        super().__init__(sentence)
        self.sentence, self.param, self.code, self.status = sentence, param, code, status


OPENAI_ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"model": OpenAIProblem, "description": ERRORS[403]["description"]},
    404: {"model": OpenAIProblem, "description": "There is no such model."},
    **{status: {**said, "model": OpenAIProblem} for status, said in ERRORS.items() if status != 403},
}


def http_error(sentence: str, status: int = 400) -> HTTPException:
    return HTTPException(status, sentence)


def install(app: FastAPI) -> None:
    """Answer every error of the application with a Problem."""

    @app.exception_handler(WeftError)
    async def mistake(request: Request, error: WeftError) -> JSONResponse:
        return problem(400, str(error), path=request.url.path)

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> JSONResponse:
        return JSONResponse(openai_error(error), error.status)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        is_form = isinstance(error.body, bytes) and looks_like_json(error.body)
        sentence = JSON_AS_FORM if is_form else sentences(error.errors(), _fields(request))
        named = [part for one in error.errors()[:1] for part in one["loc"][1:2] if isinstance(part, str)]
        return problem(400, sentence, path=request.url.path, param=named[0] if named else None)

    @app.exception_handler(AnyHTTPException)
    async def known(request: Request, error: AnyHTTPException) -> JSONResponse:
        sentence = str(error.detail)
        if error.status_code == 404:
            sentence = "not found; see /openapi.json for available routes."
        elif error.status_code == 405:
            sentence = f"method {request.method} is not allowed; use {(error.headers or {}).get('Allow')}."
        return problem(error.status_code, sentence, error.headers, request.url.path)

    @app.exception_handler(Full)
    async def full(request: Request, error: Full) -> JSONResponse:
        sentence = f"queue full; retry in {error.seconds} seconds."
        return problem(503, sentence, {"Retry-After": str(error.seconds)}, request.url.path)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> JSONResponse:  # the server logs it too
        return problem(500, INTERNAL, path=request.url.path)


def problem(status: int, sentence: str, headers: Any = None, path: str = "", param: str | None = None) -> JSONResponse:
    said = openai_error(Refused(sentence, param, status=status)) if OF_OPENAI.match(path) else {"error": sentence}
    return JSONResponse(said, status, headers)


def openai_error(error: Refused) -> dict[str, Any]:
    kind = KINDS.get(error.status, "invalid_request_error" if error.status < 500 else "server_error")
    return {"error": {"message": error.sentence, "type": kind, "param": error.param, "code": error.code}}


def looks_like_json(body: bytes) -> bool:
    """Return whether a body begins like JSON, which no form does."""
    return body.lstrip()[:1] in (b"{", b"[")


def sentences(errors: Sequence[Any], fields: Sequence[str] = ()) -> str:
    """Return pydantic's errors as sentences, without quoting the request."""
    return " ".join(dict.fromkeys(_sentence(error, fields) for error in errors[:REPORTED]))


def _fields(request: Request) -> list[str]:
    """Return the fields that the body of this route may have."""
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
    if error["type"] in ("string_too_short", "string_pattern_mismatch"):  # every text need only be non-empty
        return f"{name} is empty."
    if error["type"] in ("model_type", "model_attributes_type"):
        return f"{name or 'the body'} must be a JSON object."
    said = re.sub("^(Value error,|Input|String|List) ", "", error["msg"])
    return f"{name or 'the body'} {said}."
