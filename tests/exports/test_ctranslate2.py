"""Every preset at a small size, and every part: exported and equal, or refused by the name of its slot."""

import math
from pathlib import Path

import pytest
import torch

from tests.contracts.tiny import PLACES, TRANSLATORS, every_model, stirred
from tests.pairs import pair_batch, prompt
from tests.toys import PAIRS
from weft.data.batches import pad
from weft.data.codecs.subwords import END, SPECIAL_TOKENS, START, Subwords
from weft.decoding import best_first, search_all
from weft.errors import WeftError
from weft.models.encoder_decoder import EncoderDecoder
from weft.plans import plan
from weft.plans.part import Part
from weft.plans.plan import Plan
from weft.plans.resolved import resolved

VOCABULARY = 280
SMALL = {"layers": 2, "dropout": 0.0, "vocabulary": VOCABULARY}
TEXTS = ["red", "die Straße 😀 the end", "one two three four five six"]
REFUSED = {
    ("feed_forward", "bilinear"): "encoder.feed_forward is 'bilinear'; CTranslate2 supports only 'mlp', 'glu'",
    (
        "activation",
        "relu2",
    ): "encoder.feed_forward.activation is 'relu2'; CTranslate2 supports only 'relu', 'gelu'",
    ("activation", "elu"): "encoder.feed_forward.activation is 'elu'; CTranslate2 supports only 'relu', 'gelu'",
    ("activation", "selu"): "decoder.feed_forward.activation is 'selu'; CTranslate2 supports only",
    ("activation", "softplus"): "encoder.feed_forward.activation is 'softplus'; CTranslate2 supports only",
    ("activation", "identity"): "encoder.feed_forward.activation is 'identity'; CTranslate2 supports only",
    ("norm", "none"): "encoder.norm is 'none'; CTranslate2 supports only 'layer', 'rms'.",
}


@pytest.fixture(scope="module")
def tokeniser() -> Subwords:
    return Subwords.train((text for pair in PAIRS for text in pair), VOCABULARY)


