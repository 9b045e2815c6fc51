"""Every rule of `check`, by its sentence."""

import math
from dataclasses import fields

import pytest

from weft.errors import WeftError
from weft.parts.options import Number, Rate
from weft.plans.catalogue import Catalogue
from weft.plans.catalogues import ALL, DECODERS, ENCODERS, MIXERS, NORMS, OPTIMISERS
from weft.plans.part import Part
from weft.plans.plan import RELATED, Plan
from weft.plans.rules import check, problems

PLAN = Plan().with_settings({"width": 8, "vocabulary": 260})


def wrong(*settings: str) -> list[str]:
    return problems(PLAN.with_settings(settings))


def known(catalogue: Catalogue) -> str:
    return f"Known: {', '.join(sorted(catalogue))}."


RECURRENT = " or ".join(name for name in MIXERS if MIXERS.makes(name).is_recurrent)


def test_nothing_wrong() -> None:
    assert wrong() == []
    check(PLAN)


# Names


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("encoder.mixer=attenton", "encoder.mixer: there is no mixer 'attenton'. Did you mean 'attention'?"),
        ("cross=attenton", "decoder.cross: there is no cross 'attenton'. Did you mean 'attention'?"),
        (
            "decoder.feed_forward=swigul",
            "decoder.feed_forward: there is no feed_forward 'swigul'. Did you mean 'swiglu'?",
        ),
        ("encoder.norm=layr", "encoder.norm: there is no norm 'layr'. Did you mean 'layer'?"),
        ("encoder.join=ad", "encoder.join: there is no join 'ad'. Did you mean 'add'?"),
        ("encoder.wiring=prae", "encoder.wiring: there is no wiring 'prae'. Did you mean 'pre'?"),
        ("encoder.stack=plane", "encoder.stack: there is no encoder.stack 'plane'. Did you mean 'plain'?"),
        ("decoder.stack=plane", "decoder.stack: there is no decoder.stack 'plane'. Did you mean 'plain'?"),
        ("embedding=scald", "embedding: there is no embedding 'scald'. Did you mean 'scaled'?"),
        ("position=sinus", "position: there is no position 'sinus'. Did you mean 'sinusoid'?"),
        ("head=tide", "head: there is no head 'tide'. Did you mean 'tied'?"),
        ("init=xaver", "init: there is no init 'xaver'. Did you mean 'xavier'?"),
        ("schedule=cosin", "training.schedule: there is no schedule 'cosin'. Did you mean 'cosine'?"),
        (
            "encoder.feed_forward.activation=rleu",
            "encoder.feed_forward.activation: there is no activation 'rleu'. Did you mean 'relu'?",
        ),
    ],
)
def test_unknown_part_in_any_slot(setting: str, sentence: str) -> None:
    (found,) = wrong(setting)
    assert found.startswith((sentence + " Known: ", sentence + " Similar: ", sentence + " `weft show parts`"))


def test_an_unknown_part_in_a_list() -> None:
    (found,) = wrong("encoder.norm=[layer, rms, layr]")
    assert found.startswith("encoder.norm: there is no norm 'layr'.")


def test_an_unknown_option() -> None:
    assert wrong("encoder.mixer.head=4") == [
        "encoder.mixer: there is no option of mixer 'attention' named 'head'. Did you mean 'heads'? "
        "Known: bias, dropout, heads, key_width, kv_heads, pattern, position, qk_norm, value_width."
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("heads", "mixer.heads or cross.heads"),
        ("hidden", "feed_forward.hidden"),
        ("smoothing", "head.smoothing"),
        ("score", "cross"),
    ],
)
def test_an_option_without_its_part(name: str, meant: str) -> None:
    with pytest.raises(WeftError, match=f"there is no setting '{name}'. Did you mean {meant}?"):
        PLAN.with_settings({name: 3})


def test_what_is_suggested_for_a_related_word_is_a_setting() -> None:
    for name in RELATED.values():
        PLAN.with_settings({name: "attention" if name in ("mixer", "cross") else 1})


