"""Decoders alone, exported as GPT-2 and as Llama: transformers, CTranslate2 and GGUF rate texts as weft does."""

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.imports.public_models import byte_level, logits, same_logits
from tests.toys import PAIRS
from weft.data.codecs import PublicTokeniser, Subwords, TextCodec
from weft.data.codecs.symbols import Characters, Words
from weft.errors import WeftError
from weft.exports.export import FORMATS, export
from weft.folder import Folder
from weft.imports.importing import import_model
from weft.plans.plan import Plan
from weft.weights import parameters

SIZE = 300
TEXTS = [source for source, _ in PAIRS[:5]]
ALONE = {
    "task": "language-model",
    "model": "decoder",
    "cross": "none",
    "wiring": "pre",
    "width": 16,
    "layers": 2,
    "dropout": 0.0,
    "vocabulary": SIZE,
    "training.batching": {"name": "blocks", "length": 40},
    "training.longest": 40,
}
GPT2 = {
    **ALONE,
    "embedding": "plain",
    "position": {"name": "learned", "limit": 40},
    "head": {"name": "tied", "bias": False},
    "mixer": {"name": "attention", "heads": 4},
    "feed_forward": {"name": "mlp", "activation": "gelu-tanh"},
}
LLAMA = {
    **ALONE,
    "embedding": "plain",
    "position": "none",
    "head": {"name": "linear", "bias": False},
    "norm": "rms",
    "mixer": {
        "name": "attention",
        "heads": 4,
        "kv_heads": 2,
        "bias": False,
        "position": {"name": "rotary", "base": 500.0},
    },
    "feed_forward": {"name": "swiglu", "hidden": 24, "bias": False},
}
VARIANTS = {
    "gpt-2": GPT2,
    "gpt-2, scaled and untied": {**GPT2, "embedding": "scaled", "head": {"name": "linear", "bias": False}},
    "gpt-2, scaled and tied": {**GPT2, "embedding": "scaled"},
    "gpt-2, sinusoid": {**GPT2, "position": "sinusoid", "feed_forward": {"name": "mlp", "activation": "gelu"}},
    "gpt-2, no biases": {
        **GPT2,
        "mixer": {"name": "attention", "heads": 4, "kv_heads": 2, "bias": False},
        "feed_forward": {"name": "mlp", "activation": "relu", "bias": False, "hidden": 20},
    },
    "llama": LLAMA,
    "llama, tied": {**LLAMA, "head": {"name": "tied", "bias": False}, "norm": {"name": "rms", "epsilon": 1e-3}},
    "llama, biases": {
        **LLAMA,
        "mixer": {"name": "attention", "heads": 4, "position": "rotary"},
        "feed_forward": {"name": "swiglu", "hidden": 24},
    },
    "llama, wide heads": {
        **LLAMA,
        "mixer": {
            "name": "attention",
            "heads": 2,
            "key_width": 12,
            "value_width": 12,
            "bias": False,
            "position": "rotary",
        },
    },
}


def public() -> PublicTokeniser:
    return PublicTokeniser.made(byte_level(SIZE), SIZE - 1, SIZE - 1, None, SIZE)


def model_folder(path: Path, settings: dict[str, Any], codec: TextCodec | None = None, **facts: Any) -> Folder:
    """A model with random weights, larger ones than a training begins with."""
    codec = public() if codec is None else codec
    plan = Plan().with_settings({**settings, "vocabulary": len(codec), "codec": codec.name})
    torch.manual_seed(3)
    weights = {name: value.detach() + 0.1 * torch.randn_like(value) for name, value in parameters(plan.build()).items()}
    folder = Folder(path)
    folder.describe(plan, {"tokeniser": codec}, **{"starts": False, **facts})
    folder.finish(weights)
    return folder


def sample(folder: Path) -> Path:
    file = folder / "sample.txt"
    file.write_text("".join(f"{text}\n" for text in TEXTS))
    return file


def to(name: str) -> str:
    """The format, if what it needs is installed."""
    if find_spec(FORMATS[name].package) is None:
        pytest.skip(f"{FORMATS[name].package} is not installed")
    return name


