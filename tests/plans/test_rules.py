"""Every rule of `check`, by its sentence."""

import pytest

from weft.errors import WeftError
from weft.plans.catalogues import ALL
from weft.plans.plan import ELSEWHERE, Plan
from weft.plans.rules import AT_LEAST, AT_MOST, GOING_ON, POSITIVE, RATES, WORDS, check, problems

PLAN = Plan().with_settings({"width": 8, "vocabulary": 260})


def wrong(*settings: str) -> list[str]:
    return problems(PLAN.with_settings(settings))


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
def test_an_unknown_part_in_any_slot(setting: str, sentence: str) -> None:
    (found,) = wrong(setting)
    assert found.startswith((sentence + " Known: ", sentence + " Similar: ", sentence + " `weft show parts`"))


def test_an_unknown_part_in_a_list() -> None:
    (found,) = wrong("encoder.norm=[layer, rms, layr]")
    assert found.startswith("encoder.norm: there is no norm 'layr'.")


def test_an_unknown_option() -> None:
    assert wrong("encoder.mixer.head=4") == [
        "encoder.mixer: there is no option of mixer 'attention' named 'head'. Did you mean 'heads'? "
        "Known: dropout, heads, key_width, value_width."
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("warmup", "schedule.warmup"),
        ("heads", "mixer.heads or cross.heads"),
        ("hidden", "feed_forward.hidden"),
        ("smoothing", "head.smoothing"),
        ("lr", "rate"),
        ("score", "cross"),
    ],
)
def test_an_option_without_its_part(name: str, meant: str) -> None:
    with pytest.raises(WeftError, match=f"there is no setting '{name}'. Did you mean {meant}?"):
        PLAN.with_settings({name: 3})


def test_what_is_called_otherwise_elsewhere_is_a_setting_here() -> None:
    for name in ELSEWHERE.values():
        PLAN.with_settings({name: "attention" if name in ("mixer", "cross") else 1})


def test_an_option_that_no_part_of_the_plan_has() -> None:
    with pytest.raises(WeftError) as error:
        PLAN.with_settings({"dilation": 3})
    assert str(error.value) == (
        "no part of this plan has 'dilation'; mixer=convolution, mixer=plain-convolution, mixer=bottleneck would. "
        "`weft show parts` lists all."
    )


def test_an_option_of_the_wrong_type() -> None:
    assert wrong("encoder.mixer.heads=four") == ["encoder.mixer.heads: int is wanted, not 'four'."]


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
        "encoder.mixer.key_width",
        "decoder.cross.value_width",
        "decoder.feed_forward.hidden",
    ],
)
def test_at_least_one(setting: str) -> None:
    assert wrong(f"{setting}=0") == [f"{setting}: at least 1 is wanted, not 0."]
    assert wrong(f"{setting}=1") == []


@pytest.mark.parametrize("option", ["kernel", "dilation"])
def test_a_window_of_nothing(option: str) -> None:
    assert wrong(f"encoder.mixer={{name: convolution, {option}: 0}}") == [
        f"encoder.mixer.{option}: at least 1 is wanted, not 0."
    ]


STACKED = ("decoder.stack=bytenet", "mixer=bottleneck", "cross=none")


def test_columns_for_nobody() -> None:
    assert wrong("encoder.stack=stretched", *STACKED) == []
    assert wrong("encoder.stack=stretched", *STACKED, "cross=additive") == [
        "encoder.stack: the columns of stretched are no tokens for additive to look at; set encoder.stack=plain."
    ]
    assert wrong("encoder.stack=stretched") == [
        "encoder.stack: stretched hands on a column for each token of a translation, and only bytenet stands on them; "
        "set encoder.stack=plain."
    ]


def test_a_source_is_stretched_and_not_cut() -> None:
    assert wrong("encoder.stack={name: stretched, factor: 0.9}", *STACKED) == [
        "encoder.stack.factor: at least 1 is wanted, not 0.9."
    ]


@pytest.mark.parametrize(
    ("setting", "most"),
    [
        ("encoder.mixer={{name: convolution, kernel: {}}}", 256),
        ("encoder.mixer={{name: bottleneck, dilation: {}}}", 1024),
        ("encoder.stack={{name: stretched, factor: {}}}", 10),
        ("training.longest={}", 65536),
    ],
)
def test_what_costs_no_weights_cannot_fill_the_memory(setting: str, most: int) -> None:
    assert wrong(*STACKED, setting.format(most)) == []
    (found,) = wrong(*STACKED, setting.format(most + 1))
    assert found.endswith(f": at most {most} is allowed, not {most + 1}.")


