"""Plans: settings by path, sentences for those that cannot be, plain data and back."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.plans.part import Part
from weft.plans.plan import Plan
from weft.plans.presets import read_plan_file

PLAN = Plan()


def refusal(settings: dict[str, object] | list[str] | str) -> str:
    with pytest.raises(WeftError) as error:
        PLAN.with_settings(settings)
    return str(error.value)


# Paths


def test_the_defaults_are_the_base_model() -> None:
    assert (PLAN.width, PLAN.encoder.layers, PLAN.decoder.dropout) == (512, 6, 0.1)


def test_a_plan_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        PLAN.width = 3


def test_settings_leave_the_plan_as_it_was() -> None:
    PLAN.with_settings({"width": 8})
    assert PLAN.width == 512


def test_a_setting_of_both_sides() -> None:
    plan = PLAN.with_settings(["dropout=0.3", "feed_forward=swiglu"])
    for side in (plan.encoder, plan.decoder):
        assert side.dropout == 0.3
        assert side.feed_forward == Part("swiglu")


def test_a_setting_of_one_side() -> None:
    plan = PLAN.with_settings(["encoder.layers=2", "decoder.feed_forward=swiglu"])
    assert (plan.encoder.layers, plan.decoder.layers) == (2, 6)
    assert (plan.encoder.feed_forward, plan.decoder.feed_forward) == (Part("mlp"), Part("swiglu"))


@pytest.mark.parametrize("key", ["steps", "training.steps"])
def test_a_bare_name_finds_its_section(key: str) -> None:
    assert PLAN.with_settings({key: 500}).training.steps == 500


def test_dashes_are_as_good_as_underscores() -> None:
    assert PLAN.with_settings(["batch-tokens=50"]).training.batch_tokens == 50


def test_an_option_of_a_part_on_both_sides() -> None:
    plan = PLAN.with_settings(["mixer.heads=4"])
    assert plan.encoder.mixer == plan.decoder.mixer == Part("attention", {"heads": 4})
    assert plan.decoder.cross == Part("attention")


def test_an_option_of_a_part_on_one_side() -> None:
    plan = PLAN.with_settings(["encoder.mixer.heads=4"])
    assert plan.encoder.mixer == Part("attention", {"heads": 4})
    assert plan.decoder.mixer == Part("attention")


def test_an_option_leaves_the_others() -> None:
    plan = PLAN.with_settings(["mixer={name: attention, heads: 4}", "mixer.dropout=0.1"])
    assert plan.encoder.mixer == Part("attention", {"heads": 4, "dropout": 0.1})


def test_a_part_in_place_of_a_part_takes_its_options_away() -> None:
    assert PLAN.with_settings(["head=tied"]).head == Part("tied")


def test_an_option_of_the_init_and_of_the_schedule() -> None:
    plan = PLAN.with_settings({"init": "depth-scaled", "schedule.warmup": 10})
    assert plan.init == Part("depth-scaled")
    assert plan.training.schedule == Part("inverse-sqrt", {"warmup": 10})


def test_an_option_of_a_part_within_a_part() -> None:
    plan = PLAN.with_settings(
        {"encoder.feed_forward": {"name": "switch", "expert": "mlp"}, "encoder.feed_forward.expert.hidden": 3}
    )
    assert plan.encoder.feed_forward == Part("switch", {"expert": {"name": "mlp", "hidden": 3}})


def test_a_list_of_parts() -> None:
    plan = PLAN.with_settings(["encoder.norm=[layer, {name: rms, epsilon: 0.1}]"])
    assert plan.encoder.norm == (Part("layer"), Part("rms", {"epsilon": 0.1}))


def test_an_option_of_a_list_of_parts_goes_to_each() -> None:
    plan = PLAN.with_settings(["norm=[layer, rms]", "norm.epsilon=0.1"])
    assert plan.decoder.norm == (Part("layer", {"epsilon": 0.1}), Part("rms", {"epsilon": 0.1}))


def test_later_settings_win() -> None:
    assert PLAN.with_settings(["layers=2", "encoder.layers=3", "width=8", "width=16"]).encoder.layers == 3


def test_one_setting_alone() -> None:
    assert PLAN.with_settings("layers=2").encoder.layers == 2


# Values


@pytest.mark.parametrize("setting", ["rate=1e-3", "rate=0.001", "rate='1e-3'", "rate=.1e-2", "rate=1.0E-3"])
def test_numbers_as_people_write_them(setting: str) -> None:
    assert PLAN.with_settings([setting]).training.rate == 0.001


def test_numbers_as_people_write_them_in_options() -> None:
    assert PLAN.with_settings(["norm.epsilon=1e-3"]).encoder.norm == Part("layer", {"epsilon": 0.001})


def test_strings_that_are_numbers() -> None:
    assert PLAN.with_settings({"rate": "1e-3"}).training.rate == 0.001


def test_an_int_for_a_float_becomes_one() -> None:
    rate = PLAN.with_settings({"dropout": 0}).encoder.dropout
    assert rate == 0.0
    assert isinstance(rate, float)


def test_a_whole_float_for_an_int_becomes_one() -> None:
    steps = PLAN.with_settings(["steps=1e4"]).training.steps
    assert steps == 10_000
    assert isinstance(steps, int)


def test_an_empty_value_is_the_empty_string() -> None:
    assert PLAN.with_settings({"about": "something"}).with_settings(["about="]).about == ""


# Refusals


def test_an_unknown_setting() -> None:
    assert refusal(["drpout=0.1"]) == (
        "there is no setting 'drpout'. Did you mean 'dropout'? Similar: bpe_dropout, about. `weft show PLAN` lists all."
    )


def test_an_unknown_section() -> None:
    assert refusal(["encodr.layers=3"]).startswith(
        "there is no setting 'encodr'. Did you mean 'encoder'? Similar: decoder, "
    )


def test_an_unknown_setting_of_a_section() -> None:
    assert refusal(["encoder.layrs=3"]) == (
        "encoder.layrs: there is no setting 'layrs'. Did you mean 'layers'? "
        "Known: dropout, feed_forward, join, layers, mixer, norm, stack, wiring."
    )


def test_a_slot_that_a_side_does_not_have() -> None:
    assert refusal(["encoder.cross=attention"]).startswith("encoder.cross: there is no setting 'cross'.")


def test_a_whole_section() -> None:
    assert refusal(["encoder=3"]).startswith("encoder is a section; set one of encoder.layers, encoder.dropout, ")


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("layers=many", "layers: expected int, got 'many'."),
        ("layers=2.5", "layers: expected int, got 2.5."),
        ("layers=true", "layers: expected int, got True."),
        ("layers=", "layers: expected int, got ''."),
        ("dropout=some", "dropout: expected float, got 'some'."),
        ("dropout=false", "dropout: expected float, got False."),
        ("rate=[1, 2]", "rate: expected float, got [1, 2]."),
        ("best_by=3", "best_by: expected str, got 3."),
        ("width=null", "width: expected int, got None."),
    ],
)
def test_a_value_of_the_wrong_type(setting: str, sentence: str) -> None:
    assert refusal([setting]) == sentence


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("layers", "a setting is key=value, not 'layers'."),
        ("mixer=[attention", "mixer: '[attention' is not a value that YAML can read."),
        ("about=2026-13-01", "about: '2026-13-01' is not a value that YAML can read."),
        ("mixer={heads: 4}", "mixer: a part is a name, or a mapping with a name and options, not {'heads': 4}."),
        ("mixer=[]", "mixer: expected at least one part, got an empty list."),
        ("head=[tied, linear]", "head: expected one part, got a list."),
        ("width.heads=3", "width.heads: width is a plain int and has no options."),
        ("encoder.dropout.rate=3", "encoder.dropout.rate: dropout is a plain float and has no options."),
        (
            "feed_forward.expert.hidden=3",
            "feed_forward.expert.hidden: expert has its default; set expert itself before its options.",
        ),
    ],
)
def test_what_is_no_setting(setting: str, sentence: str) -> None:
    assert refusal([setting]) == sentence


def test_all_problems_in_one_report() -> None:
    assert refusal(["layers=many", "layers", "encoder.layrs=3", "width=8"]).splitlines() == [
        "a setting is key=value, not 'layers'.",
        "layers: expected int, got 'many'.",
        refusal(["encoder.layrs=3"]),
    ]


def test_a_key_that_is_no_string() -> None:
    assert refusal({3: 4}).startswith("there is no setting '3'.")


# Plain data


def test_there_and_back() -> None:
    plan = PLAN.with_settings(
        {"name": "mine", "about": "für √d", "encoder.norm": ["layer", "rms"], "mixer.heads": 4, "rate": 1e-9}
    )
    assert Plan.from_dict(plan.to_dict(), "here") == plan


def test_a_plan_in_plain_data() -> None:
    plain = PLAN.with_settings(["encoder.norm=[layer, rms]", "mixer.heads=4"]).to_dict()
    assert plain["encoder"]["norm"] == ["layer", "rms"]
    assert plain["decoder"]["mixer"] == {"name": "attention", "heads": 4}
    assert plain["decoder"]["cross"] == "attention"


def test_what_is_not_said_has_its_default() -> None:
    plan = Plan.from_dict({"encoder": {"layers": 2}, "width": 8}, "here")
    assert plan == PLAN.with_settings(["encoder.layers=2", "width=8"])


def test_written_plans_are_for_people(tmp_path: Path) -> None:
    PLAN.with_settings({"about": "für √d"}).write(tmp_path / "plan.yaml")
    text = (tmp_path / "plan.yaml").read_text(encoding="utf-8")
    shape = "task: translation\nmodel: encoder-decoder\ncodec: subwords\nwidth: 512\nvocabulary: 37000\n"
    assert text.startswith(f"name: unnamed\nabout: für √d\n{shape}")
    assert "\nencoder:\n  layers: 6\n" in text


def test_everything_wrong_with_plain_data_in_one_report() -> None:
    with pytest.raises(WeftError) as error:
        Plan.from_dict({"encoder": {"layrs": 2, "dropout": "some"}, "wdth": 8, "decoder": 3, 4: 5}, "plan.yaml")
    first, *lines = str(error.value).splitlines()
    assert first == "plan.yaml:"
    assert [line.split(".")[0] for line in lines] == [
        "encoder",
        "encoder",
        "there is no setting 'wdth'",
        "decoder is a section; set one of decoder",
        "there is no setting '4'",
    ]


@pytest.mark.parametrize(("data", "kind"), [([1, 2], "list"), (None, "NoneType"), ("base", "str")])
def test_plain_data_that_is_no_plan(data: object, kind: str) -> None:
    with pytest.raises(WeftError, match=f"^plan.yaml: a plan is a mapping of sections, not {kind}.$"):
        Plan.from_dict(data, "plan.yaml")


def test_settings_and_parts_that_do_not_exist_are_in_one_report() -> None:
    with pytest.raises(WeftError) as error:
        Plan().with_settings(["wirng=pre", "mixer.hads=3", "feed_forward=swigu"])
    said = str(error.value)
    assert "Did you mean 'wiring'?" in said
    assert "Did you mean 'heads'?" in said
    assert "Did you mean 'swiglu'?" in said


def test_numbers_out_of_range_are_in_the_same_report() -> None:
    with pytest.raises(WeftError) as error:
        Plan().with_settings(["wirng=pre", "dropout=2", "steps=0"])
    assert [line.split(": ")[0] for line in str(error.value).splitlines()[1:]] == [
        "encoder.dropout, decoder.dropout",
        "training.steps",
    ]


def test_a_number_that_could_not_be_read_again_is_no_whole_one() -> None:
    with pytest.raises(WeftError, match=r"steps: expected int, got 1e\+19"):
        PLAN.with_settings(["steps=1e19"])


def test_text_that_holds_a_line_end_is_read_again(tmp_path: Path) -> None:
    about = "a\x85b\u2028c"
    PLAN.with_settings({"about": about}).write(tmp_path / "plan.yaml")
    assert read_plan_file(tmp_path / "plan.yaml").about == about
