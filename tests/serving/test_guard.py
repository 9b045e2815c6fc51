"""Limits of size and time, clients that hang up, and answers that give nothing away."""

import asyncio
import time
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.types import Message, Receive

from weft.serving.app import create_app
from weft.serving.guard import INCOMING
from weft.serving.queue import Full
from weft.serving.service import Service
from weft.serving.settings import Settings
from weft.tasks.translator import Translator


def disconnected(service: Service) -> float | None:
    labels = {"route": "/api/attention", "status": "499"}
    return service.metrics.registry.get_sample_value("weft_requests_total", labels)


def test_a_body_that_is_too_large(toy: Translator) -> None:
    with TestClient(create_app(toy, Settings(body=1000))) as client:
        answer = client.post("/api/translate", json={"text": "x" * 5000})
        assert (answer.status_code, answer.json()) == (413, {"error": "the body is larger than 1,000 bytes."})
        assert client.post("/api/translate", json={"text": "red"}).status_code == 200


async def received(app: Any, *messages: Message) -> list[Message]:
    """What is sent when these come and then nothing more."""
    coming = iter(messages)

    async def receive() -> Message:
        return next(coming, None) or await asyncio.sleep(60, {})

    return await posted(app, receive)


async def posted(app: Any, receive: Receive) -> list[Message]:
    """What is sent to whoever posts so."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/api/attention", "headers": headers, "query_string": b""}
    await asyncio.wait_for(app(scope, receive, send), 30)
    return sent


def test_a_body_that_is_too_slow(toy: Translator) -> None:
    app = create_app(toy, Settings(timeout=0.3))
    part = {"type": "http.request", "body": b'{"text": ', "more_body": True}
    start, body = asyncio.run(received(app, part))
    assert (start["status"], body["body"]) == (408, b'{"error":"the body did not arrive within 0.3 seconds."}')


def test_an_incomplete_body_is_not_processed(toy: Translator) -> None:
    app = create_app(toy)
    whole = {"type": "http.request", "body": b'{"text": "red"}', "more_body": True}
    assert asyncio.run(received(app, whole, {"type": "http.disconnect"})) == []
    assert disconnected(app.state.service) == 1


def test_many_slow_bodies_do_not_fill_the_memory(toy: Translator) -> None:
    app = create_app(toy, Settings(timeout=1.0, body=100))
    part = {"type": "http.request", "body": bytes(100), "more_body": True}

    async def run() -> list[list[Message]]:
        return await asyncio.gather(*(received(app, part) for _ in range(INCOMING + 5)))

    assert sorted(start["status"] for start, _ in asyncio.run(run())) == [408] * INCOMING + [503] * 5


def test_a_slow_answer_times_out(toy: Translator) -> None:
    app = create_app(toy, Settings(timeout=0.3))
    with TestClient(app) as client:
        app.state.service.queue.run = lambda function: asyncio.sleep(60)
        start = time.monotonic()
        answer = client.post("/api/attention", json={"text": "red"})
        assert time.monotonic() - start < 30
        assert answer.status_code == 504
        assert answer.json()["error"].startswith("timed out after 0.3 seconds")
        assert 'weft_requests_total{route="/api/attention",status="504"} 1' in client.get("/metrics").text


def test_a_full_queue_answers_503_with_retry_after(toy: Translator) -> None:
    app = create_app(toy)
    with TestClient(app) as client:

        async def full(*given: Any, **options: Any) -> None:
            raise Full(7)

        app.state.service.queue.search = full
        answer = client.post("/translate", json={"q": "red", "source": "en", "target": "de"})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "7")
        assert answer.json() == {"error": "queue full; retry in 7 seconds."}


def test_an_internal_error_reveals_no_details(toy: Translator) -> None:
    app = create_app(toy)
    with TestClient(app, raise_server_exceptions=False) as client:

        async def broken(*given: Any, **options: Any) -> None:
            raise RuntimeError("/home/someone/secret.py")

        app.state.service.queue.search = broken
        answer = client.post("/translate", json={"q": "red", "source": "en", "target": "de"})
        assert answer.status_code == 500
        assert answer.json() == {"error": "internal error; see the server's log."}
        assert 'status="500"' in client.get("/metrics").text


def test_answers_contain_no_path_of_the_model(client: TestClient, toy: Translator) -> None:
    path = str(toy.folders[0].path.parent)
    for told in ("/api/model", "/openapi.json", "/metrics", "/frontend/settings", "/nothing"):
        assert path not in client.get(told).text


def test_a_disconnect_cancels_the_request(toy: Translator) -> None:
    """As the server tells it: a request, and then a disconnect while it is being computed."""
    app = create_app(toy)
    service: Service = app.state.service
    started, ended = asyncio.Event(), asyncio.Event()

    async def forever(*given: Any) -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def run() -> list[Message]:
        service.queue.run = forever  # type: ignore[method-assign]
        first = True

        async def receive() -> Message:
            nonlocal first
            if first:
                first = False
                return {"type": "http.request", "body": b'{"text": "red"}', "more_body": False}
            await started.wait()
            return {"type": "http.disconnect"}

        return await posted(app, receive)

    assert asyncio.run(run()) == []
    assert ended.is_set()
    assert disconnected(service) == 1


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/translate", "POST"),
        ("DELETE", "/api/translate", "POST"),
        ("POST", "/api/model", "GET"),
        ("PUT", "/metrics", "GET"),
        ("POST", "/index.html", "GET, HEAD"),
    ],
)
def test_a_wrong_method_gets_405_and_the_allowed_ones(client: TestClient, method: str, path: str, allowed: str) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.headers["Allow"]) == (405, allowed)
    assert answer.json() == {"error": f"method {method} is not allowed; use {allowed}."}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/suggest", "/translate/", "/drawing/nothing.js"])
def test_an_unknown_path_gets_404(client: TestClient, method: str, path: str) -> None:
    answer = client.request(method, path)
    sentence = "not found; see /openapi.json for available routes."
    assert (answer.status_code, answer.json()) == (404, {"error": sentence})
