"""A model as its diagram shows it."""

import pytest
import torch

from tests.contracts.tiny import every_model, tiny_plan
from tests.models.tiny import tiny
from weft.data.codecs.subwords import START
from weft.models.base import Model
from weft.parts.positions import sinusoids
from weft.plans.presets import names, plan
from weft.plans.size import outline
from weft.viewing.anatomy import Block, Side, diagram, masks, position_vectors

ENDED = ["and the state that each layer ended in"]
PAIR = {"source": [[5, 6, 7, 2], [5, 2]], "target": [[START, 8, 9], [START]]}  # two rows
WRITING = ("masked self-attention", "encoder-decoder attention", "feed-forward")


@pytest.mark.parametrize("name", names())
def test_every_parameter_of_every_plan_is_in_the_diagram(name: str) -> None:
    is_whole_and_connected(outline(plan(name)))


@pytest.mark.parametrize(("slot", "name"), list(every_model()))
def test_every_part_has_its_place_in_the_diagram(slot: str, name: str) -> None:
    is_whole_and_connected(outline(tiny_plan(slot, name)))


def is_whole_and_connected(model: Model) -> None:
    """Blocks have the model's parameters, each once, and somewhere the decoder is told of the source."""
    drawn = diagram(model)
    assert sum(block.parameters for block in drawn.blocks()) == sum(p.numel() for p in model.parameters())
    told = {name: any("source" in block.marks for block in blocks(side)) for name, side in drawn.sides.items()}
    assert told == {name: name == "decoder" and "encoder" in model.sides for name in model.sides}


def blocks(side: Side) -> list[Block]:
    return [block for row in side.rows for stretch in row.stretches for block in stretch.blocks]


def test_what_is_shared_counts_once() -> None:
    drawn = diagram(tiny())
    assert (drawn.shared, drawn.tied) == (True, True)
    assert (drawn.sides["encoder"].embedding.parameters, drawn.sides["decoder"].embedding.parameters) == (260 * 8, 0)
    assert drawn.head.parameters == 260, "the bias"
    apart = diagram(tiny(sharing="separate", head="linear"))
    assert (apart.shared, apart.tied) == (False, False)
    assert apart.sides["decoder"].embedding.parameters == 260 * 8
    assert apart.head.parameters == 260 * 8 + 260


@pytest.mark.parametrize(
    ("family", "encoder", "decoder"),
    [
        ("seq2seq-rnn", [["LSTM, backwards"]] * 2 + [ENDED], [["first state", "LSTM"]] * 2),
        (
            "bahdanau",
            [["GRU, both ways"]],
            [["first state", "encoder-decoder attention", "GRU"], ["readout"]],
        ),
        (
            "luong",
            [["LSTM, backwards"]] * 2 + [ENDED],
            [["first state", "LSTM"]] * 2 + [["encoder-decoder attention"], ["h̃, fed into the next step"]],
        ),
        (
            "gnmt",
            [["LSTM, both ways"], ["LSTM"], ["LSTM"]],
            [["first state", "encoder-decoder attention", "LSTM"], ["first state", "LSTM"], ["first state", "LSTM"]],
        ),
        (
            "convs2s",
            [["convolution"]] * 3 + [["and the embeddings, for the values"]],
            [["convolution", "encoder-decoder attention"]] * 3,
        ),
        (
            "bytenet",
            [["stretched to 1.2 × its length"], *[["layer norm", "convolution"]] * 3, ["layer norm"]],
            [["joined with the encoder's column"], *[["layer norm", "convolution"]] * 3, ["layer norm"]],
        ),
        (
            "transformer",
            [["self-attention", "layer norm", "feed-forward", "layer norm"]] * 3,
            [[one for part in WRITING for one in (part, "layer norm")]] * 3,
        ),
    ],
)
def test_blocks_stand_in_the_order_in_which_they_compute(
    family: str, encoder: list[list[str]], decoder: list[list[str]]
) -> None:
    drawn = diagram(tiny_plan("preset", f"{family}-tiny").build())
    for side, wanted in ((drawn.sides["encoder"], encoder), (drawn.sides["decoder"], decoder)):
        assert [[block.name for stretch in row.stretches for block in stretch.blocks] for row in side.rows] == wanted


@pytest.mark.parametrize(
    ("family", "feeds", "fed"),
    [
        ("bahdanau", "encoder-decoder attention", ["maxout of U s + V x + C c"]),
        ("gnmt", "encoder-decoder attention", ["over [x; c]"] * 2),
        ("luong", "h̃, fed into the next step", ["over [x; h̃]"]),
    ],
)
def test_what_is_fed_to_others(family: str, feeds: str, fed: list[str]) -> None:
    found = blocks(diagram(tiny_plan("preset", f"{family}-tiny").build()).sides["decoder"])
    assert [block.name for block in found if "feeds" in block.marks] == [feeds]
    assert [block.formula for block in found if "fed" in block.marks] == fed


def test_what_is_known_of_a_block() -> None:
    attention, _, feed, _ = blocks(diagram(tiny()).sides["encoder"])[:4]
    assert attention.sizes == {"heads": 2, "key width": 4, "value width": 4}
    assert feed.sizes == {"hidden": 12}
    dilated = blocks(diagram(tiny_plan("preset", "bytenet-tiny").build()).sides["encoder"])
    assert [block.sizes for block in dilated if block.sizes] == [{"kernel": 3, "dilation": d} for d in (1, 2, 4)]


def test_what_runs_past_a_block() -> None:
    def pasts(model: Model) -> list[bool]:
        return [one.past for row in diagram(model).sides["decoder"].rows for one in row.stretches]

    assert pasts(tiny()) == [True, False] * 6, "a norm stands after what it joins"
    assert pasts(tiny(wiring="pre")) == [True] * 6 + [False], "or before, in the same stretch; one more closes"
    assert not any(pasts(tiny(join="none")))


def test_positions_are_what_the_part_adds() -> None:
    model = tiny()
    vectors = position_vectors(model.source, 7)
    torch.testing.assert_close(vectors, sinusoids(7, vectors.size(1)).double())
    assert not position_vectors(tiny(position="none").source, 3).any()
    assert position_vectors(tiny(position={"name": "learned", "limit": 4}, longest=4).target, 9).shape[0] == 4


def test_masks_hide_padding_and_the_future() -> None:
    seen = masks(tiny(), PAIR)
    assert seen["encoder"].int().tolist() == [[[1] * 4] * 4, [[1, 1, 0, 0]] * 4]
    assert seen["decoder"].int().tolist() == [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]] * 2
    assert seen["cross"].int().tolist() == [[[1] * 4] * 3, [[1, 1, 0, 0]] * 3]


@pytest.mark.parametrize("name", ["bahdanau-tiny", "luong-tiny", "gnmt-tiny", "convs2s-tiny"])
def test_masks_hide_padding_from_every_decoder(name: str) -> None:
    model = tiny_plan("preset", name).build().eval()
    seen = masks(model, PAIR)
    assert seen["cross"].int().tolist() == [[[1] * 4] * 3, [[1, 1, 0, 0]] * 3]