def test_an_option_that_no_part_of_the_plan_has() -> None:
    with pytest.raises(WeftError) as error:
        PLAN.with_settings({"dilation": 3})
    owners = [f"mixer={name}" for name in MIXERS if "dilation" in MIXERS.options(name)]
    assert "mixer=convolution" in owners
    assert str(error.value) == (
        f"no part of this plan has option 'dilation'; {' and '.join(owners)} do. `weft show parts` lists all."
    )


def test_an_option_of_the_wrong_type() -> None:
    assert wrong("encoder.mixer.heads=four") == ["encoder.mixer.heads: expected int, got 'four'."]


# Numbers and words


@pytest.mark.parametrize(
    "setting",
    [
        "encoder.layers",
        "decoder.layers",
        "training.steps",
        "training.batch_tokens",
        "training.accumulate",
        "training.longest",
        "training.validate_every",
        "training.average_of",
        "encoder.mixer.heads",
        "encoder.mixer.kv_heads",
        "encoder.mixer.key_width",
        "decoder.cross.value_width",
        "decoder.feed_forward.hidden",
    ],
)
def test_at_least_one(setting: str) -> None:
    assert wrong(f"{setting}=0") == [f"{setting}: expected at least 1, got 0."]
    assert wrong(f"{setting}=1") == []


@pytest.mark.parametrize("option", ["kernel", "dilation"])
def test_kernel_and_dilation_are_at_least_one(option: str) -> None:
    assert wrong(f"encoder.mixer={{name: convolution, {option}: 0}}") == [
        f"encoder.mixer.{option}: expected at least 1, got 0."
    ]


STACKED = ("decoder.stack=bytenet", "mixer=bottleneck", "cross=none")


def test_stretched_encoder_requires_a_decoder_that_uses_its_columns() -> None:
    assert wrong("encoder.stack=stretched", *STACKED) == []
    assert wrong("encoder.stack=stretched", *STACKED, "cross=additive") == [
        "encoder.stack: attention needs tokens, but the stretched source has none; set encoder.stack=plain."
    ]
    assert wrong("encoder.stack=stretched") == [
        "encoder.stack: nothing uses the columns per target token of stretched; "
        "set encoder.stack=plain, or decoder.stack=bytenet."
    ]


def test_blocks_have_at_least_one_token() -> None:
    assert wrong("batching={name: blocks, length: 0}") == ["training.batching.length: expected at least 1, got 0."]


def test_stretch_factor_is_at_least_one() -> None:
    assert wrong("encoder.stack={name: stretched, factor: 0.9}", *STACKED) == [
        "encoder.stack.factor: expected at least 1, got 0.9."
    ]


@pytest.mark.parametrize(
    ("setting", "most"),
    [
        ("encoder.mixer={{name: convolution, kernel: {}}}", 256),
        ("encoder.mixer={{name: bottleneck, dilation: {}}}", 1024),
        ("encoder.stack={{name: stretched, factor: {}}}", 10),
        ("training.longest={}", 65536),
        ("training.batching={{name: blocks, length: {}}}", 65536),
    ],
)
def test_upper_bounds_of_what_has_no_weights(setting: str, most: int) -> None:
    assert wrong(*STACKED, setting.format(most)) == []
    (found,) = wrong(*STACKED, setting.format(most + 1))
    assert found.endswith(f": expected at most {most}, got {most + 1}.")


def test_standard_deviation_is_bounded() -> None:
    assert wrong("init={name: gpt, std: 0.0}") == ["init.std: expected more than 0, got 0.0."]
    assert wrong("init={name: gpt, std: 11}") == ["init.std: expected at most 10, got 11."]


@pytest.mark.parametrize("setting", ["width", "vocabulary"])
def test_sizes_are_at_least_one(setting: str) -> None:
    assert wrong(f"{setting}=0") == [f"{setting}: expected at least 1, got 0."]


def test_limit_of_learned_positions_is_at_least_one() -> None:
    assert wrong("position={name: learned, limit: 0}") == ["position.limit: expected at least 1, got 0."]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("training.weight_decay", "-0.5"),
        ("training.clip", "-0.5"),
        ("training.patience", "-1"),
        ("training.seed", "-1"),
        ("training.schedule.warmup", "-1"),
    ],
)
def test_at_least_zero(setting: str, value: str) -> None:
    assert wrong(f"{setting}={value}") == [f"{setting}: expected at least 0, got {value}."]
    assert wrong(f"{setting}=0") == []


