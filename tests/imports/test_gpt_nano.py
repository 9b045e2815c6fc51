"""A published GPT that sorts letters, of 85,296 parameters, with every tensor of one pass
(github.com/bbycroft/llm-viz): what weft computes is what was published, tensor by tensor."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.imports.public_models import shared
from weft.imports.facts import Facts
from weft.imports.gpt2 import gpt2
from weft.imports.tensors import Tensors
from weft.models.base import Generative
from weft.parts.call import Call
from weft.plans.size import outline
from weft.weights import parameters

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-4}


def tensors(file: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    data = json.loads(file.read_text())
    found = {
        name: torch.from_numpy(np.frombuffer(base64.b64decode(value["data"]), "<f4").copy()).reshape(value["shape"])
        for name, value in data.items()
        if isinstance(value, dict) and "data" in value
    }
    return data["config"], found


@pytest.fixture(scope="module")
def model() -> Generative:
    config, weights = tensors(shared("gpt-nano-sort") / "model.json")
    facts = Facts({**config, "n_positions": config["block_size"], "tie_word_embeddings": False}, "model.json")
    shape = gpt2(facts, Tensors(weights, "model.json"), is_transposed=False)
    made = outline(shape.plan, "cpu").eval()
    with torch.no_grad():
        for name, parameter in parameters(made).items():
            parameter.copy_(shape.weights[name])
    assert isinstance(made, Generative)
    return made


@pytest.fixture(scope="module")
def published() -> dict[str, Tensor]:
    return tensors(shared("gpt-nano-sort") / "partials.json")[1]


class Seen:
    """A watcher that keeps what it is shown of the first layer."""

    def __init__(self) -> None:
        self.found: dict[str, Tensor] = {}

    def see(self, place: str, what: str, value: Tensor) -> None:
        if place == "decoder.0.mix":
            self.found[what] = value

    def change(self, place: str, what: str, value: Tensor) -> Tensor:
        if place == "decoder.0.mix":
            self.found[what] = value
        return value


@torch.no_grad()
def test_every_published_tensor_is_computed_here(model: Generative, published: dict[str, Tensor]) -> None:
    ids, seen = published["idx"].long(), Seen()
    hidden = model.decode(ids, None, Call(watch=seen))
    layer = model.decoder.layers[0]
    x = model.tokens(ids)
    normed = layer.mix.wiring.norm(x)
    mixed = layer.mix.body.out(seen.found["heads"].flatten(2))
    after = x + mixed
    fed = layer.feed.wiring.norm(after)
    inner = layer.feed.body.project(fed)
    active = layer.feed.body.activations[0](inner)
    ours = {
        "tok_emb": model.tokens.embedding(ids),
        "pos_emb": model.tokens.position.table.weight[None],
        "x": x,
        "ln1": normed,
        "qkv": layer.mix.body.project(normed),
        "q": seen.found["query"],
        "k": seen.found["key"],
        "v": seen.found["value"],
        "attSm": seen.found["weights"],
        "y": seen.found["heads"].flatten(2),
        "yProj": mixed,
        "attnResid": after,
        "ln2": fed,
        "fc": inner,
        "gelu": active,
        "mlp": layer.feed.body.out(active),
        "mlpResid": layer(x, Call(place="decoder.0")),
        "ln_f": hidden,
        "lm_head": model.head.logits(hidden),
        "probs": model.head.log_probs(hidden).exp(),
    }
    for i in range(3):
        x = model.decoder.layers[i](x, Call(place=f"decoder.{i}"))
        ours[f"block{i}"] = x
    for name, value in ours.items():
        torch.testing.assert_close(
            value, published[name].reshape(value.shape), msg=lambda text, n=name: f"{n}: {text}", **CLOSE
        )
    assert published.keys() - ours.keys() == {"idx", "att"}  # scores, of which the softmax is above


@torch.no_grad()
def test_it_sorts(model: Generative) -> None:
    """Six letters, then the same in order: greedily, as it was trained to."""
    for letters in ([2, 0, 1, 1, 0, 2], [1, 1, 0, 2, 0, 0], [2, 2, 2, 1, 0, 1]):
        ids = list(letters)
        for _ in range(6):
            hidden = model.decode(torch.tensor([ids]), None, Call())
            ids.append(int(model.head.log_probs(hidden[0, -1]).argmax()))
        assert ids[6:] == sorted(letters)
