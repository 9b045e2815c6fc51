"""GGUF files: quantised tensors become floats, vocabularies tokenisers, and files that lie get a sentence."""

import contextlib
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.exports.test_decoders import LLAMA, model_folder, sample
from tests.imports.public_models import logits, shared
from weft.errors import WeftError
from weft.exports.export import export
from weft.folder import Folder
from weft.imports.importing import import_model
from weft.weights import parameters

gguf = pytest.importorskip("gguf", reason="gguf is not installed")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, Path]:
    """A model and its GGUF file."""
    room = tmp_path_factory.mktemp("gguf")
    folder = model_folder(room / "model", {**LLAMA, "width": 32}, starts=True)
    export(folder, "gguf", room / "out", sample=sample(room))
    return folder, room / "out" / "model.gguf"


def rewritten(file: Path, out: Path, kind: str | None = None, **changed: Any) -> Path:
    """The same file with other metadata (None: without it), its matrices quantised."""
    reader = gguf.GGUFReader(file)
    writer = gguf.GGUFWriter(out, changed.pop("architecture", "llama"))
    names = {key.replace("__", "."): value for key, value in changed.items()}
    for name, field in reader.fields.items():
        if name.startswith(("GGUF.", "general.architecture")) or name in names:
            continue
        value = field.contents()
        kinds = list(field.types)
        if kinds[0] == gguf.GGUFValueType.ARRAY:
            writer.add_array(name, value)
        else:
            writer.add_key_value(name, value, kinds[0])
    for name, value in names.items():
        if isinstance(value, list):
            writer.add_array(name, value)
        elif value is not None:
            writer.add_key_value(name, value, gguf.GGUFValueType.get_type(value))
    for tensor in reader.tensors:
        data = np.array(tensor.data)
        if kind is not None and data.ndim > 1 and data.shape[-1] % 32 == 0:
            quantised = gguf.GGMLQuantizationType[kind]
            writer.add_tensor(tensor.name, gguf.quants.quantize(data, quantised), raw_dtype=quantised)
        else:
            writer.add_tensor(tensor.name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return out


@pytest.mark.parametrize(("kind", "error"), [("F16", 2**-10), ("BF16", 2**-7), ("Q8_0", 1 / 120), ("Q4_1", 1 / 12)])
def test_quantised_tensors_become_floats(written: tuple[Folder, Path], kind: str, error: float, tmp_path: Path) -> None:
    """Each number is off by a share of the largest of its tensor at most."""
    folder, file = written
    back = import_model(rewritten(file, tmp_path / "q.gguf", kind), tmp_path / "back")
    ours, theirs = parameters(folder.model()), parameters(back.model())
    assert ours.keys() == theirs.keys()
    with torch.no_grad():
        gaps = [float((theirs[name] - tensor).abs().max() / tensor.abs().max()) for name, tensor in ours.items()]
    assert 0 < max(gaps) < error


def test_a_vocabulary_of_sentencepiece_survives(tmp_path: Path) -> None:
    folder = import_model(shared("stories260K") / "stories260K.bin", tmp_path / "model")
    export(folder, "gguf", tmp_path / "out")
    back = import_model(tmp_path / "out" / "model.gguf", tmp_path / "back")
    texts = ["Once upon a time, there was", " two  spaces", "naïve 😀\n", "<s> </s>"]
    assert back.codec().encode_all(texts) == folder.codec().encode_all(texts)
    assert back.codec().special == folder.codec().special
    assert back.about()["starts"]
    ids = torch.randint(0, 512, (1, 50))
    torch.testing.assert_close(logits(back, ids), logits(folder, ids))


REFUSED = [
    ({"architecture": "gemma"}, "model: {} has general.architecture = 'gemma', but weft imports only 'llama'."),
    (
        {"llama__rope__scaling__type": "yarn"},
        'mixer.position: {} has llama.rope.scaling.type = "yarn", but weft supports',
    ),
    ({"llama__expert_count": 8}, "feed_forward: {} has llama.expert_count = 8, but weft supports only null or 0."),
    ({"llama__block_count": None}, "llama.block_count: expected a whole number above 0, and {} lacks it."),
    ({"llama__block_count": 2000000}, "decoder.layers: expected at most 1000, got 2000000."),
    ({"llama__attention__head_count": 5}, "mixer.kv_heads: 2 heads of keys and values do not divide 5 heads."),
    ({"llama__feed_forward_length": 7}, "blk.0.ffn_gate.weight is (24, 32), but the configuration needs (7, 32)"),
    ({"tokenizer__ggml__tokens": None}, "{} has no vocabulary (tokenizer.ggml.tokens)."),
    ({"tokenizer__ggml__token_type": [1, 1]}, "{} has 300 tokens, but a different number of scores or types."),
    (
        {"tokenizer__ggml__model": "rwkv"},
        "the vocabulary of {} cannot be used: tokenizer.ggml.model is 'rwkv', but weft reads 'llama' and 'gpt2'.",
    ),
    (
        {"tokenizer__ggml__pre": "gpt-9"},
        "the vocabulary of {} cannot be used: how texts are cut into words: there is no split 'gpt-9'.",
    ),
    ({"tokenizer__ggml__eos_token_id": None}, "cannot be used: it names no end token (tokenizer.ggml.eos_token_id)."),
    ({"tokenizer__ggml__merges": ["zz zz"]}, "cannot be used: the vocabulary lacks a piece of the merge 'zz zz'."),
]


@pytest.mark.parametrize(("values", "sentence"), REFUSED, ids=str)
def test_what_does_not_fit_is_named(
    written: tuple[Folder, Path], values: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    file = rewritten(written[1], tmp_path / "other.gguf", **values)
    with pytest.raises(WeftError) as refused:
        import_model(file, tmp_path / "back")
    assert sentence.format(file) in str(refused.value)
    assert [each.name for each in tmp_path.iterdir()] == ["other.gguf"]


def test_truncated_files_get_a_sentence(written: tuple[Folder, Path], tmp_path: Path) -> None:
    whole, file = written[1].read_bytes(), tmp_path / "cut.gguf"
    for length in [4, 5, 12, 23, 24, 40, 100, 1000, 5000, len(whole) // 2, len(whole) - 1000, len(whole) - 33]:
        file.write_bytes(whole[:length])
        with pytest.raises(WeftError, match=str(file)):
            import_model(file, tmp_path / "back")


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_lying_header_gets_a_sentence_or_is_harmless(
    written: tuple[Folder, Path], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any eight bytes of the header may become any number: nothing hangs, and nothing but a sentence is raised."""
    room = tmp_path_factory.mktemp("lie")
    whole = bytearray(written[1].read_bytes())
    place = data.draw(st.integers(4, 12_000))
    whole[place : place + 8] = struct.pack("<Q", data.draw(st.one_of(st.integers(0, 300), st.integers(0, 2**64 - 1))))
    (room / "lie.gguf").write_bytes(whole)
    with contextlib.suppress(WeftError):
        import_model(room / "lie.gguf", room / "back")


def test_tensors_at_the_same_place_of_the_file_are_imported_apart(written: tuple[Folder, Path], tmp_path: Path) -> None:
    """A header may say that the head lies where the embedding lies; safetensors refuses tensors that share memory."""
    shutil.copyfile(written[1], tmp_path / "same.gguf")
    fields = {tensor.name: tensor.field for tensor in gguf.GGUFReader(tmp_path / "same.gguf", "r+").tensors}
    fields["output.weight"].parts[-1][:] = fields["token_embd.weight"].parts[-1]  # the offset
    weights = parameters(import_model(tmp_path / "same.gguf", tmp_path / "back").model())
    assert torch.equal(weights["head.words.weight"], weights["tokens.embedding.weight"])


def test_other_versions_are_refused(tmp_path: Path) -> None:
    for version, sentence in [(1, "is GGUF of version 1"), (0x03000000, "is GGUF of version 50331648")]:
        (tmp_path / "old.gguf").write_bytes(b"GGUF" + struct.pack("<I", version))
        with pytest.raises(WeftError, match=sentence):
            import_model(tmp_path / "old.gguf", tmp_path / "back")
