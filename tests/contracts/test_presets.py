"""Contracts of every preset, and the sizes of table 3 (SPEC 2.2)."""

from pathlib import Path

import pytest
import torch

from tests.contracts.tiny import TINY_TRANSLATORS
from weft.data.codecs import CODECS, Special
from weft.data.codecs.subwords import END, START
from weft.parts.frontend import PAD
from weft.plans import names, plan
from weft.plans.part import Part
from weft.plans.plan import Plan
from weft.plans.presets import read_plan_file
from weft.plans.rules import check

every_preset = pytest.mark.parametrize("name", names())

# Millions of parameters, as the paper's table 3 has them; where it has no number, those of the base model.
TABLE_3 = {
    "transformer-base": 65,
    "transformer-a1": 65,
    "transformer-a4": 65,
    "transformer-a16": 65,
    "transformer-a32": 65,
    "transformer-b16": 58,
    "transformer-b32": 60,
    "transformer-c-n2": 36,
    "transformer-c-n4": 50,
    "transformer-c-n8": 80,
    "transformer-c-d256": 28,
    "transformer-c-d1024": 168,
    "transformer-c-ff1024": 53,
    "transformer-c-ff4096": 90,
    "transformer-d-drop0": 65,
    "transformer-d-drop2": 65,
    "transformer-d-smooth0": 65,
    "transformer-d-smooth2": 65,
    "transformer-e": 65,
    "transformer-big": 213,
}


def parameters(chosen: Plan) -> int:
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in chosen.build().parameters())


@every_preset
def test_it_passes_the_check(name: str) -> None:
    check(plan(name))


@every_preset
def test_it_builds_without_memory_for_weights(name: str) -> None:
    assert parameters(plan(name)) > 0


@every_preset
def test_it_goes_through_yaml_and_back(name: str, tmp_path: Path) -> None:
    plan(name).write(tmp_path / "plan.yaml")
    assert read_plan_file(tmp_path / "plan.yaml") == plan(name)


@every_preset
def test_it_has_its_name_and_a_line_that_cites_its_paper(name: str) -> None:
    assert plan(name).name == name
    assert "arXiv:" in plan(name).about
    assert "\n" not in plan(name).about


@pytest.mark.parametrize("name", TABLE_3)
def test_the_sizes_of_table_3(name: str) -> None:
    assert parameters(plan(name)) / 1e6 == pytest.approx(TABLE_3[name], rel=0.07)


@pytest.mark.parametrize("name", TABLE_3)
def test_the_rates_of_table_3(name: str) -> None:
    """At its peak the paper's schedule (eq. 3) is d_model^-0.5 · warmup^-0.5, with a warm-up of 4000 steps."""
    assert plan(name).training.schedule == Part("inverse-sqrt")
    assert plan(name).training.rate == pytest.approx((plan(name).width * 4000) ** -0.5, rel=0.005)


@pytest.mark.parametrize("name", TINY_TRANSLATORS)
def test_the_size_of_the_tiny_models(name: str) -> None:
    """The size that the score of record is told for, in every family."""
    assert parameters(plan(name)) / 1e6 == pytest.approx(2.6, rel=0.05)
    assert plan(name).vocabulary == 10_000


LANGUAGE_MODELS = [name for name in names() if plan(name).task.name == "language-model"]
PUBLISHED = {"gpt-2": 124_439_808, "llama": 6_738_415_616}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_language_models_have_their_size(name: str) -> None:
    """To the last parameter."""
    assert parameters(plan(name)) == PUBLISHED[name]


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_language_models_are_decoders_that_read_blocks(name: str) -> None:
    chosen = plan(name)
    assert chosen.model == Part("decoder")
    assert chosen.training.batching.name == "blocks"
    assert chosen.training.best_by == "loss"
    assert chosen.head.options.get("smoothing", 0.0) == 0.0
    assert chosen.training.batching.options["length"] == chosen.training.longest


def test_the_convolutions_of_conv_lm_see_a_block() -> None:
    dilations = [part.options["dilation"] for part in plan("conv-lm").decoder.mixer]
    assert sum(dilations) + 1 == plan("conv-lm").training.batching.options["length"]
    assert len(dilations) == plan("conv-lm").decoder.layers


@pytest.mark.parametrize(
    ("name", "differences"),
    {
        "transformer-a1": {"heads": 1},
        "transformer-a4": {"heads": 4},
        "transformer-a16": {"heads": 16},
        "transformer-a32": {"heads": 32},
        "transformer-b16": {"key_width": 16},
        "transformer-b32": {"key_width": 32},
        "transformer-c-d256": {"key_width": 32, "value_width": 32},
        "transformer-c-d1024": {"key_width": 128, "value_width": 128},
        "transformer-big": {"heads": 16},
    }.items(),
)
def test_every_attention_of_a_row_has_its_heads(name: str, differences: dict[str, int]) -> None:
    chosen = plan(name)
    for part in (chosen.encoder.mixer, chosen.decoder.mixer, chosen.decoder.cross):
        assert part.options == differences


def test_gnmt_is_residual_from_the_third_layer_on_and_reads_both_ways_in_the_first() -> None:
    chosen = plan("gnmt")
    for side in (chosen.encoder, chosen.decoder):
        assert [part.name for part in side.join] == ["none"] * 2 + ["add"] * 6
    assert [part.options.get("direction", "both") for part in chosen.encoder.mixer] == ["both"] + ["forward"] * 7


def test_bytenets_dilations_double_from_1_to_16() -> None:
    for side in (plan("bytenet").encoder, plan("bytenet").decoder):
        assert [part.options["dilation"] for part in side.mixer] == [1, 2, 4, 8, 16]


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        ("transformer-base", "encoder.layers", 6),
        ("transformer-base", "encoder.dropout", 0.1),
        ("transformer-base", "head.options", {"smoothing": 0.1}),
        ("transformer-c-n2", "decoder.layers", 2),
        ("transformer-c-n4", "encoder.layers", 4),
        ("transformer-c-n8", "encoder.layers", 8),
        ("transformer-c-d256", "width", 256),
        ("transformer-c-d256", "encoder.feed_forward.options", {"hidden": 2048}),
        ("transformer-c-ff1024", "decoder.feed_forward.options", {"hidden": 1024}),
        ("transformer-c-ff4096", "encoder.feed_forward.options", {"hidden": 4096}),
        ("transformer-d-drop0", "decoder.dropout", 0.0),
        ("transformer-d-drop2", "encoder.dropout", 0.2),
        ("transformer-d-smooth0", "head.options", {}),
        ("transformer-d-smooth2", "head.options", {"smoothing": 0.2}),
        ("transformer-e", "position.name", "learned"),
        ("transformer-big", "encoder.dropout", 0.3),
        ("seq2seq-rnn", "encoder.mixer.options", {"direction": "backward"}),
        ("gnmt", "encoder.layers", 8),
        ("bytenet", "encoder.layers", 30),
        ("transformer-tiny", "encoder.layers", 4),
        ("transformer-tiny", "width", 128),
    ],
)
def test_what_a_row_varies(name: str, setting: str, value: object) -> None:
    found: object = plan(name)
    for word in setting.split("."):
        found = getattr(found, word)
    assert found == value


@every_preset
def test_what_an_encoder_reads_is_padded_with_the_codecs_own_id(name: str) -> None:
    """The model tells padding by this id."""
    recipe = plan(name)
    assert "encoder" not in recipe.sides() or CODECS[recipe.codec.name].special == Special(PAD, START, END)
