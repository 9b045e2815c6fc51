"""What the page is sent are the numbers that Python has."""

from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient

from weft.serving.app import STATIC
from weft.tasks.translator import Translator
from weft.viewing.attention_heads import KINDS, Head
from weft.viewing.page import DRAWING
from weft.viewing.what_if import WhatIf

TEXT = "red cat"
OFF = [{"kind": "cross", "layer": 2, "head": 1}]


def asked(client: TestClient, path: str, **body: object) -> Any:
    answer = client.post(f"/api/{path}", json={"text": TEXT, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def close(numbers: object, tensor: torch.Tensor) -> None:
    assert (torch.tensor(numbers) - tensor).abs().max() <= 0.51e-4


@pytest.mark.parametrize("kind", KINDS)
def test_attention_of_a_layer(client: TestClient, toy: Translator, kind: str) -> None:
    told, seen = asked(client, "attention", kind=kind, layer=2), toy.attention(TEXT)
    close(told["maps"], seen.each(kind, 2))
    assert (told["queries"], told["keys"]) == seen.axes[kind]
    assert told["translation"] == seen.translation == toy.translate([TEXT])[0]
    close(told["log_probs"], torch.tensor(seen.log_probs))


def test_attention_of_all_layers_and_their_mean(client: TestClient, toy: Translator) -> None:
    close(asked(client, "attention", kind="cross")["maps"], toy.attention(TEXT).cross)
    close(asked(client, "attention", mean=True)["maps"], toy.attention(TEXT).of("cross")[None, None])


def test_attention_of_a_given_translation_without_a_head(client: TestClient, toy: Translator) -> None:
    told = asked(client, "attention", target="RED CAT", off=OFF, kind="decoder", layer=2)
    seen = toy.attention(TEXT, "RED CAT", WhatIf(off=[Head("cross", 2, 1)]))
    assert told["translation"] == "RED CAT"
    close(told["maps"], seen.each("decoder", 2))


def test_the_overview_has_one_byte_per_weight(client: TestClient, toy: Translator) -> None:
    told, seen = asked(client, "overview", kind="encoder"), toy.attention(TEXT)
    cells = [[list(b64decode(head)) for head in layer] for layer in told["pictures"]]
    assert (torch.tensor(cells) / 255 - seen.encoder.flatten(2)).abs().max() < 0.5 / 255 + 1e-6


def test_one_head_by_the_numbers(client: TestClient, toy: Translator) -> None:
    told = asked(client, "head", kind="decoder", layer=1, head=2, token=1)
    numbers = toy.attention(TEXT).numbers("decoder", 1, 2, 1)
    close(told["query"], numbers.query)
    close(told["output"], numbers.output)
    fields = {"key": "keys", "score": "scores", "scaled": "scaled", "weight": "weights", "value": "values"}
    for row, tensor in fields.items():
        close([one[row] for one in told["rows"]], getattr(numbers, tensor))
    assert [one["visible"] for one in told["rows"]] == numbers.visible.tolist()
    assert (told["width"], told["formula"]) == (8, "q · k")


def test_an_unknown_field_named_query_is_reported(client: TestClient) -> None:
    answer = client.post("/api/head", json={"text": TEXT, "query": 0})
    assert answer.json()["error"].startswith("there is no field 'query'.")


def test_heads_switched_off(client: TestClient, toy: Translator) -> None:
    told, less = asked(client, "off", off=OFF), WhatIf(off=[Head("cross", 2, 1)])
    whole, without = toy.attention(TEXT), toy.attention(TEXT, what_if=less)
    assert told["whole"]["translation"] == whole.translation
    assert told["without"]["translation"] == without.translation
    assert told["without"]["score"] == pytest.approx(without.score, abs=1e-4)
    assert told["after"]["score"] == pytest.approx(toy.attention(TEXT, whole.ids, less).score, abs=1e-4)
    assert asked(client, "off")["whole"] == asked(client, "off")["without"]


def test_importance_of_each_head(client: TestClient, toy: Translator) -> None:
    falls = asked(client, "importance")["falls"]
    whole = toy.attention(TEXT)
    lost = whole.score - toy.attention(TEXT, whole.ids, WhatIf(off=[Head("encoder", 2, 1)])).score
    assert falls["encoder"][1][0] == pytest.approx(lost, abs=1e-4)
    assert {kind: torch.tensor(maps).shape for kind, maps in falls.items()} == dict.fromkeys(KINDS, (2, 2))


def test_the_search_tree(client: TestClient, toy: Translator) -> None:
    told, tree = asked(client, "search", beam=3), toy.search_tree(TEXT, beam=3)
    assert [[one["token"] for one in step] for step in told["steps"]] == [
        [one.token for one in step] for step in tree.steps
    ]
    assert told["ended"][0]["text"] == toy.translate([TEXT], beam=3)[0]


def test_masks_of_a_batch(client: TestClient, toy: Translator) -> None:
    told = asked(client, "masks")
    assert told["masks"]["decoder"][0][0][:2] == [1, 0]
    assert len(told["masks"]["encoder"][1]) == max(map(len, told["source"]))


def test_align_gives_the_words_and_weights_of_the_chosen_aligner(client: TestClient, toy: Translator) -> None:
    told = asked(client, "align", text="🐈 red  cat", target="RED CAT")
    assert [(word["start"], word["end"]) for word in told["source"]] == [(0, 1), (2, 5), (7, 10)]
    assert [(word["start"], word["end"]) for word in told["target"]] == [(0, 3), (4, 7)]
    close(told["weights"], torch.tensor(toy.align("🐈 red  cat", toy.tokeniser.encode("RED CAT"))))
    assert asked(client, "align", text="", target="") == {"source": [], "target": [], "weights": []}


def test_sentences(client: TestClient) -> None:
    told = asked(client, "sentences", text="Red.  Blue.")
    assert told == [{"text": "Red.", "space": "  "}, {"text": "Blue.", "space": ""}]


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("attention", {"text": " "}, "is empty"),
        ("attention", {"kind": "sideways"}, "kind"),
        ("attention", {"layer": 7}, "layer 7 does not exist: this model has layers 1 to 2"),
        ("attention", {"off": [{"kind": "cross", "layer": 1, "head": 9}]}, "head 9 does not exist"),
        ("attention", {"off": [{"kind": "crss", "layer": 1, "head": 1}]}, "Did you mean 'cross'"),
        ("head", {"token": 99}, "token 99 does not exist"),
        ("search", {"beam": 0}, "beam"),
        ("search", {"text": "q " * 300}, "this model allows 200"),
        ("attention", {"unheard": 1}, "unheard"),
        ("align", {"target": "q " * 300}, "this model allows 200"),
    ],
)
def test_invalid_requests_get_400_and_a_sentence(
    client: TestClient, path: str, body: dict[str, object], sentence: str
) -> None:
    answer = client.post(f"/api/{path}", json={"text": TEXT, **body})
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]


def test_another_layer_of_the_same_sentence_comes_from_the_cache(client: TestClient) -> None:
    asked(client, "attention", text="blue bird", layer=1)
    before = client.app.state.attention.cache_info()  # type: ignore[attr-defined]
    asked(client, "attention", text="blue bird", layer=2)
    after = client.app.state.attention.cache_info()  # type: ignore[attr-defined]
    assert (after.hits, after.misses) == (before.hits + 1, before.misses)


@pytest.mark.parametrize("file", sorted([*STATIC.iterdir(), *DRAWING.iterdir()]), ids=lambda file: file.name)
def test_the_page_needs_no_other_host(client: TestClient, file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert "//" not in text.replace("http://www.w3.org", "").replace("// ", ""), "an address of another host"
    where = "/" if file.name == "index.html" else f"/{'drawing/' if file.parent == DRAWING else ''}{file.name}"
    answer = client.get(where)
    assert answer.status_code == 200
    assert answer.text == text