def test_a_width_of_nothing() -> None:
    assert wrong("width=0") == ["width: at least 1 is wanted, not 0."]


def test_learned_positions_for_nothing() -> None:
    assert wrong("position={name: learned, limit: 0}") == ["position.limit: at least 1 is wanted, not 0."]


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
    assert wrong(f"{setting}={value}") == [f"{setting}: at least 0 is wanted, not {value}."]
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
    ],
)
def test_a_rate_out_of_range(setting: str, value: str) -> None:
    assert wrong(f"{setting}={value}") == [f"{setting}: a rate lies in 0 ≤ p < 1, not {value.lstrip('.')}."]
    assert wrong(f"{setting}=0") == []


def test_a_floor_out_of_range() -> None:
    assert wrong("schedule={name: cosine, floor: 2}") == ["training.schedule.floor: a rate lies in 0 ≤ p < 1, not 2."]


def test_a_rate_out_of_range_in_a_list_of_parts() -> None:
    assert wrong("encoder.feed_forward=[{name: mlp, dropout: 3}, {name: mlp, dropout: 0.5}]") == [
        "encoder.feed_forward.dropout: a rate lies in 0 ≤ p < 1, not 3."
    ]


@pytest.mark.parametrize("setting", ["training.rate", "training.epsilon", "encoder.norm.epsilon"])
def test_more_than_nothing(setting: str) -> None:
    assert wrong(f"{setting}=0.0") == [f"{setting}: more than 0 is wanted, not 0.0."]
    assert wrong(f"{setting}=.nan") == [f"{setting}: more than 0 is wanted, not nan."]


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("average=newest", "training.average: last or best is wanted, not 'newest'."),
        ("best_by=chrf", "training.best_by: bleu or loss is wanted, not 'chrf'."),
        ("sharing=none", "sharing: joint or separate is wanted, not 'none'."),
        (
            "encoder.mixer={name: lstm, direction: up}",
            "encoder.mixer.direction: forward or backward or both is wanted, not 'up'.",
        ),
    ],
)
def test_a_word_that_is_none_of_the_allowed(setting: str, sentence: str) -> None:
    assert wrong(setting) == [sentence]


def test_a_vocabulary_too_small_for_bytes() -> None:
    assert wrong("vocabulary=259") == ["vocabulary: at least 260 (256 bytes and 4 signs), not 259."]


def test_every_bounded_number_and_word_has_a_test_here() -> None:
    """A new name in one of the tables of bounds needs its sentence read above."""
    assert {*AT_LEAST, *RATES, *POSITIVE, *WORDS} == {
        *("width", "layers", "steps", "batch_tokens", "accumulate", "longest", "validate_every", "average_of"),
        *("heads", "key_width", "value_width", "hidden", "limit", "kernel", "dilation", "factor"),
        *("weight_decay", "clip", "patience", "seed", "warmup"),
        *("dropout", "smoothing", "bpe_dropout", "beta1", "beta2", "floor"),
        *("rate", "epsilon"),
        *("average", "best_by", "sharing", "direction"),
    }


def test_every_number_of_a_part_has_an_end() -> None:
    """A stranger may write any: only those stay open that neither memory nor time depends on."""
    open_ended = {"features", "warmup", "epsilon"}  # the first ends at the width, the others are numbers of a formula
    numbers = {
        name
        for catalogue in ALL
        for part in catalogue
        for name, option in catalogue.options(part).items()
        if option.annotation in (int, float, int | None, float | None)
    }
    assert numbers - {*AT_MOST, *RATES} == open_ended


# Combinations


def test_heads_that_do_not_divide_the_width() -> None:
    assert wrong("encoder.mixer.heads=3") == [
        "encoder.mixer.heads: 3 heads do not divide a width of 8; choose others, or set key_width and value_width."
    ]


def test_the_default_number_of_heads_that_does_not_divide_the_width() -> None:
    assert [line.split(";")[0] for line in wrong("width=12")] == [
        "encoder.mixer.heads, decoder.mixer.heads, decoder.cross.heads: 8 heads do not divide a width of 12"
    ]


