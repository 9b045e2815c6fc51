"""The OpenAPI document shows an answer for each route, and it is such as the route gives."""

from typing import Any

from starlette.testclient import TestClient

from tests.serving.examples import answers
from weft.serving.app import create_app
from weft.translator import Translator


def shape(value: Any) -> Any:
    """Without the numbers, of which another machine may have other last digits."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return float if isinstance(value, int | float) else value


def test_every_answer_has_an_example_and_it_is_true(shipped: Translator) -> None:
    with TestClient(create_app(shipped)) as client:
        paths, true = client.get("/openapi.json").json()["paths"], answers(client)
    shown = {
        path: operation["responses"]["200"]["content"].get("application/json", {}).get("example")
        for path, methods in paths.items()
        for operation in methods.values()
    }
    assert {path for path, one in shown.items() if one is None} == {"/health", "/metrics"}
    for path, one in true.items():
        assert shape(shown[path]) == shape(one), path