@pytest.mark.parametrize("value", ["-0.1", "1.0", "7.5", ".nan"])
@pytest.mark.parametrize(
    "setting",
    [
        "encoder.dropout",
        "decoder.dropout",
        "encoder.mixer.dropout",
        "decoder.cross.dropout",
        "decoder.feed_forward.dropout",
        "head.smoothing",
        "training.bpe_dropout",
        "training.beta1",
        "training.beta2",
        "training.ema",
    ],
)
def test_rate_out_of_range(setting: str, value: str) -> None:
    assert wrong(f"{setting}={value}") == [f"{setting}: expected a rate, 0 ≤ p < 1, got {value.lstrip('.')}."]
    assert wrong(f"{setting}=0") == []


def test_momentum_out_of_range() -> None:
    assert wrong("optimiser={name: muon, momentum: 1}") == [
        "training.optimiser.momentum: expected a rate, 0 ≤ p < 1, got 1."
    ]
    assert wrong("optimiser=muno") == [
        f"training.optimiser: there is no optimiser 'muno'. Did you mean 'muon'? {known(OPTIMISERS)}"
    ]


def test_floor_out_of_range() -> None:
    assert wrong("schedule={name: cosine, floor: 2}") == ["training.schedule.floor: expected a rate, 0 ≤ p < 1, got 2."]


def test_rate_out_of_range_in_a_list_of_parts() -> None:
    assert wrong("encoder.feed_forward=[{name: mlp, dropout: 3}, {name: mlp, dropout: 0.5}]") == [
        "encoder.feed_forward.dropout: expected a rate, 0 ≤ p < 1, got 3."
    ]


@pytest.mark.parametrize("setting", ["training.rate", "training.epsilon", "encoder.norm.epsilon"])
def test_positive_numbers(setting: str) -> None:
    assert wrong(f"{setting}=0.0") == [f"{setting}: expected more than 0, got 0.0."]
    assert wrong(f"{setting}=.nan") == [f"{setting}: expected more than 0, got nan."]


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("average=newest", "training.average: expected last or best, got 'newest'."),
        ("precision=half", "training.precision: expected auto or float32 or bfloat16, got 'half'."),
        ("sharing=none", "sharing: expected joint or separate, got 'none'."),
        (
            "encoder.mixer={name: lstm, direction: up}",
            "encoder.mixer.direction: expected forward or backward or both, got 'up'.",
        ),
    ],
)
def test_unknown_word_of_a_setting(setting: str, sentence: str) -> None:
    assert wrong(setting) == [sentence]


def test_vocabulary_is_at_least_one() -> None:
    """What a codec needs, its task knows."""
    assert wrong("vocabulary=0") == ["vocabulary: expected at least 1, got 0."]


def test_every_bounded_setting_of_a_plan_has_a_test_here() -> None:
    """A new bound needs its sentence read above; those of parts are read in the contracts."""
    sections = (Plan(), Plan().decoder, Plan().training)
    bounded = {
        field.name
        for section in sections
        for field in fields(section)
        if isinstance(option := field.metadata["option"], Number | Rate) or option.words
    }
    assert bounded == {
        *("vocabulary", "width", "layers", "steps", "batch_tokens", "accumulate", "longest", "validate_every"),
        *("average_of", "weight_decay", "clip", "patience", "seed", "rate", "epsilon"),
        *("dropout", "bpe_dropout", "beta1", "beta2", "ema", "average", "sharing", "precision"),
    }


def test_every_number_of_a_part_has_an_upper_bound() -> None:
    """A stranger may write any: only those stay open that neither memory nor time depends on."""
    open_ended = {"features", "warmup", "epsilon", "base"}  # up to the width; numbers of a formula
    numbers = {
        name: catalogue.declared(part, name)
        for catalogue in ALL
        for part in catalogue
        for name in catalogue.options(part)
        if "expected int" in (said := "".join(catalogue.problems(Part(part, {name: "four"}), ""))) or "float" in said
    }
    assert {"heads", "epsilon", "hidden"} <= numbers.keys()
    bounded = {name for name, each in numbers.items() if isinstance(each, Rate) or each.most < math.inf}
    assert numbers.keys() - bounded == open_ended


