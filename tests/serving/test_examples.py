"""The OpenAPI document shows an answer of each route and says its type, and both are such as the route gives."""

from datetime import timedelta
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from httpx2 import Response
from starlette.testclient import TestClient

from tests.lm import toy_generator
from tests.serving.examples import GENERATE, TRANSLATE, answers, short
from weft.serving.app import create_app
from weft.tasks import load
from weft.tasks.translator import Translator


@pytest.fixture(scope="module")
def app(shipped: Translator) -> FastAPI:
    return create_app(shipped)


@pytest.fixture(scope="module")
def true(app: FastAPI) -> dict[str, Response]:
    with TestClient(app) as client:
        return answers(client)


@pytest.fixture(scope="module")
def chatting(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """A language model with a chat template."""
    folder = toy_generator(tmp_path_factory.mktemp("lm") / "toy", chat_template="{{ messages[0].content }}")
    return create_app(load(folder.path))


def examples(app: FastAPI) -> dict[str, Any]:
    return {
        path: operation["responses"]["200"]["content"].get("application/json", {}).get("example")
        for path, methods in app.openapi()["paths"].items()
        for operation in methods.values()
    }


def shape(value: Any) -> Any:
    """Without the numbers, of which another machine may have other last digits."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return float if isinstance(value, int | float) else value


def test_openapi_examples_match_real_answers(app: FastAPI, true: dict[str, Response]) -> None:
    shown = examples(app)
    assert {path for path, one in shown.items() if one is None} == {"/health", "/metrics"}
    for path, one in true.items():
        assert shape(shown[path]) == shape(short(one.json())), path


def test_answers_match_their_openapi_schema(app: FastAPI, true: dict[str, Response]) -> None:
    api = schemathesis.openapi.from_dict(app.openapi())
    for path, answer in true.items():
        api[path]["POST" if TRANSLATE[path] else "GET"].validate_response(answer)


def test_examples_and_answers_of_a_language_model_match_their_schema(chatting: FastAPI) -> None:
    api, shown = schemathesis.openapi.from_dict(chatting.openapi()), examples(chatting)
    assert {path for path, one in shown.items() if one is None} == {"/metrics"}
    with TestClient(chatting) as client:
        for path, answer in answers(client).items():
            operation = api[path]["POST" if GENERATE[path] else "GET"]
            operation.validate_response(answer)
            changed = Response(200, json=shown[path], request=answer.request)
            changed.elapsed = timedelta()
            operation.validate_response(changed)


def test_every_field_but_the_plan_has_a_type(app: FastAPI) -> None:
    document = app.openapi()
    for path, methods in document["paths"].items():
        for operation in methods.values() if path.startswith("/api/") else ():
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            assert "$ref" in schema.get("items", schema), path
    untyped = {
        f"{name}.{field}"
        for name, one in document["components"]["schemas"].items()
        for field, schema in one.get("properties", {}).items()
        if not {"type", "$ref", "anyOf"} & set(schema) or schema.get("additionalProperties") is True
    }
    assert untyped == {"ModelAnswer.plan"}
