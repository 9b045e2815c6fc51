"""Folders that transformers wrote give the same logits here; whatever a plan cannot say is refused by its slot."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer

from tests.imports.public_models import SIZE, TEXTS, byte_level, changed, gpt2, llama, same_logits
from weft.data.codecs import PublicTokeniser
from weft.errors import WeftError
from weft.imports.importing import import_model

GPT2 = [
    {},
    {"tie_word_embeddings": False},
    {"n_inner": 50, "activation_function": "gelu", "layer_norm_epsilon": 1e-3},
    {"activation_function": "relu", "n_head": 1},
]
LLAMA = [
    {},
    {"num_key_value_heads": 2},
    {"num_key_value_heads": 1, "tie_word_embeddings": True},
    {"head_dim": 12, "rms_norm_eps": 1e-3},
    {"attention_bias": True, "mlp_bias": True},
    {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}},
]


@pytest.mark.parametrize("settings", GPT2, ids=str)
def test_gpt2_has_the_same_logits(settings: dict[str, Any], tmp_path: Path) -> None:
    theirs = gpt2(tmp_path / "theirs", **settings)
    same_logits(import_model(tmp_path / "theirs", tmp_path / "ours"), theirs)


@pytest.mark.parametrize("settings", LLAMA, ids=str)
def test_llama_has_the_same_logits(settings: dict[str, Any], tmp_path: Path) -> None:
    theirs = llama(tmp_path / "theirs", **settings)
    same_logits(import_model(tmp_path / "theirs", tmp_path / "ours"), theirs)


def test_weights_in_several_files(tmp_path: Path) -> None:
    theirs = llama(tmp_path / "theirs")
    (tmp_path / "theirs" / "model.safetensors").unlink()
    theirs.save_pretrained(tmp_path / "theirs", max_shard_size="20KB")
    assert (tmp_path / "theirs" / "model.safetensors.index.json").exists()
    same_logits(import_model(tmp_path / "theirs", tmp_path / "ours"), theirs)


@pytest.mark.parametrize("has_prefix", [True, False])
def test_pickled_weights_without_their_code(has_prefix: bool, tmp_path: Path) -> None:
    """The names of GPT-2's own file have no prefix, and its masks are in it."""
    theirs, folder = gpt2(tmp_path / "theirs"), tmp_path / "theirs"
    (folder / "model.safetensors").unlink()
    weights = {key if has_prefix else key.removeprefix("transformer."): v for key, v in theirs.state_dict().items()}
    prefix = "transformer." if has_prefix else ""
    weights[f"{prefix}h.0.attn.bias"] = torch.ones(1, 1, 40, 40).tril()
    torch.save(weights, folder / "pytorch_model.bin")
    same_logits(import_model(folder, tmp_path / "ours"), theirs)


def test_half_precision_is_kept(tmp_path: Path) -> None:
    theirs = llama(tmp_path / "theirs").to(torch.bfloat16)
    theirs.save_pretrained(tmp_path / "theirs")
    folder = import_model(tmp_path / "theirs", tmp_path / "ours")
    weights = 2 * sum(parameter.numel() for parameter in theirs.parameters())
    assert weights < folder.weights().stat().st_size < 1.2 * weights
    same_logits(folder, type(theirs).from_pretrained(tmp_path / "theirs", dtype=torch.float32))


def test_model_folder_tells_where_it_came_from(tmp_path: Path) -> None:
    llama(tmp_path / "theirs")
    (tmp_path / "theirs" / "README.md").write_text("made for a test")
    changed_config = {"chat_template": "{{ messages }}", "eos_token": "<|endoftext|>"}
    (tmp_path / "theirs" / "tokenizer_config.json").write_text(json.dumps(changed_config))
    folder = import_model(tmp_path / "theirs", tmp_path / "ours")
    assert folder.about() == {
        "imported": {"from": "theirs", "format": "Hugging Face"},
        "context": 64,
        "starts": True,
        "chat_template": "{{ messages }}",
    }
    assert folder.card() == "made for a test"
    assert folder.plan().name == "theirs"
    assert sorted(file.name for file in folder.path.iterdir()) == [
        "README.md",
        "SHA256SUMS",
        "about.json",
        "model.safetensors",
        "plan.yaml",
        "tokeniser.json",
    ]