def small(chosen: Plan) -> Plan:
    """The same plan, a sixteenth as wide: heads and their widths shrink with it."""
    settings: dict[str, object] = {**SMALL, "width": chosen.width // 16}
    for slot in ("encoder.mixer", "decoder.mixer", "decoder.cross"):
        side, name = slot.split(".")
        options = getattr(getattr(chosen, side), name).options
        settings |= {
            f"{slot}.{key}": max(1, options[key] // 16) for key in ("key_width", "value_width") if key in options
        }
        settings[f"{slot}.heads"] = math.gcd(options.get("heads", 8), chosen.width // 16)
    for side in ("encoder", "decoder"):
        if hidden := getattr(chosen, side).feed_forward.options.get("hidden"):
            settings[f"{side}.feed_forward.hidden"] = hidden // 16
    return chosen.with_settings(settings)


def ending(chosen: Plan, source: list[int]) -> EncoderDecoder:
    """Random weights, and an END that is the likeliest token nine times out of ten: translations are short."""
    model = stirred(chosen.build()).eval()
    assert isinstance(model, EncoderDecoder)
    target = torch.randint(len(SPECIAL_TOKENS), VOCABULARY, (1, 16))
    with torch.no_grad():
        logits = model.head.logits(model.decode(target, model.encode(pad([source]))))[0]
        model.head.bias[END] += (logits.amax(-1) - logits[:, END]).quantile(0.9)
    return model


def assert_equal(chosen: Plan, tokeniser: Subwords, folder: Path) -> None:
    """The same ratings to 1e-4 and the same tokens, with greedy and with beam search."""
    from weft.exports.ctranslate2 import Engine, write

    sources = tokeniser.encode_all(TEXTS)
    model = ending(chosen, sources[-1])
    write(chosen, model, tokeniser, folder, "float32")
    engine = Engine(folder)
    limits = [prompt([model], pad([source])).limits[0] for source in sources]
    for beam in (1, 5):
        ours = [found[0] for found in search_all(best_first(beam, 1.0), [model], sources, START, END)]
        for one, rated in zip(ours, engine.log_probs(TEXTS, [one.ids for one in ours])):
            assert rated[: len(one.ids)] == pytest.approx(one.log_probs, abs=1e-4)
        theirs = engine.translate(TEXTS, beam, limits)
        assert any(END in other for other in theirs)
        for one, other, limit in zip(ours, theirs, limits):
            assert tuple(other) == one.ids or (beam > 1 and END not in other and len(other) == limit)  # cut: see README
    foreign = torch.randint(len(SPECIAL_TOKENS), VOCABULARY, (len(TEXTS), 9)).tolist()  # what no search would find
    for source, target, rated in zip(sources, foreign, engine.log_probs(TEXTS, foreign)):
        loss = model(pair_batch(pad([source]), pad([[*target, END]])))
        assert sum(rated) == pytest.approx(-float(loss.nll), abs=1e-4 * 10)


TRANSFORMERS = [name for name in TRANSLATORS if plan(name).decoder.stack == Part("plain")]


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_every_transformer_is_equal(name: str, tokeniser: Subwords, tmp_path: Path) -> None:
    assert_equal(small(plan(name)), tokeniser, tmp_path)


@pytest.mark.parametrize("name", [name for name in TRANSLATORS if name not in TRANSFORMERS])
def test_every_other_family_is_refused_by_its_slots(name: str) -> None:
    from weft.exports.ctranslate2_spec import refuse_inexpressible

    chosen = plan(name)
    with pytest.raises(WeftError, match="cannot be exported to ctranslate2") as refused:
        refuse_inexpressible(chosen)
    assert f"decoder.stack is {chosen.decoder.stack.name!r}; CTranslate2 supports only 'plain'." in str(refused.value)
    assert str(refused.value).count("encoder.mixer is ") == 1


@pytest.mark.parametrize(("slot", "name"), [(slot, name) for slot, name in every_model() if slot != "preset"])
def test_every_part_is_equal_or_refused(slot: str, name: str, tokeniser: Subwords, tmp_path: Path) -> None:
    from weft.exports.ctranslate2_spec import EXPRESSIBLE, refuse_inexpressible

    chosen = Plan().with_settings({**SMALL, "width": 16, **PLACES[slot](name)})
    if slot == "init" or name in EXPRESSIBLE[slot]:
        assert_equal(chosen, tokeniser, tmp_path)
        return
    with pytest.raises(WeftError, match="cannot be exported to ctranslate2") as refused:
        refuse_inexpressible(chosen)
    assert REFUSED.get((slot, name), f"{slot} is {name!r}; CTranslate2 supports only") in str(refused.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"mixer.key_width": 2, "cross.key_width": 3},
        {"mixer.value_width": 3, "mixer.key_width": 7, "cross.value_width": 16},
        {"sharing": "separate", "head": "linear", "position": "concatenated"},
        {"encoder.wiring": "pre", "encoder.layers": 1, "decoder.layers": 3},
        {"encoder.mixer.heads": 2, "encoder.feed_forward": "swiglu", "encoder.norm": {"name": "rms", "epsilon": 1e-5}},
        {"feed_forward": [{"name": "mlp", "activation": "gelu", "hidden": 5}, "geglu"]},
        {"mixer.bias": False, "feed_forward.bias": False, "embedding": "plain", "head.bias": False},
        {"mixer.kv_heads": 2, "encoder.mixer.kv_heads": 1, "mixer.value_width": 3},
    ],
    ids=str,
)
def test_other_shapes_are_equal(settings: dict[str, object], tokeniser: Subwords, tmp_path: Path) -> None:
    assert_equal(Plan().with_settings({**SMALL, "width": 16, **settings}), tokeniser, tmp_path)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"decoder.cross.heads": 2}, "decoder.mixer and decoder.cross have 2 and 8 heads"),
        ({"feed_forward": ["mlp", "swiglu"]}, "encoder.feed_forward has ReLU and SiLU"),
        (
            {"feed_forward": [{"name": "mlp", "activation": "gelu"}, {"name": "mlp", "activation": "gelu-tanh"}]},
            "has GELU",
        ),
        ({"decoder.norm": "rms"}, "encoder.norm and decoder.norm have 1e-06 and 1e-05 as ε"),
    ],
    ids=str,
)
def test_mixtures_that_ctranslate2_lacks_are_refused(settings: dict[str, object], sentence: str) -> None:
    from weft.exports.ctranslate2_spec import refuse_inexpressible

    with pytest.raises(WeftError, match=sentence):
        refuse_inexpressible(Plan().with_settings({**SMALL, "width": 16, **settings}))


def test_a_resolved_plan_is_accepted() -> None:
    """Options that CTranslate2 does not have, at their defaults."""
    from weft.exports.ctranslate2_spec import refuse_inexpressible

    chosen = Plan().with_settings({**SMALL, "width": 16})
    refuse_inexpressible(resolved(chosen))
    with pytest.raises(WeftError) as refused:
        refuse_inexpressible(chosen.with_settings(["mixer.qk_norm=rms"]))
    assert [line.split()[2] for line in str(refused.value).splitlines()[1:]] == ["qk_norm,"] * 2


def test_all_faults_are_listed_at_once() -> None:
    from weft.exports.ctranslate2_spec import refuse_inexpressible

    with pytest.raises(WeftError) as refused:
        refuse_inexpressible(Plan().with_settings({"norm": "none", "encoder.feed_forward": "bilinear"}))
    assert [line.split()[0] for line in str(refused.value).splitlines()[1:]] == [
        "encoder.feed_forward",
        "encoder.norm",
        "decoder.norm",
    ]