# Combinations


def test_heads_that_do_not_divide_the_width() -> None:
    assert wrong("encoder.mixer.heads=3") == [
        "encoder.mixer.heads: 3 heads do not divide a width of 8; choose a divisor, or set key_width and value_width."
    ]


def test_the_default_number_of_heads_that_does_not_divide_the_width() -> None:
    assert [line.split(";")[0] for line in wrong("width=12")] == [
        "encoder.mixer.heads, decoder.mixer.heads, decoder.cross.heads: 8 heads do not divide a width of 12"
    ]


def test_kv_heads_that_do_not_divide_the_heads() -> None:
    assert wrong("mixer={name: attention, heads: 4, kv_heads: 3}") == [
        "encoder.mixer.kv_heads, decoder.mixer.kv_heads: 3 do not divide 4 heads; choose a divisor."
    ]
    assert wrong("mixer={name: attention, heads: 4, kv_heads: 2}") == []
    assert len(wrong("mixer={name: attention, heads: 4, kv_heads: 0}")) == 1
    assert len(wrong("mixer={name: attention, heads: 4, kv_heads: 8}")) == 1


def test_an_option_of_yes_or_no() -> None:
    assert wrong("encoder.mixer.bias=no", "feed_forward.bias=false", "head.bias=yes") == []
    assert wrong("encoder.mixer.bias=maybe") == ["encoder.mixer.bias: expected bool, got 'maybe'."]


def test_a_norm_of_queries_and_keys_by_name() -> None:
    assert wrong("encoder.mixer.qk_norm=rms", "decoder.mixer.qk_norm={name: layer, epsilon: 1e-4}") == []
    assert wrong("encoder.mixer.qk_norm=rsm") == [
        f"encoder.mixer.qk_norm: there is no norm 'rsm'. Did you mean 'rms'? {known(NORMS)}"
    ]


def test_heads_of_free_width_need_not_divide() -> None:
    assert wrong("encoder.mixer={name: attention, heads: 3, key_width: 2, value_width: 2}") == []
    assert len(wrong("encoder.mixer={name: attention, heads: 3, key_width: 2}")) == 1
    assert len(wrong("encoder.mixer={name: attention, heads: 3, key_width: 2, value_width: null}")) == 1


def test_one_wiring_for_all_layers() -> None:
    assert wrong("decoder.wiring=[pre, post]") == [
        "decoder.wiring: expected the same for all layers, got pre, post; set one."
    ]
    assert wrong("decoder.wiring=[pre, pre]") == []


def test_a_tied_head_with_concatenated_positions() -> None:
    assert wrong("position=concatenated") == [
        "head: tied needs embeddings as wide as the model, but concatenated positions take a part of the width; "
        "set head=linear, or position=sinusoid."
    ]
    assert wrong("position=concatenated", "head=linear") == []


def test_default_features_of_positions_need_some_width() -> None:
    assert wrong("width=3", "mixer=gru", "cross=dot", "position=concatenated", "head=linear") == [
        "position.features: expected 1 to 2, got 0."
    ]


@pytest.mark.parametrize("features", [0, 8, 9])
def test_features_of_positions_are_a_part_of_the_width(features: int) -> None:
    assert wrong(f"position={{name: concatenated, features: {features}}}", "head=linear") == [
        f"position.features: expected 1 to 7, got {features}."
    ]


@pytest.mark.parametrize("direction", ["backward", "both"])
def test_decoder_mixers_read_forward_only(direction: str) -> None:
    assert wrong(f"decoder.mixer={{name: gru, direction: {direction}}}") == [
        f"decoder.mixer.direction: {direction} would read tokens that are not generated yet; "
        "set decoder.mixer.direction=forward."
    ]
    assert wrong("decoder.mixer={name: gru, direction: forward}") == []


def test_two_directions_require_a_width_of_two() -> None:
    found = wrong("width=1", "mixer=lstm", "cross=dot")
    assert found == [
        "width: two directions need at least 2, half of it each, got 1; "
        "set width=2, or encoder.mixer.direction=forward."
    ]
    assert wrong("width=1", "encoder.mixer={name: lstm, direction: forward}", "decoder.mixer=lstm", "cross=dot") == []


