"""The OpenAPI document shows an answer of each route and says its type, and both are such as the route gives."""

from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from httpx2 import Response
from starlette.testclient import TestClient

from tests.serving.examples import ASKED, answers, short
from weft.serving.app import create_app
from weft.tasks.translator import Translator


@pytest.fixture(scope="module")
def app(shipped: Translator) -> FastAPI:
    return create_app(shipped)


@pytest.fixture(scope="module")
def true(app: FastAPI) -> dict[str, Response]:
    with TestClient(app) as client:
        return answers(client)


def shape(value: Any) -> Any:
    """Without the numbers, of which another machine may have other last digits."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return float if isinstance(value, int | float) else value


def test_openapi_examples_match_real_answers(app: FastAPI, true: dict[str, Response]) -> None:
    shown = {
        path: operation["responses"]["200"]["content"].get("application/json", {}).get("example")
        for path, methods in app.openapi()["paths"].items()
        for operation in methods.values()
    }
    assert {path for path, one in shown.items() if one is None} == {"/health", "/metrics"}
    for path, one in true.items():
        assert shape(shown[path]) == shape(short(one.json())), path


def test_answers_match_their_openapi_schema(app: FastAPI, true: dict[str, Response]) -> None:
    api = schemathesis.openapi.from_dict(app.openapi())
    for path, answer in true.items():
        api[path]["POST" if ASKED[path] else "GET"].validate_response(answer)


def test_every_field_but_the_plan_has_a_type(app: FastAPI) -> None:
    document = app.openapi()
    for path, methods in document["paths"].items():
        for operation in methods.values() if path.startswith("/api/") else ():
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            assert "$ref" in schema.get("items", schema), path
    untyped = {
        f"{name}.{field}"
        for name, one in document["components"]["schemas"].items()
        for field, schema in one["properties"].items()
        if not {"type", "$ref", "anyOf"} & set(schema) or schema.get("additionalProperties") is True
    }
    assert untyped == {"ModelAnswer.plan"}
