"""Contracts of decoders without an encoder: every preset of a language model, and every mixer."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.contracts.tiny import TINY, V, filled, stirred, there_and_back, without_gradient
from weft.models.base import IGNORED, Batch
from weft.parts.call import Call, State
from weft.plans.catalogues import MIXERS
from weft.plans.plan import Plan, parts_of
from weft.plans.presets import names, plan
from weft.viewing.attention_maps import heads_of

LANGUAGE_MODELS = [name for name in names() if plan(name).task.name == "language-model"]
ALONE = {"model": "decoder", "cross": "none"}


def small(name: str) -> Plan:
    """A preset with little in it: three layers of 16, four heads."""
    if name in MIXERS:
        return Plan().with_settings({**TINY, **ALONE, "mixer": name})
    found = plan(name)
    settings = {**TINY, "layers": min(3, found.decoder.layers)}
    for part in parts_of(found.decoder.mixer):
        settings |= {f"mixer.{key}": value for key, value in {"heads": 4, "kv_heads": 2}.items() if key in part.options}
    if "hidden" in parts_of(found.decoder.feed_forward)[0].options:
        settings["feed_forward.hidden"] = 24
    return found.with_settings(settings)


def model(name: str) -> nn.Module:
    return stirred(small(name).build().double().eval())


def ids(*shape: int) -> Tensor:
    return torch.randint(4, V, shape)


def batch(tokens: Tensor, *lengths: int) -> Batch:
    """Every token predicts the next one; beyond the length of a row there is padding."""
    real = torch.arange(tokens.size(1) - 1) < torch.tensor(lengths)[:, None]
    return Batch({"tokens": tokens[:, :-1]}, tokens[:, 1:].where(real, IGNORED))


every_one = pytest.mark.parametrize("name", [*LANGUAGE_MODELS, *MIXERS])


@every_one
def test_every_parameter_gets_a_gradient(name: str) -> None:
    made = model(name)
    made(batch(ids(2, 6), 5, 3)).objective.backward()
    assert without_gradient(made) == []


@every_one
def test_the_future_is_not_seen(name: str) -> None:
    made, tokens, other = model(name), ids(2, 6), ids(2, 6)
    whole = made.hidden({"tokens": tokens}, Call())
    for t in range(1, 6):
        changed = torch.cat((tokens[:, :t], other[:, t:]), 1)
        assert_close(made.hidden({"tokens": changed}, Call())[:, :t], whole[:, :t])


@every_one
def test_padding_changes_nothing(name: str) -> None:
    made, tokens = model(name), ids(2, 6)
    padded = torch.cat((tokens, ids(2, 3)), 1)
    assert_close(made(batch(padded, 5, 3)).nll, made(batch(tokens, 5, 3)).nll)


@every_one
def test_batched_equals_single(name: str) -> None:
    made, tokens = model(name), ids(2, 6)
    alone = [made(batch(row[None], 5)).nll for row in tokens]
    assert_close(torch.stack(alone).sum(), made(batch(tokens, 5, 5)).nll)


@pytest.mark.parametrize("pieces", [[1] * 6, [3, 1, 2]], ids=["one by one", "in pieces"])
@every_one
def test_cached_equals_uncached(name: str, pieces: list[int]) -> None:
    made, tokens, state = model(name), ids(2, 6), State()
    positions = torch.arange(6).expand(2, 6)
    steps = [
        made.decode(piece, None, Call(positions=where, state=state))
        for piece, where in zip(tokens.split(pieces, 1), positions.split(pieces, 1))
    ]
    assert_close(torch.cat(steps, 1), made.hidden({"tokens": tokens}, Call()))


@every_one
@torch.inference_mode()
def test_hypotheses_can_change_places_on_the_way(name: str) -> None:
    made, first, second, state = model(name), ids(3, 2), ids(3, 1), State()
    made.decode(first, None, Call(positions=torch.arange(2).expand(3, 2), state=state))
    order = torch.tensor([2, 0, 0])
    state.select(order)
    moved = made.decode(second, None, Call(positions=torch.full((3, 1), 2), state=state))
    assert_close(moved, made.hidden({"tokens": torch.cat((first[order], second), 1)}, Call())[:, 2:])


@every_one
def test_weights_survive_saving_and_loading(name: str) -> None:
    made, tokens = model(name), {"tokens": ids(2, 6)}
    again = filled(model(name), there_and_back(made))
    assert torch.equal(again.hidden(tokens, Call()), made.hidden(tokens, Call()))


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_every_head_is_watched(name: str) -> None:
    """Also where several share their keys."""
    attends = any(part.name == "attention" for part in parts_of(plan(name).decoder.mixer))
    chosen = small(name)
    assert heads_of(chosen.build())["decoder"] == ((4,) * chosen.decoder.layers if attends else ())
