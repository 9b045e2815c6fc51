"""Writes the answers that the OpenAPI document shows: what the shipped model says, long lists and texts cut short.

python -m tests.serving.examples
"""

import json
from typing import Any

from httpx2 import Response
from starlette.testclient import TestClient

from weft.serving.app import EXAMPLES, create_app
from weft.tasks import load

CAT = {"text": "The cat sleeps."}
ASKED: dict[str, dict[str, Any] | None] = {  # None: nothing is sent
    "/translate": {"q": "How are you?", "source": "auto", "target": "de", "alternatives": 1},
    "/detect": {"q": "How are you?"},
    "/languages": None,
    "/frontend/settings": None,
    "/api/translate": {
        "text": "The weather was bad. We stayed at home.",
        "nbest": 2,
        "alignment": True,
        "glossary": [{"source": "weather", "target": "Klima"}],
    },
    "/api/attention": CAT,
    "/api/overview": CAT,
    "/api/head": CAT,
    "/api/off": {**CAT, "off": [{"kind": "cross", "layer": 2, "head": 1}]},
    "/api/importance": CAT,
    "/api/search": {**CAT, "beam": 3},
    "/api/masks": CAT,
    "/api/align": {**CAT, "target": "Die Katze schläft."},
    "/api/sentences": {"text": "One. Two."},
    "/api/model": None,
    "/api/positions": None,
}


def answers(client: TestClient) -> dict[str, Response]:
    found = {path: client.post(path, json=asked) if asked else client.get(path) for path, asked in ASKED.items()}
    assert all(answer.status_code == 200 for answer in found.values())
    return found


def short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: short(one) for key, one in value.items()}
    if isinstance(value, list):
        is_deep = any(isinstance(one, list | dict) for one in value)
        return [short(one) for one in value[: 2 if is_deep else 12]]
    return f"{value[:60]}…" if isinstance(value, str) and len(value) > 60 else value


if __name__ == "__main__":
    with TestClient(create_app(load("en-de"))) as client:
        shown = {path: short(answer.json()) for path, answer in answers(client).items()}
    lines = [f"{json.dumps(path)}: {json.dumps(one, ensure_ascii=False)}" for path, one in shown.items()]
    EXAMPLES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
