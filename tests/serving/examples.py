"""Writes the answers that the OpenAPI document shows: what the shipped model says, and a language model with a chat
template, long lists and texts cut short.

python -m tests.serving.examples LANGUAGE-MODEL
"""

import json
import sys
from typing import Any

from httpx2 import Response
from starlette.testclient import TestClient

from weft.serving.app import EXAMPLES, create_app
from weft.serving.service import Service
from weft.tasks import Predictor, load

CAT = {"text": "The cat sleeps."}
Requests = dict[str, dict[str, Any] | None]  # None: nothing is sent
TRANSLATE: Requests = {
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
    "/api/run": {**CAT, "top": 2},
    "/api/next": {**CAT, "step": 1},
    "/api/lens": CAT,
    "/api/search": {**CAT, "beam": 3},
    "/api/masks": CAT,
    "/api/align": {**CAT, "target": "Die Katze schläft."},
    "/api/sentences": {"text": "One. Two."},
    "/api/model": None,
    "/api/positions": None,
}
TOM = {"text": "Tom likes"}
GENERATE: Requests = {
    "/v1/models": None,
    "/v1/models/{name}": None,
    "/v1/completions": {"prompt": "Tom likes", "max_tokens": 8, "temperature": 0, "logprobs": 2},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Tom likes"}], "max_tokens": 8, "temperature": 0},
    "/tokenize": {"prompt": "Tom likes"},
    "/detokenize": {"tokens": [5, 6, 7]},
    "/tokenizer_info": None,
    "/api/attention": TOM,
    "/api/overview": TOM,
    "/api/head": TOM,
    "/api/off": {**TOM, "off": [{"kind": "decoder", "layer": 2, "head": 1}]},
    "/api/importance": TOM,
    "/api/run": {**TOM, "top": 2},
    "/api/next": TOM,
    "/api/lens": TOM,
    "/api/masks": TOM,
    "/api/model": None,
    "/api/positions": None,
}
ASKED = {"translate": TRANSLATE, "generate": GENERATE}


def answers(client: TestClient) -> dict[str, Response]:
    """The answer of each route of a model."""
    service: Service = client.app.state.service  # type: ignore[attr-defined]
    found = {}
    for path, asked in ASKED[service.predictor.verb].items():
        real = path.replace("{name}", service.name)
        found[path] = client.post(real, json=asked) if asked else client.get(real)
        assert found[path].status_code == 200, found[path].text
    return found


def short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: short(one) for key, one in value.items()}
    if isinstance(value, list):
        is_deep = any(isinstance(one, list | dict) for one in value)
        return [short(one) for one in value[: 2 if is_deep else 12]]
    return f"{value[:60]}…" if isinstance(value, str) and len(value) > 60 else value


def written(predictor: Predictor) -> str:
    with TestClient(create_app(predictor)) as client:
        shown = {path: short(answer.json()) for path, answer in answers(client).items()}
    lines = [f"{json.dumps(path)}: {json.dumps(one, ensure_ascii=False)}" for path, one in shown.items()]
    return json.dumps(predictor.verb) + ": {\n" + ",\n".join(lines) + "\n}"


if __name__ == "__main__":
    models = [load("en-de"), load(sys.argv[1])]
    EXAMPLES.write_text("{\n" + ",\n".join(map(written, models)) + "\n}\n", encoding="utf-8")