def test_whether_prompts_begin_with_the_start_token(tmp_path: Path) -> None:
    """As the tokeniser itself does it, or as its configuration says."""
    gpt2(tmp_path / "gpt2")
    llama(tmp_path / "plain", starts=False)
    llama(tmp_path / "told", starts=False)
    (tmp_path / "told" / "tokenizer_config.json").write_text('{"add_bos_token": true}')
    starts = {
        name: import_model(tmp_path / name, tmp_path / f"our {name}").about()["starts"]
        for name in ("gpt2", "plain", "told")
    }
    assert starts == {"gpt2": False, "plain": False, "told": True}


def test_several_ends_are_noted(tmp_path: Path) -> None:
    llama(tmp_path / "theirs", eos_token_id=[7, 9])
    folder = import_model(tmp_path / "theirs", tmp_path / "ours")
    assert folder.codec().special.end == 7
    assert folder.about()["ends"] == [7, 9]


def test_two_files_of_gpt2_are_the_same_tokeniser(tmp_path: Path) -> None:
    gpt2(tmp_path / "theirs")
    whole = import_model(tmp_path / "theirs", tmp_path / "whole").codec()
    learned = json.loads((tmp_path / "theirs" / "tokenizer.json").read_text())["model"]
    (tmp_path / "theirs" / "tokenizer.json").unlink()
    vocab = learned["vocab"] | {"<|endoftext|>": SIZE - 1}
    (tmp_path / "theirs" / "vocab.json").write_text(json.dumps(vocab))
    merges = "".join(f"{left} {right}\n" for left, right in learned["merges"])
    (tmp_path / "theirs" / "merges.txt").write_text(f"#version: 0.2\n{merges}")
    halves = import_model(tmp_path / "theirs", tmp_path / "halves").codec()
    assert halves.encode_all(TEXTS) == whole.encode_all(TEXTS)
    assert halves.special == whole.special


def test_rows_without_a_token(tmp_path: Path) -> None:
    """A matrix may have more rows than there are tokens, to be of a round size."""
    theirs = gpt2(tmp_path / "theirs", vocab_size=320)
    folder = import_model(tmp_path / "theirs", tmp_path / "ours")
    same_logits(folder, theirs)
    codec = folder.codec()
    assert len(codec) == 320
    assert codec.decode([319, *codec.encode("red")]) == "red"
    assert codec.readable([319]) == ["?"]
    assert codec.characters([319, 310]) == ["", ""]