ALONE = ("feed_forward=none", "norm=none", "join=none")


def under(stack: str, cell: str) -> tuple[str, ...]:
    """The settings of a decoder of this kind, and of an encoder that gives what it needs."""
    needs = DECODERS.makes(stack).needs
    giving = [f"encoder.stack={name}" for name in ENCODERS if needs and ENCODERS.makes(name).gives == needs]
    return f"mixer={cell}", f"encoder.mixer={{name: {cell}, direction: backward}}", f"decoder.stack={stack}", *giving


@pytest.mark.parametrize("stack", ["from-encoder-state", "bahdanau", "gnmt", "input-feeding"])
def test_recurrent_decoders_require_recurrent_mixers(stack: str) -> None:
    assert wrong(*ALONE, "layers=1", "cross=dot", *under(stack, "lstm"), "decoder.mixer=attention") == [
        f"decoder.mixer: {stack} needs a recurrent mixer, {RECURRENT}, got attention."
    ]


@pytest.mark.parametrize("stack", ["bahdanau", "gnmt", "input-feeding", "convs2s"])
def test_attending_decoders_require_a_cross(stack: str) -> None:
    assert wrong(*ALONE, "layers=1", "cross=none", *under(stack, "gru")) == [
        f"decoder.cross: {stack} attends to the source; expected one of attention, additive, general, dot, got none."
    ]


@pytest.mark.parametrize("stack", ["bahdanau", "gnmt", "input-feeding", "convs2s"])
def test_decoders_without_feed_forward_refuse_one(stack: str) -> None:
    assert wrong("layers=1", "norm=none", "join=none", "cross=dot", *under(stack, "gru")) == [
        f"decoder.feed_forward: {stack} does not support mlp; set decoder.feed_forward=none."
    ]


def test_decoder_has_to_see_the_source() -> None:
    assert wrong("cross=none") == [
        "decoder.cross: without attention the decoder never sees the source; set decoder.cross to one of attention, "
        "additive, general, dot, or choose a decoder that receives the source otherwise: "
        "decoder.stack=from-encoder-state (as one vector) or decoder.stack=bytenet (column by column)."
    ]
    assert len(wrong("cross=[none, dot]", "decoder.layers=1")) == 1
    assert wrong("cross=[none, dot]") == []
    assert wrong("cross=none", "decoder.stack=bytenet") == []


BOTH_WAYS = (
    "encoder.mixer: from-encoder-state needs final states of one direction, got both; "
    "set encoder.mixer.direction=backward."
)


@pytest.mark.parametrize(
    ("mixer", "layers", "found"),
    [
        ("{name: lstm, direction: backward}", 2, []),
        ("{name: lstm, direction: forward}", 2, []),
        ("[{name: lstm, direction: forward}, {name: lstm, direction: backward}]", 2, []),
        ("lstm", 2, [BOTH_WAYS]),
        ("[{name: lstm, direction: forward}, {name: lstm, direction: both}]", 2, [BOTH_WAYS]),
        (
            "attention",
            2,
            ["encoder.mixer: from-encoder-state needs final states of its own mixer, lstm, got attention."],
        ),
        (
            "{name: gru, direction: forward}",
            2,
            ["encoder.mixer: from-encoder-state needs final states of its own mixer, lstm, got gru."],
        ),
        (
            "{name: lstm, direction: forward}",
            3,
            [
                "encoder.layers: from-encoder-state needs one final state for each of its 2 layers, got 3; "
                "set encoder.layers=2."
            ],
        ),
    ],
)
def test_final_states_match_the_decoder_in_number_mixer_and_direction(
    mixer: str, layers: int, found: list[str]
) -> None:
    stacks = ("decoder.stack=from-encoder-state", "encoder.stack=final-states")
    settings = (*ALONE, *stacks, "cross=none", "decoder.mixer=lstm")
    assert wrong(*settings, f"encoder.mixer={mixer}", "layers=2", f"encoder.layers={layers}") == found