def test_heads_of_free_width_need_not_divide() -> None:
    assert wrong("encoder.mixer={name: attention, heads: 3, key_width: 2, value_width: 2}") == []
    assert len(wrong("encoder.mixer={name: attention, heads: 3, key_width: 2}")) == 1
    assert len(wrong("encoder.mixer={name: attention, heads: 3, key_width: 2, value_width: null}")) == 1


def test_two_wirings_in_one_stack() -> None:
    assert wrong("decoder.wiring=[pre, post]") == ["decoder.wiring: one stack has one wiring, not 2."]
    assert wrong("decoder.wiring=[pre, pre]") == []


def test_a_tied_head_with_concatenated_positions() -> None:
    assert wrong("position=concatenated") == [
        "head: tied needs embeddings as wide as the model, and concatenated positions take a part of the width; "
        "set head=linear, or position=sinusoid."
    ]
    assert wrong("position=concatenated", "head=linear") == []


@pytest.mark.parametrize("features", [0, 8, 9])
def test_positions_that_take_all_of_the_width_or_nothing(features: int) -> None:
    assert wrong(f"position={{name: concatenated, features: {features}}}", "head=linear") == [
        f"position.features: between 1 and 7, not {features}."
    ]


@pytest.mark.parametrize("direction", ["backward", "both"])
def test_a_decoder_that_reads_what_is_not_written(direction: str) -> None:
    assert wrong(f"decoder.mixer={{name: gru, direction: {direction}}}") == [
        f"decoder.mixer.direction: a decoder reads forward only, not {direction}: "
        "what comes after a token is not written yet."
    ]
    assert wrong("decoder.mixer={name: gru, direction: forward}") == []


def test_two_directions_in_a_width_of_one() -> None:
    found = wrong("width=1", "mixer=lstm", "cross=dot")
    assert found == ["width: at least 2 for two directions, half of it each."]
    assert wrong("width=1", "encoder.mixer={name: lstm, direction: forward}", "decoder.mixer=lstm", "cross=dot") == []


ALONE = ("feed_forward=none", "norm=none", "join=none")


def under(stack: str, cell: str) -> tuple[str, ...]:
    """The settings of a decoder of this kind, and of an encoder that hands on what it takes up."""
    encoder = f"encoder.mixer={{name: {cell}, direction: backward}}"
    return f"mixer={cell}", encoder, f"decoder.stack={stack}", *(["encoder.stack=final-states"] if stack in GOING_ON else [])


@pytest.mark.parametrize("stack", ["from-encoder-state", "bahdanau", "gnmt", "input-feeding"])
def test_a_recurrent_decoder_without_recurrence(stack: str) -> None:
    assert wrong(*ALONE, "layers=1", "cross=dot", *under(stack, "lstm"), "decoder.mixer=attention") == [
        f"decoder.mixer: {stack} goes from state to state, with lstm or gru, not attention."
    ]


@pytest.mark.parametrize("stack", ["bahdanau", "gnmt", "input-feeding", "convs2s"])
def test_a_decoder_that_looks_with_nothing_to_look_with(stack: str) -> None:
    assert wrong(*ALONE, "layers=1", "cross=none", *under(stack, "gru")) == [
        f"decoder.cross: {stack} looks at the source; choose attention, additive, general, dot."
    ]


@pytest.mark.parametrize("stack", ["bahdanau", "gnmt", "input-feeding", "convs2s"])
def test_a_decoder_that_has_no_place_for_a_feed_forward(stack: str) -> None:
    assert wrong("layers=1", "norm=none", "join=none", "cross=dot", *under(stack, "gru")) == [
        f"decoder.feed_forward: {stack} has no place for one; set decoder.feed_forward=none."
    ]


def test_a_decoder_that_never_sees_the_source() -> None:
    assert wrong("cross=none") == [
        "decoder.cross: with none of them the decoder never sees the source; choose attention, additive, general, dot, "
        "or give it the source with decoder.stack=from-encoder-state (one vector) or decoder.stack=bytenet (its columns)."
    ]
    assert len(wrong("cross=[none, dot]", "decoder.layers=1")) == 1
    assert wrong("cross=[none, dot]") == []
    assert wrong("cross=none", "decoder.stack=bytenet") == []


