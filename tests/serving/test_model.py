"""What the page is told of the model is what Python has."""

from dataclasses import asdict

import torch
from fastapi.testclient import TestClient

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
