"""A model as its diagram shows it."""

import pytest
import torch

from tests.contracts.tiny import tiny_plan
from tests.models.tiny import tiny
from weft.models.sequence_to_sequence import START
from weft.parts.positions import sinusoids
from weft.viewing.anatomy import diagram, masks, position_vectors


def test_every_parameter_is_in_the_diagram() -> None:
    model = tiny()
    drawn = diagram(model)
    blocks = [block for layer in drawn.encoder + drawn.decoder for block in layer]
    inside = sum(block.parameters + block.norm for block in blocks)
    closing = sum(p.numel() for stack in (model.encoder, model.decoder) for p in stack.closing.parameters())
    assert drawn.tied
    assert drawn.shared, "the head holds the embeddings of both sides"
    assert inside + closing + drawn.head.parameters == sum(p.numel() for p in model.parameters())
    names = [block.name for block in drawn.decoder[0]]
    assert names == ["self-attention", "encoder-decoder attention", "feed-forward"]
    assert drawn.encoder[0][0].sizes["heads"] == 2


@pytest.mark.parametrize(
    ("family", "encoder", "decoder"),
    [
        ("seq2seq-rnn", [["LSTM, backwards"]] * 2, [["LSTM"]] * 2),
        ("bahdanau", [["GRU, both ways"]], [["GRU", "encoder-decoder attention", "first state"], ["readout"]]),
        ("bytenet", [["convolution"]] * 3, [["convolution"]] * 3),
    ],
)
def test_families_have_diagrams_too(family: str, encoder: list[list[str]], decoder: list[list[str]]) -> None:
    drawn = diagram(tiny_plan("preset", f"{family}-tiny").build())
    for side, names in ((drawn.encoder, encoder), (drawn.decoder, decoder)):
        assert [[block.name for block in layer] for layer in side] == names


def test_what_runs_past_a_block() -> None:
    assert all(block.past for layer in diagram(tiny()).decoder for block in layer)
    assert not any(block.past for layer in diagram(tiny(join="replace")).encoder for block in layer)


def test_positions_are_what_the_part_adds() -> None:
    model = tiny()
    vectors = position_vectors(model.source, 7)
    torch.testing.assert_close(vectors, sinusoids(7, vectors.size(1)).double())
    assert not position_vectors(tiny(position="none").source, 3).any()
    assert position_vectors(tiny(position={"name": "learned", "limit": 4}, longest=4).target, 9).shape[0] == 4


def test_masks_hide_padding_and_the_future() -> None:
    seen = masks(tiny(), [[5, 6, 7, 2], [5, 2]], [[START, 8, 9], [START]])
    assert seen["encoder"].int().tolist() == [[[1] * 4] * 4, [[1, 1, 0, 0]] * 4]
    assert seen["decoder"].int().tolist() == [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]] * 2
    assert seen["cross"].int().tolist() == [[[1] * 4] * 3, [[1, 1, 0, 0]] * 3]


@pytest.mark.parametrize("name", ["bahdanau-tiny", "luong-tiny", "gnmt-tiny", "convs2s-tiny"])
def test_masks_hide_padding_from_every_decoder(name: str) -> None:
    model = tiny_plan("preset", name).build().eval()
    seen = masks(model, [[5, 6, 7, 2], [5, 2]], [[START, 8, 9], [START]])
    assert seen["cross"].int().tolist() == [[[1] * 4] * 3, [[1, 1, 0, 0]] * 3]