BOTH_WAYS = (
    "encoder.mixer: final-states hands on the state of whoever reads in one direction; set encoder.mixer.direction=backward."
)


@pytest.mark.parametrize(
    ("mixer", "layers", "found"),
    [
        ("{name: lstm, direction: backward}", 2, []),
        ("{name: lstm, direction: forward}", 2, []),
        ("[{name: lstm, direction: forward}, {name: lstm, direction: backward}]", 2, []),
        ("lstm", 2, [BOTH_WAYS]),
        ("[{name: lstm, direction: forward}, {name: lstm, direction: both}]", 2, [BOTH_WAYS]),
        ("attention", 2, ["encoder.mixer: from-encoder-state goes on from its own kind, lstm, not attention."]),
        (
            "{name: gru, direction: forward}",
            2,
            ["encoder.mixer: from-encoder-state goes on from its own kind, lstm, not gru."],
        ),
        (
            "{name: lstm, direction: forward}",
            3,
            ["encoder.layers: from-encoder-state goes on from as many as it has, 2, not 3."],
        ),
    ],
)
def test_a_decoder_that_goes_on_from_another_kind_of_encoder(mixer: str, layers: int, found: list[str]) -> None:
    settings = (*ALONE, "cross=none", "decoder.mixer=lstm", "decoder.stack=from-encoder-state", "encoder.stack=final-states")
    assert wrong(*settings, f"encoder.mixer={mixer}", "layers=2", f"encoder.layers={layers}") == found


def test_last_states_that_nobody_hands_on_or_nobody_takes_up() -> None:
    settings = (*ALONE, "encoder.mixer={name: gru, direction: backward}", "decoder.mixer=gru")
    assert wrong(*settings, "cross=none", "decoder.stack=from-encoder-state") == [
        "encoder.stack: from-encoder-state goes on from where the encoder's layers ended; set encoder.stack=final-states."
    ]
    assert wrong(*settings, "cross=dot", "decoder.stack=gnmt", "encoder.stack=final-states") == [
        "encoder.stack: final-states hands on the states that its layers ended in, and only from-encoder-state and input-feeding "
        "go on from there; set encoder.stack=plain."
    ]
    assert wrong(*settings, "cross=dot", "decoder.stack=input-feeding", "encoder.stack=final-states") == []


def test_source_embeddings_that_nothing_takes_up() -> None:
    assert wrong("encoder.stack=with-embeddings") == [
        "encoder.stack: with-embeddings hands on the source embeddings, and only additive, general and dot take them up; "
        "set encoder.stack=plain."
    ]
    assert wrong("encoder.stack=with-embeddings", "cross=[attention, dot]") == []


def test_attention_before_each_step_in_several_layers_or_with_a_norm_or_join() -> None:
    settings = (*ALONE, "mixer=gru", "cross=additive", "decoder.stack=bahdanau")
    assert wrong(*settings, "decoder.layers=2") == ["decoder.layers: bahdanau has one layer, not 2; gnmt has several."]
    assert wrong(*settings, "decoder.layers=1", "decoder.norm=layer", "decoder.join=add") == [
        "decoder.norm: bahdanau has no place for one; set decoder.norm=none.",
        "decoder.join: bahdanau has no place for one; set decoder.join=none.",
    ]
    assert wrong(*settings, "decoder.layers=1") == []


@pytest.mark.parametrize("stack", ["gnmt", "input-feeding"])
def test_a_bottom_layer_with_a_norm_and_attention_that_is_dealt_to_layers(stack: str) -> None:
    settings = (*ALONE, *under(stack, "lstm"), "layers=3")
    assert wrong(*settings, "cross=dot", "decoder.norm=[rms, layer]") == [
        f"decoder.norm: the bottom layer of {stack} has no place for one; set 'decoder.norm=[none, layer, rms]'."
    ]
    assert wrong(*settings, "cross=dot", "decoder.norm=[none, layer, rms]") == []
    assert wrong(*settings, "cross=[dot, general]") == [
        f"decoder.cross: {stack} looks once in a step, with one part, not 2."
    ]


def test_training_on_sentences_longer_than_the_positions() -> None:
    assert wrong("position={name: learned, limit: 100}") == [
        "training.longest: 200 tokens, but the positions end at 100; set longest=100, or position.limit=200."
    ]
    assert wrong("position={name: learned, limit: 100}", "longest=100") == []


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
