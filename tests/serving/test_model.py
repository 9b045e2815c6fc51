"""What the page is told of the model is what Python has."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from fastapi.testclient import TestClient

from tests.checking.test_checks import model_folder
from tests.contracts.tiny import tiny_plan
from weft.serving.app import create_app
from weft.serving.model import Example, examples
from weft.tasks.translator import Translator


def test_model_sizes_heads_and_languages(client: TestClient, toy: Translator) -> None:
    told = client.get("/api/model").json()
    assert told["parameters"] == sum(p.numel() for p in toy.models[0].parameters())
    assert sum(part["count"] for part in told["parts"]) == told["parameters"]
    assert told["heads"]["cross"] == {"layers": 2, "heads": 2, "each": [2, 2]}
    assert told["aligner"] == asdict(toy.aligner)
    assert told["languages"] == ["en", "de"]


def test_positions(client: TestClient, toy: Translator) -> None:
    told = client.get("/api/positions", params={"length": 5}).json()
    table = toy.models[0].source.position.table[:5]
    assert (torch.tensor(told["encoder"]) - table).abs().max() <= 0.51e-3


def test_what_can_be_seen_is_found_in_a_pass(client: TestClient, toy: Translator) -> None:
    told = client.get("/api/model").json()
    assert {"run", "attention", "numbers", "importance", "masks", "positions", "search", "pairs", "next", "lens"} == {
        *told["traces"]
    }
    assert (told["in"], told["out"]) == ("text", "text")
    ids = [site["id"] for site in told["sites"]]
    assert ids == [
        *("encoder.0", "encoder.1.mix", "encoder.1", "encoder.2.mix", "encoder.2"),
        *(
            "decoder.0",
            "decoder.1.mix",
            "decoder.1.cross",
            "decoder.1",
            "decoder.2.mix",
            "decoder.2.cross",
            "decoder.2",
        ),
    ]
    cross = told["sites"][ids.index("decoder.2.cross")]
    assert cross == {
        "id": "decoder.2.cross",
        "what": "attention",
        "kind": "cross",
        "layer": 2,
        "units": 2,
        "queries": "target",
        "keys": "source",
        "label": "Encoder–decoder, layer 2",
    }
    assert (told["sites"][-1]["what"], told["sites"][-1]["units"]) == ("residual", 16)


@pytest.mark.parametrize(
    ("family", "attends", "has_lens", "has_positions"),
    [("bahdanau", True, False, False), ("seq2seq-rnn", False, True, False), ("convs2s", True, True, True)],
)
def test_other_families_have_what_they_have(
    tmp_path: Path, family: str, attends: bool, has_lens: bool, has_positions: bool
) -> None:
    plan = tiny_plan("preset", f"{family}-tiny").with_settings({"width": 32})
    with TestClient(create_app(Translator([model_folder(tmp_path / "model", plan, ("en", "de"))]))) as client:
        told = client.get("/api/model").json()
        traces = told["traces"]
        assert [name in traces for name in ("attention", "lens", "positions")] == [attends, has_lens, has_positions]
        assert any(site["what"] == "attention" for site in told["sites"]) == attends
        assert client.post("/api/lens", json={"text": "red"}).status_code == (200 if has_lens else 400)
        assert client.post("/api/run", json={"text": "red"}).status_code == 200


def test_weights_are_known_by_their_checksum(client: TestClient, toy: Translator) -> None:
    told = client.get("/api/model").json()
    assert told["hash"] == hashlib.sha256(toy.folders[0].average.read_bytes()).hexdigest()[:12]
    assert told["command"] == "weft serve toy"


def test_examples_come_from_the_card() -> None:
    card = """# A model

- No: not here.

## Examples

- Tired: It was too tired: so it slept.
- Wide: It was too wide. (too hard for it)
* No colon in this one

### More

- Later: not here.
"""
    assert examples(card) == [
        Example(name="Tired", text="It was too tired: so it slept.", note=None),
        Example(name="Wide", text="It was too wide.", note="too hard for it"),
    ]
    assert examples("- A: b") == examples(None) == []


def test_a_model_without_a_card_has_an_example(client: TestClient, toy: Translator) -> None:
    assert [one["text"] for one in client.get("/api/model").json()["examples"]] == [toy.example]


def test_heads_are_ranked_by_a_file_of_these_weights(client: TestClient, toy: Translator) -> None:
    file = toy.folders[0].path / "heads.json"
    assert client.get("/api/model").json()["heads_ranked"] is None
    measured = {"loss": 0.5, "low": 0.4, "high": 0.6, "entropy": 1.0, "distance": 2.0, "first": 0.1}
    ranked = {"by": "By hand.", "hash": toy.hash, "heads": [{"kind": "cross", "layer": 2, "head": 1, **measured}]}
    try:
        file.write_text(json.dumps(ranked))
        told = client.get("/api/model").json()["heads_ranked"]
        assert told["by"] == "By hand."
        assert told["heads"][0].items() >= {**measured, "kind": "cross", "alignment": None}.items()
        wrong = [
            {**ranked, "hash": "0" * 12},
            {**ranked, "heads": [{**measured, "kind": "cross", "layer": 7, "head": 1}]},
            {**ranked, "heads": [{"kind": "cross", "layer": 1, "head": 1}]},
            {**ranked, "by": None},
            "nothing",
        ]
        for one in wrong:
            file.write_text(json.dumps(one))
            assert client.get("/api/model").json()["heads_ranked"] is None
        file.write_bytes(b"\xff")
        assert client.get("/api/model").json()["heads_ranked"] is None
    finally:
        file.unlink()