@pytest.mark.parametrize("form", ["huggingface", "ctranslate2", "gguf"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_agrees(variant: str, form: str, tmp_path: Path) -> None:
    if form == "gguf" and not variant.startswith("llama"):
        pytest.skip("GGUF is for Llamas")
    folder = model_folder(tmp_path / "model", VARIANTS[variant])
    found = export(folder, to(form), tmp_path / "out", sample=sample(tmp_path))
    assert found.gap < 1e-4
    assert found.unit == "continuations"
    assert [(one.beam, one.same, one.cut, one.different) for one in found.searched] == [(1, 5, 0, ())]


@pytest.mark.parametrize("form", ["huggingface", "gguf"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_there_and_back(variant: str, form: str, tmp_path: Path) -> None:
    """What was exported and is imported again has the same logits and the same ids."""
    if form == "gguf" and not variant.startswith("llama"):
        pytest.skip("GGUF is for Llamas")
    folder = model_folder(tmp_path / "model", VARIANTS[variant], starts=True, chat_template="{{ messages }}")
    export(folder, to(form), tmp_path / "out", sample=sample(tmp_path))
    back = import_model(tmp_path / "out" / ("model.gguf" if form == "gguf" else ""), tmp_path / "back")
    ids = torch.randint(0, SIZE, (2, 30))
    torch.testing.assert_close(logits(back, ids), logits(folder, ids), atol=1e-4, rtol=1e-4)
    assert back.codec().encode_all(TEXTS) == folder.codec().encode_all(TEXTS)
    assert (back.about()["starts"], back.about()["chat_template"]) == (True, "{{ messages }}")
    assert back.about()["context"] == 40


@pytest.mark.parametrize("variant", ["llama", "llama, tied"])
def test_transformers_reads_the_gguf_file(variant: str, tmp_path: Path) -> None:
    """An outside truth for the order of rotary pairs and the names of tensors."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    folder = model_folder(tmp_path / "model", VARIANTS[variant])
    export(folder, to("gguf"), tmp_path / "out", sample=sample(tmp_path))
    file = tmp_path / "out" / "model.gguf"
    config = transformers.LlamaConfig(**load_gguf_checkpoint(file)["config"])
    theirs = transformers.LlamaForCausalLM(config).eval()
    tensors = load_gguf_checkpoint(file, return_tensors=True, model_to_load=theirs)["tensors"]
    missing, strange = theirs.load_state_dict(tensors, strict=False)
    assert (set(missing) <= {"lm_head.weight"}, strange) == (True, [])
    theirs.tie_weights()
    same_logits(folder, theirs, length=30)


@pytest.mark.parametrize("form", ["huggingface", "ctranslate2", "gguf"])
@pytest.mark.parametrize("kind", ["subwords", "characters"])
def test_codecs_of_ones_own(kind: str, form: str, tmp_path: Path) -> None:
    texts = [text for pair in PAIRS for text in pair]
    codec = Subwords.train(texts, 280) if kind == "subwords" else Characters.train(texts, 100)
    folder = model_folder(tmp_path / "model", LLAMA, codec, starts=True)
    if (kind, form) == ("characters", "gguf"):
        with pytest.raises(WeftError, match=r"GGUF has no pre-tokeniser like that of codec 'characters'"):
            export(folder, to(form), tmp_path / "out", sample=sample(tmp_path))
        return
    assert export(folder, to(form), tmp_path / "out", sample=sample(tmp_path)).gap < 1e-4


def test_transformers_starts_prompts_as_weft_does(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    for starts in (True, False):
        folder = model_folder(tmp_path / f"{starts}", GPT2, starts=starts)
        export(folder, "huggingface", tmp_path / f"out {starts}", sample=sample(tmp_path))
        theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / f"out {starts}")
        ids = folder.codec().encode("red green")
        assert theirs("red green").input_ids == [SIZE - 1] * starts + ids
        assert theirs.decode(ids) == "red green"


def test_half_precision_is_half_as_large(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "model", LLAMA)
    for form, file in (("huggingface", "model.safetensors"), ("gguf", "model.gguf")):
        sizes = []
        for precision in ("float32", "float16"):
            out = tmp_path / f"{form}-{precision}"
            assert export(folder, to(form), out, precision, sample(tmp_path)).gap < 0.1
            sizes.append((out / file).stat().st_size)
        assert sizes[1] < 0.8 * sizes[0]


REFUSED = [
    ({"wiring": "post"}, "decoder.wiring is 'post'; GPT-2 supports only 'pre'."),
    ({"head": "tied"}, "GPT-2 has no head bias; set head.bias=false."),
    ({"mixer.position": "rotary"}, "decoder.mixer.position is 'rotary'; GPT-2 supports only 'none'."),
    ({"mixer.qk_norm": "rms"}, "decoder.mixer sets qk_norm, but GPT-2 has no such option."),
    ({"mixer.pattern": "window"}, "decoder.mixer.pattern is 'window'; GPT-2 supports only 'full'."),
    ({"mixer": "lstm"}, "decoder.mixer is 'lstm'; GPT-2 supports only 'attention'."),
    (
        {"norm": [{"name": "layer", "epsilon": 1e-3}, "layer"]},
        "decoder.norm is {'name': 'layer', 'epsilon': 0.001} and layer, but GPT-2 requires identical layers.",
    ),
]


@pytest.mark.parametrize(("settings", "sentence"), REFUSED, ids=str)
def test_what_no_shape_has_is_refused_by_its_slot(settings: dict[str, Any], sentence: str) -> None:
    from weft.exports.huggingface import refuse_inexpressible

    with pytest.raises(WeftError, match="cannot be exported to huggingface:") as refused:
        refuse_inexpressible(Plan().with_settings(GPT2).with_settings(settings))
    assert [line.strip() for line in str(refused.value).splitlines()[1:]] == [sentence]


@pytest.mark.parametrize("name", ["huggingface", "gguf", "ctranslate2"])
def test_rotary_heads_of_odd_width_are_refused(name: str, tmp_path: Path) -> None:
    odd = {**LLAMA, "width": 12, "mixer.heads": 4, "mixer.kv_heads": 2}
    with pytest.raises(WeftError, match="requires an even head width for rotary positions, got 3"):
        export(model_folder(tmp_path / "model", odd), to(name), tmp_path / "out")


def test_gguf_is_for_llamas(tmp_path: Path) -> None:
    with pytest.raises(WeftError) as refused:
        export(model_folder(tmp_path / "model", GPT2), to("gguf"), tmp_path / "out")
    assert "decoder.norm is 'layer'; Llama supports only 'rms'." in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_other_models_are_sent_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(WeftError) as refused:
        export(Folder.find("en-de"), "huggingface", tmp_path / "out")
    assert str(refused.value) == (
        "export to huggingface needs model=decoder, got encoder-decoder. Try --to ctranslate2."
    )


def test_a_vocabulary_that_no_library_has_is_refused(tmp_path: Path) -> None:
    codec = Words.train(TEXTS, 100)
    with pytest.raises(
        WeftError, match="codec 'words' has no equivalent in the tokenizers library; supported: public, subwords, char"
    ):
        export(model_folder(tmp_path / "model", GPT2, codec), "huggingface", tmp_path / "out", sample=sample(tmp_path))
    assert not (tmp_path / "out").exists()


def test_readme_of_ctranslate2_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for starts in (True, False):
        folder = model_folder(tmp_path / f"{starts}", GPT2, starts=starts)
        out = tmp_path / f"out {starts}"
        export(folder, to("ctranslate2"), out, sample=sample(tmp_path))
        (snippet,) = re.findall(r"^```python\n(.*?)^```", (out / "README.md").read_text(), re.DOTALL | re.MULTILINE)
        monkeypatch.chdir(out)
        exec(compile(snippet, "README.md", "exec"), {})


def test_several_ends_stay_several(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "model", GPT2, ends=[SIZE - 1, 5])
    export(folder, to("huggingface"), tmp_path / "out", sample=sample(tmp_path))
    assert json.loads((tmp_path / "out" / "config.json").read_text())["eos_token_id"] == [SIZE - 1, 5]
