"""Several models of different tasks in one service."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.testclient import TestClient as Client

from tests.serving.test_metrics import samples
from weft.serving.app import create_app
from weft.serving.settings import Settings
from weft.tasks.generator import Generator
from weft.tasks.translator import Translator


@pytest.fixture(scope="module")
def three(toy: Translator, lm: Generator) -> Iterator[Client]:
    with TestClient(create_app(toy, others=[lm, toy])) as client:
        yield client


def asked(client: Client, path: str, text: str = "red cat") -> Any:
    answer = client.post(path, json={"text": text})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_each_model_is_below_its_name_and_the_first_at_the_root(three: Client, toy: Translator, lm: Generator) -> None:
    told = three.get("/api/model").json()["models"]
    assert told == [
        {"name": "toy", "task": "translation", "base": ""},
        {"name": "toy-2", "task": "language-model", "base": "models/toy-2/"},
        {"name": "toy-3", "task": "translation", "base": "models/toy-3/"},
    ], "both folders have this name"
    for base in ("", "models/toy/", "models/toy-3/"):
        assert asked(three, f"/{base}api/run")["translation"] == toy.attention("red cat").translation
    assert asked(three, "/models/toy-2/api/run")["translation"] == lm.attention("red cat").translation
    for base in ("", *(one["base"] for one in told)):
        answer = three.get(f"/{base}api/model").json()
        assert answer["models"] == told
        assert three.get(f"/{base}openapi.json").status_code == 200


def test_what_a_model_does_not_have_is_not_there(three: Client) -> None:
    assert three.post("/models/toy-2/api/search", json={"text": "a"}).status_code == 404
    assert three.post("/models/none/api/run", json={"text": "a"}).status_code == 404
    refused = three.post("/models/toy-2/v1/completions", json={"prompt": "a", "n": 0})
    assert refused.json()["error"]["type"] == "invalid_request_error", "in the shape of OpenAI's"
    assert three.get("/models/toy-2/v1/models").json()["data"][0]["id"] == "toy-2"


def test_metrics_are_of_all(three: Client) -> None:
    asked(three, "/models/toy-3/api/run")
    found = samples(three.get("/metrics").text)
    assert found["weft_requests_total route=/models/toy-3/api/run status=200"] >= 1
    assert found["weft_queue_requests"] == 0


def test_the_key_is_asked_for_everywhere(toy: Translator, lm: Generator) -> None:
    with TestClient(create_app(toy, Settings(api_key="geheim"), others=[lm])) as client:
        for base in ("", "models/toy/", "models/toy-2/"):
            assert client.get(f"/{base}api/model").status_code == 403
            headers = {"Authorization": "Bearer geheim"}
            assert client.get(f"/{base}api/model", headers=headers).status_code == 200


def test_one_model_has_no_other_place(client: Client) -> None:
    assert client.get("/models/toy/api/model").status_code == 404
