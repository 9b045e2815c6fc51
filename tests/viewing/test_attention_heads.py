"""Heads switched off: exactly those, and nothing else changes."""

import pytest
import torch

from tests.contracts.tiny import TINY
from tests.models.tiny import tiny
from tests.pairs import prompt
from weft.data.codecs.subwords import START
from weft.decoding import Beam
from weft.errors import WeftError
from weft.parts.attention import Attention
from weft.parts.call import Call
from weft.plans.plan import Plan
from weft.viewing.attention_heads import Head, HeadsOff, Without, formula, place_of
from weft.viewing.attention_maps import Recorder, check_head, heads_of

SOURCE, TARGET = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[START, 8, 9]])


def test_place_of_each_kind() -> None:
    assert place_of("encoder", 1) == "encoder.0.mix"
    assert place_of("decoder", 3) == "decoder.2.mix"
    assert place_of("cross", 2) == "decoder.1.cross"
    with pytest.raises(WeftError, match=r"no kind of attention 'crss'\. Did you mean 'cross'"):
        place_of("crss", 1)


@torch.no_grad()
def test_a_head_that_is_off_equals_zero_columns_of_the_output_matrix() -> None:
    model = tiny()
    watched = model.decode(TARGET, model.encode(SOURCE), Call(watch=HeadsOff([Head("cross", 2, 1)])))
    assert not torch.allclose(watched, model.decode(TARGET, model.encode(SOURCE)))
    attention = model.decoder.layers[1].cross.body
    assert isinstance(attention, Attention)
    attention.out.weight[:, : attention.out.in_features // attention.heads] = 0.0
    torch.testing.assert_close(model.decode(TARGET, model.encode(SOURCE)), watched)


@torch.no_grad()
def test_no_head_off_changes_nothing() -> None:
    model = tiny()
    assert torch.equal(
        model.decode(TARGET, model.encode(SOURCE), Call(watch=HeadsOff([]))), model.decode(TARGET, model.encode(SOURCE))
    )
    with_all, without_none = (
        Beam()([model], prompt([model], SOURCE)),
        Without(Beam(), ())([model], prompt([model], SOURCE)),
    )
    assert with_all == without_none


@torch.no_grad()
def test_a_recorder_keeps_the_weights_of_heads_that_are_off() -> None:
    """Where they would look can still be seen: only what they say is lost."""
    model, all_on, one_off = tiny(), Recorder(), Recorder([Head("encoder", 1, 2)])
    for recorder in (all_on, one_off):
        model.encode(SOURCE, Call(watch=recorder))
    first, second = (("encoder.0.mix", "weights"), ("encoder.1.mix", "weights"))
    assert torch.equal(all_on.seen[first], one_off.seen[first])
    assert not torch.equal(all_on.seen[second], one_off.seen[second])


def test_each_layer_has_its_score() -> None:
    mixed = Plan().with_settings({**TINY, "layers": 3, "cross": ["attention", "additive", "general"]}).build()
    assert [formula(mixed, layer) for layer in (2, 3)] == ["v · tanh(W s + U h)", "q · k = s · W h"]


def test_heads_of_counts_layers_and_heads() -> None:
    counts = heads_of(tiny())
    assert counts == {"encoder": (2, 2), "decoder": (2, 2), "cross": (2, 2)}  # two layers of two
    check_head(Head("cross", 2, 2), counts)
    with pytest.raises(WeftError, match="layer 3 does not exist: this model has layers 1 to 2"):
        check_head(Head("cross", 3, 1), counts)
    with pytest.raises(WeftError, match="head 0 does not exist: this model has heads 1 to 2"):
        check_head(Head("encoder", 1, 0), counts)