REFUSED = [
    ("gpt2", {"model_type": "bert"}, "model: {} has model_type = 'bert', but weft imports only 'gpt2', 'llama'."),
    ("gpt2", {"n_embd": "many"}, 'n_embd: expected a whole number above 0, and {} has "many".'),
    ("gpt2", {"n_layer": None}, "n_layer: expected a whole number above 0, and {} lacks it."),
    ("gpt2", {"n_layer": 10**7}, "decoder.layers: expected at most 1000, got 10000000."),
    ("gpt2", {"n_head": 5}, "mixer.heads: 5 heads do not divide a width of 32."),
    (
        "gpt2",
        {"activation_function": "mish"},
        "activation_function: expected one of gelu_new, gelu_pytorch_tanh, gelu, relu, silu, swish, tanh "
        '(feed_forward.activation in a plan), and {} has "mish".',
    ),
    (
        "gpt2",
        {"scale_attn_by_inverse_layer_idx": True},
        "mixer: {} has scale_attn_by_inverse_layer_idx = true, but weft supports only false.",
    ),
    (
        "gpt2",
        {"add_cross_attention": True},
        "cross: {} has add_cross_attention = true, but weft supports only false.",
    ),
    ("gpt2", {"resid_pdrop": 1.5}, "resid_pdrop: expected a rate, 0 ≤ p < 1, and {} has 1.5."),
    ("gpt2", {"tie_word_embeddings": "no"}, 'tie_word_embeddings: expected true or false, and {} has "no".'),
    (
        "llama",
        {"hidden_act": "gelu"},
        'hidden_act: expected one of silu, swish (feed_forward=swiglu in a plan), and {} has "gelu".',
    ),
    (
        "llama",
        {"rope_scaling": {"type": "linear"}},
        'mixer.position: {} has rope_scaling = {{"type": "linear"}}, but weft supports only null.',
    ),
    (
        "llama",
        {"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4}},
        'mixer.position: {} has rope_type = "llama3", but weft supports only "default".',
    ),
    ("llama", {"rms_norm_eps": 0}, "rms_norm_eps: expected a number above 0, and {} has 0."),
    ("llama", {"head_dim": 7}, "mixer.position: rotary pairs need an even head width, not 7."),
    ("llama", {"num_key_value_heads": 3}, "mixer.kv_heads: 3 heads of keys and values do not divide 4 heads."),
    ("llama", {"sliding_window": 32}, "mixer.pattern: {} has sliding_window = 32, but weft supports only null."),
]


@pytest.mark.parametrize(("kind", "values", "sentence"), REFUSED, ids=str)
def test_what_does_not_fit_is_named(kind: str, values: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    {"gpt2": gpt2, "llama": llama}[kind](tmp_path / "theirs")
    changed(tmp_path / "theirs", **values)
    with pytest.raises(WeftError) as refused:
        import_model(tmp_path / "theirs", tmp_path / "ours")
    assert sentence.format(tmp_path / "theirs" / "config.json") in str(refused.value).splitlines()[-1]
    assert [file.name for file in tmp_path.iterdir()] == ["theirs"]


def test_all_that_does_not_fit_is_listed_at_once(tmp_path: Path) -> None:
    gpt2(tmp_path / "theirs")
    changed(tmp_path / "theirs", n_embd=-1, activation_function="mish", add_cross_attention=True)
    with pytest.raises(WeftError) as refused:
        import_model(tmp_path / "theirs", tmp_path / "ours")
    first, *others = str(refused.value).splitlines()
    assert first == f"{tmp_path / 'theirs' / 'config.json'} cannot be imported:"
    assert [line.split(":")[0].strip() for line in others] == ["n_embd", "cross", "activation_function"]


def test_tensors_that_do_not_fit_are_listed(tmp_path: Path) -> None:
    theirs, folder = gpt2(tmp_path / "theirs"), tmp_path / "theirs"
    weights = {**theirs.state_dict()}
    (folder / "model.safetensors").unlink()
    del weights["transformer.h.1.ln_2.bias"]
    weights["transformer.wpe.weight"] = torch.zeros(7, 32)
    weights["transformer.ln_f.bias"] = torch.zeros(32, dtype=torch.int32)
    weights["transformer.h.0.attn.scale"] = torch.zeros(1)
    torch.save(weights, folder / "pytorch_model.bin")
    with pytest.raises(WeftError) as refused:
        import_model(folder, tmp_path / "ours")
    assert str(refused.value).splitlines() == [
        f"{folder} does not match its configuration:",
        "  transformer.wpe.weight is (7, 32), but the configuration needs (40, 32)",
        "  transformer.h.1.ln_2.bias is missing",
        "  transformer.ln_f.bias is stored as int32, expected floats",
        "  transformer.h.0.attn.scale has no place in a model of this shape",
    ]


def without(name: str) -> Any:
    return lambda folder: (folder / name).unlink()


def written(name: str, text: str | bytes) -> Any:
    return lambda folder: (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)


def only_index(index: dict[str, Any]) -> Any:
    def change(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))

    return change


def pickled(thing: object) -> Any:
    def change(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        torch.save(thing, folder / "pytorch_model.bin")

    return change


class Evil:
    def __reduce__(self) -> Any:
        return print, ("never",)


BROKEN = [
    (without("config.json"), "is not a Hugging Face folder: it has no config.json."),
    (written("config.json", "{"), "config.json is not JSON: "),
    (written("config.json", "[]"), "config.json: expected a mapping of names to values, got []."),
    (written("config.json", b"\xff"), "config.json is not JSON: "),
    (without("model.safetensors"), "has no weights: neither model.safetensors nor pytorch_model.bin, nor an index"),
    (written("model.safetensors", "x" * 100), "model.safetensors is damaged or not a safetensors file"),
    (only_index({}), "model.safetensors.index.json has no weight_map, which says where each tensor is."),
    (
        only_index({"weight_map": {"a": "../b.safetensors"}}),
        "names '../b.safetensors': expected a file in the same folder.",
    ),
    (only_index({"weight_map": {"a": "b.safetensors"}}), "names b.safetensors, which is missing."),
    (pickled({"a": Evil()}), "pytorch_model.bin is damaged, or holds more than tensors (UnpicklingError)."),
    (pickled([1]), "pytorch_model.bin holds more than tensors by name."),
    (without("tokenizer.json"), "has no tokeniser: neither tokenizer.json nor vocab.json and merges.txt."),
    (written("tokenizer.json", "{}"), "tokenizer.json is not a file of the tokenizers library: "),
]


@pytest.mark.parametrize(("damage", "sentence"), BROKEN, ids=[sentence for _, sentence in BROKEN])
def test_broken_folders_get_a_sentence(damage: Any, sentence: str, tmp_path: Path) -> None:
    gpt2(tmp_path / "theirs")
    damage(tmp_path / "theirs")
    with pytest.raises(WeftError, match=re.escape(sentence)):
        import_model(tmp_path / "theirs", tmp_path / "ours")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json", "pytorch_model.bin"])
def test_truncated_files_get_a_sentence(file: str, share: float, tmp_path: Path) -> None:
    theirs = gpt2(tmp_path / "theirs")
    path = tmp_path / "theirs" / file
    if file == "pytorch_model.bin":
        pickled(theirs.state_dict())(tmp_path / "theirs")
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(WeftError):
        import_model(tmp_path / "theirs", tmp_path / "ours")


def test_a_tokeniser_that_is_too_large_for_its_model(tmp_path: Path) -> None:
    gpt2(tmp_path / "theirs", vocab_size=290, bos_token_id=7, eos_token_id=7)
    with pytest.raises(
        WeftError, match=r"does not fit its model: its tokens have ids up to 299, and the vocabulary is 290"
    ):
        import_model(tmp_path / "theirs", tmp_path / "ours")


def test_a_vocabulary_without_an_end(tmp_path: Path) -> None:
    gpt2(tmp_path / "theirs", eos_token_id=10**6)
    with pytest.raises(
        WeftError, match=r"names no end token: neither eos_token in tokenizer_config.json nor an eos_token_id"
    ):
        import_model(tmp_path / "theirs", tmp_path / "ours")


def test_mistakes_are_explained(tmp_path: Path) -> None:
    gpt2(tmp_path / "theirs")
    with pytest.raises(WeftError, match="already exists; choose another --out"):
        import_model(tmp_path / "theirs", tmp_path / "theirs")
    assert import_model(tmp_path / "theirs", tmp_path / "new" / "ours").model()
    with pytest.raises(WeftError, match="there is no file or folder nothing"):
        import_model(Path("nothing"), tmp_path / "ours")
    with pytest.raises(WeftError, match=r"--tokenizer is for models of llama2\.c; a folder has its own\."):
        import_model(tmp_path / "theirs", tmp_path / "ours", Path("tok"))
    (tmp_path / "song.mp3").write_bytes(b"la")
    with pytest.raises(
        WeftError, match=r"weft imports Hugging Face folders .* GGUF files and \.bin files of llama2\.c"
    ):
        import_model(tmp_path / "song.mp3", tmp_path / "ours")


def test_the_file_is_used_as_it_is(tmp_path: Path) -> None:
    gpt2(tmp_path / "theirs")
    codec = import_model(tmp_path / "theirs", tmp_path / "ours").codec()
    assert isinstance(codec, PublicTokeniser)
    theirs: Tokenizer = byte_level()
    assert codec.encode_all(TEXTS) == [theirs.encode(text).ids for text in TEXTS]
