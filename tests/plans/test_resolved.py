"""A resolved plan builds the same model."""

import pytest

from weft.plans.presets import plan
from weft.plans.resolved import resolved
from weft.plans.size import outline


@pytest.mark.parametrize("name", ["transformer-tiny", "bahdanau-tiny", "convs2s-tiny", "bytenet-tiny", "gnmt-tiny"])
def test_resolved_plan_builds_the_same_model(name: str) -> None:
    said = plan(name)
    full = resolved(said)
    assert resolved(full) == full
    shapes, others = ({key: value.shape for key, value in outline(one).named_parameters()} for one in (said, full))
    assert shapes == others


def test_defaults_are_written_out() -> None:
    full = resolved(plan("transformer-base")).to_dict()
    attention = {"name": "attention", "heads": 8, "key_width": 64, "value_width": 64, "dropout": 0.0}
    assert full["decoder"]["cross"] == attention
    self_attention = {"kv_heads": 8, "bias": True, "qk_norm": "none", "position": "none", "pattern": "full"}
    assert full["encoder"]["mixer"] == {**attention, **self_attention}
    feed_forward = {"name": "mlp", "hidden": 2048, "activation": "relu", "dropout": 0.0, "bias": True}
    assert full["encoder"]["feed_forward"] == feed_forward
    assert full["training"]["schedule"] == {"name": "inverse-sqrt", "warmup": 4000}
    assert full["encoder"]["join"] == "add", "a part without options stays a word"


def test_defaults_that_depend_on_the_side_are_written_out() -> None:
    full = resolved(plan("transformer-tiny").with_settings(["mixer=[lstm, gru]", "cross=additive"]))
    assert [part.options for part in full.encoder.mixer] == [{"direction": "both"}] * 2
    assert [part.options for part in full.decoder.mixer] == [{"direction": "forward"}] * 2
    assert full.decoder.cross.options == {"hidden": 128}