def test_final_states_are_given_if_and_only_if_needed() -> None:
    settings = (*ALONE, "encoder.mixer={name: gru, direction: backward}", "decoder.mixer=gru")
    assert wrong(*settings, "cross=none", "decoder.stack=from-encoder-state") == [
        "encoder.stack: from-encoder-state needs the final states of the encoder; set encoder.stack=final-states."
    ]
    assert wrong(*settings, "cross=dot", "decoder.stack=gnmt", "encoder.stack=final-states") == [
        "encoder.stack: nothing uses the final states of final-states; "
        "set encoder.stack=plain, or decoder.stack=from-encoder-state or decoder.stack=input-feeding."
    ]
    assert wrong(*settings, "cross=dot", "decoder.stack=input-feeding", "encoder.stack=final-states") == []


def test_source_embeddings_require_a_cross_that_uses_them() -> None:
    assert wrong("encoder.stack=with-embeddings") == [
        "encoder.stack: nothing uses the source embeddings of with-embeddings; "
        "set encoder.stack=plain, or cross=additive or cross=general or cross=dot."
    ]
    assert wrong("encoder.stack=with-embeddings", "cross=[attention, dot]") == []


def test_bahdanau_has_one_layer_without_norm_and_join() -> None:
    settings = (*ALONE, "mixer=gru", "cross=additive", "decoder.stack=bahdanau")
    assert wrong(*settings, "decoder.layers=2") == [
        "decoder.layers: bahdanau has at most 1, got 2; set decoder.layers=1, or decoder.stack=gnmt or input-feeding."
    ]
    assert wrong(*settings, "decoder.layers=1", "decoder.norm=layer", "decoder.join=add") == [
        "decoder.norm: bahdanau does not support layer; set decoder.norm=none.",
        "decoder.join: bahdanau does not support add; set decoder.join=none.",
    ]
    assert wrong(*settings, "decoder.layers=1") == []


@pytest.mark.parametrize("stack", ["gnmt", "input-feeding"])
def test_bottom_layer_without_norm_and_one_attention_for_all_layers(stack: str) -> None:
    settings = (*ALONE, *under(stack, "lstm"), "layers=3")
    assert wrong(*settings, "cross=dot", "decoder.norm=[rms, layer]") == [
        f"decoder.norm: the bottom layer of {stack} does not support rms; set 'decoder.norm=[none, layer, rms]'."
    ]
    assert wrong(*settings, "cross=dot", "decoder.norm=[none, layer, rms]") == []
    assert wrong(*settings, "cross=[dot, general]") == [
        f"decoder.cross: {stack} has one attention for all layers, got a list of 2; set one."
    ]


def test_longest_sentence_fits_the_positions() -> None:
    assert wrong("position={name: learned, limit: 100}") == [
        "training.longest: 200 tokens are more than the 100 positions; set longest=100, or position.limit=200."
    ]
    assert wrong("position={name: learned, limit: 100}", "longest=100") == []


def test_rules_of_a_side_that_the_model_does_not_have_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = PLAN.with_settings(["decoder.mixer={name: gru, direction: both}", "cross=none"])
    assert [line.partition(":")[0] for line in problems(plan)] == ["decoder.mixer.direction", "decoder.cross"]
    monkeypatch.setattr(Plan, "sides", lambda plan: {"encoder": plan.encoder})
    assert problems(plan) == []


# Together


def test_several_problems_in_one_report() -> None:
    plan = PLAN.with_settings(["name=mine", "norm=layr", "dropout=2", "mixer.heads=3"])
    with pytest.raises(WeftError) as error:
        check(plan)
    first, *lines = str(error.value).splitlines()
    assert first == "plan 'mine' cannot be built:"
    assert [line.split(": ")[0] for line in lines] == [
        "  encoder.norm, decoder.norm",
        "  encoder.dropout, decoder.dropout",
        "  encoder.mixer.heads, decoder.mixer.heads",
    ]


def test_the_same_mistake_in_a_list_of_parts_is_said_once() -> None:
    (found,) = wrong("encoder.norm=[layr, layer, layr]")
    assert found.startswith("encoder.norm: there is no norm 'layr'.")


def test_what_is_built_is_checked() -> None:
    with pytest.raises(WeftError, match="cannot be built"):
        PLAN.with_settings(["norm=layr"]).build()
