"""What the page is sent are the numbers that Python has."""

import dataclasses
import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
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


def unpacked(client: TestClient, path: str, **body: object) -> tuple[Any, np.ndarray]:
    """The header and the numbers of a binary answer."""
    headers = {"Accept": "application/octet-stream"}
    answer = client.post(f"/api/{path}", json={"text": TEXT, **body}, headers=headers)
    assert answer.headers["Content-Type"] == "application/octet-stream"
    begin = 4 + int.from_bytes(answer.content[:4], "little")
    header = json.loads(answer.content[4:begin])
    assert begin % 4 == 0, "a browser can read the numbers where they are"
    return header, np.frombuffer(answer.content[begin:], f"<{'f2' if header['type'] == 'float16' else 'u1'}").reshape(
        header["shape"]
    )


def test_binary_answers_have_the_same_numbers(client: TestClient, toy: Translator) -> None:
    for body in ({"kind": "decoder"}, {"kind": "encoder", "layer": 2}, {"mean": True}):
        told = asked(client, "attention", **body)
        header, maps = unpacked(client, "attention", **body)
        assert maps.shape == np.shape(told["maps"])
        assert np.abs(maps - np.array(told["maps"])).max() < 5e-4
        assert {key: header[key] for key in told if key != "maps"} == {key: told[key] for key in told if key != "maps"}
    header, cells = unpacked(client, "overview", kind="cross")
    whole = [[list(b64decode(head)) for head in layer] for layer in asked(client, "overview", kind="cross")["pictures"]]
    assert cells.reshape(*cells.shape[:2], -1).tolist() == whole
    assert header["type"] == "uint8"


def test_large_answers_are_compressed(client: TestClient) -> None:
    large, small = client.get("/api/model"), client.get("/health")
    assert large.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in small.headers
    assert "Content-Encoding" not in client.get("/api/model", headers={"Accept-Encoding": ""}).headers


def test_changes_hold_in_every_answer(client: TestClient, toy: Translator) -> None:
    changes = WhatIf([Head("cross", 2, 1)], {0: "blue"}, {1: "Q"}, 0.5)
    body = {"off": OFF, "replace": {"0": "blue"}, "force": {"1": "Q"}, "temperature": 0.5}
    seen = toy.attention(TEXT, what_if=changes)
    assert seen.source != toy.attention(TEXT).source
    told = asked(client, "attention", kind="cross", **body)
    assert (told["queries"], told["keys"]) == seen.axes["cross"]
    close(told["maps"], seen.cross)
    close(told["log_probs"], torch.tensor(seen.log_probs))
    close(
        asked(client, "head", kind="cross", layer=1, head=1, token=2, **body)["output"],
        seen.numbers("cross", 1, 1, 2).output,
    )
    assert asked(client, "overview", **body)["source"] == seen.source
    assert asked(client, "masks", **body)["source"][0] == seen.source
    assert asked(client, "search", **body)["ended"][0]["text"] == seen.translation
    without = asked(client, "off", **body)
    assert without["without"]["translation"] == seen.translation
    whole = toy.attention(TEXT, what_if=dataclasses.replace(changes, off=()))
    assert without["whole"]["translation"] == whole.translation
    before = toy.attention(TEXT, whole.ids, changes.unforced)
    head = toy.attention(
        TEXT, whole.ids, dataclasses.replace(changes.unforced, off=[*changes.off, Head("encoder", 1, 2)])
    )
    falls = asked(client, "importance", **body)["falls"]
    assert falls["encoder"][0][1] == pytest.approx(before.score - head.score, abs=1e-4)


def test_importance_comes_line_by_line(client: TestClient) -> None:
    headers = {"Accept": "application/x-ndjson"}
    answer = client.post("/api/importance", json={"text": TEXT}, headers=headers)
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    first, *lines = map(json.loads, answer.text.splitlines())
    whole = asked(client, "importance")
    assert first == {"target": whole["target"]}
    assert len(lines) == 12
    for line in lines:
        assert line["fall"] == whole["falls"][line["kind"]][line["layer"] - 1][line["head"] - 1]


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
    without = asked(client, "align", text="red cat", target="RED CAT", off=[{"kind": "encoder", "layer": 1, "head": 1}])
    heads = [Head("encoder", 1, 1)]
    close(without["weights"], torch.tensor(toy.align("red cat", toy.tokeniser.encode("RED CAT"), heads)))
    assert without["weights"] != asked(client, "align", text="red cat", target="RED CAT")["weights"]
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
        ("overview", {"replace": {"99": "x"}}, "token 99 does not exist: tokens count from 0"),
        ("head", {"replace": {"x": "x"}}, "replace.x"),
        ("search", {"force": {"99": "x"}}, "step 99 does not exist: steps count from 0"),
        ("search", {"off": [{"kind": "cross", "layer": 9, "head": 1}]}, "layer 9 does not exist"),
        ("masks", {"temperature": 0}, "temperature should be greater than 0"),
        ("run", {"force": {"0": ""}}, "the token forced at step 0 is empty"),
        ("run", {"replace": {"0": "q" * 30_000}}, "characters are too many"),
        ("next", {"step": 99}, "step 99 does not exist"),
        ("lens", {"text": " "}, "is empty"),
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


FILES = [file for folder in (STATIC, DRAWING) for file in sorted(folder.rglob("*.*")) if file.parent.name != "vendor"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_page_needs_no_other_host(client: TestClient, file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert "//" not in text.replace("http://www.w3.org", "").replace("// ", ""), "an address of another host"
    place = f"drawing/{file.relative_to(DRAWING)}" if DRAWING in file.parents else str(file.relative_to(STATIC))
    answer = client.get("/" if place == "index.html" else f"/{place}")
    assert answer.status_code == 200
    assert answer.text == text
    assert answer.headers["Cache-Control"] == "no-cache"
    again = client.get(f"/{place}", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
