"""Files of llama2.c: the published model of 260,000 parameters tells its story, and small made-up ones equal Llama."""

import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import weft
from tests.imports.public_models import llama, same_logits, shared
from weft.commands import run
from weft.data.codecs import Codec
from weft.decoding import Greedy
from weft.decoding.prompt import Prompt
from weft.errors import WeftError
from weft.folder import Folder
from weft.imports.importing import import_model
from weft.imports.llama2c import read_pieces
from weft.imports.shape import neighbours
from weft.imports.tokenisers import from_scores

STORY = (
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, she saw a "
    "big, red ball. She wanted to play with it, but it was too high"
)
VOCABULARY = [
    *(f"<0x{i:02X}>" for i in range(256)),
    *"abcdefgh .",
    " a",
    "ab",
    "abc",
    " abc",
    "bc",
    "\u00e9",
    " \u00e9",
]
SIZE = len(VOCABULARY) + 3


def tokenizer_bin(file: Path, are_bytes_raw: bool = False) -> Path:
    """Like `tokenizer.py` of llama2.c: the longest length, then score, length and bytes of each piece."""
    pieces = ["<unk>", "\n<s>\n", "\n</s>\n", *VOCABULARY]
    if are_bytes_raw:
        pieces[3:259] = map(chr, range(256))
    parts = [struct.pack("<i", 8)]
    for i, piece in enumerate(pieces):
        data = piece.encode()
        parts.append(struct.pack("<fi", -float(max(0, i - 259)), len(data)) + data)
    file.write_bytes(b"".join(parts))
    return file


def model_bin(theirs: Any, file: Path) -> Path:
    """Like `export.py --version 0` of llama2.c."""
    config, weights = theirs.config, theirs.state_dict()
    is_tied = config.tie_word_embeddings
    heads, groups, layers = config.num_attention_heads, config.num_key_value_heads, config.num_hidden_layers
    K = config.hidden_size // heads

    def each(name: str, groups: int | None = None) -> list[torch.Tensor]:
        found = [weights[f"model.layers.{i}.{name}.weight"] for i in range(layers)]
        return [neighbours(one, groups) for one in found] if groups else found

    order = [
        [weights["model.embed_tokens.weight"]],
        each("input_layernorm"),
        each("self_attn.q_proj", heads),
        each("self_attn.k_proj", groups),
        each("self_attn.v_proj"),
        each("self_attn.o_proj"),
        each("post_attention_layernorm"),
        each("mlp.gate_proj"),
        each("mlp.down_proj"),
        each("mlp.up_proj"),
        [weights["model.norm.weight"]],
        [torch.zeros(config.max_position_embeddings, K)],
        [] if is_tied else [weights["lm_head.weight"]],
    ]
    numbers = np.concatenate([tensor.numpy().ravel() for some in order for tensor in some]).astype("<f4")
    V = config.vocab_size if is_tied else -config.vocab_size
    head = (config.hidden_size, config.intermediate_size, layers, heads, groups, V, config.max_position_embeddings)
    file.write_bytes(struct.pack("<7i", *head) + numbers.tobytes())
    return file


@pytest.mark.parametrize("is_tied", [True, False])
@pytest.mark.parametrize("groups", [4, 2])
def test_logits_are_those_of_llama(is_tied: bool, groups: int, tmp_path: Path) -> None:
    settings = {"num_key_value_heads": groups, "tie_word_embeddings": is_tied, "rms_norm_eps": 1e-5}
    theirs = llama(tmp_path / "theirs", vocab_size=SIZE, starts=False, bos_token_id=1, eos_token_id=2, **settings)
    tokenizer_bin(tmp_path / "tokenizer.bin")
    folder = import_model(model_bin(theirs, tmp_path / "model.bin"), tmp_path / "ours")
    same_logits(folder, theirs)
    assert folder.about() == {"imported": {"from": "model", "format": "llama2.c"}, "context": 64, "starts": True}


def test_the_published_model_tells_its_story(tmp_path: Path) -> None:
    folder = import_model(shared("stories260K") / "stories260K.bin", tmp_path / "ours")
    codec, model = folder.codec(), folder.model()
    prompt = Prompt({}, torch.tensor([[codec.special.start]]), [60], codec.special.end)
    (((found,),)) = Greedy()([model], prompt)
    assert codec.decode(found.ids) == STORY
    assert "".join(codec.characters([codec.special.start, *found.ids])) == STORY
    assert codec.readable(found.ids[:6]) == ["·Once", "·upon", "·a", "·time", ",", "·there"]


def as_run_c_does(text: str, pieces: list[str], scores: list[float]) -> list[int]:
    """`encode` of llama2.c's run.c: characters, or their bytes, and the best neighbours merged until none are left."""
    ids = {piece: i for i, piece in enumerate(pieces)}
    tokens = [ids[" "]] if text else []
    for character in text:
        tokens += [ids[character]] if character in ids else [byte + 3 for byte in character.encode()]
    while True:
        best, place = -1e10, -1
        for i, (left, right) in enumerate(pairwise(tokens)):
            found = ids.get(pieces[left] + pieces[right])
            if found is not None and scores[found] > best:
                best, place = scores[found], i
        if place < 0:
            return tokens
        tokens[place : place + 2] = [ids[pieces[tokens[place]] + pieces[tokens[place + 1]]]]


@given(text=st.text("abcdefgh .é😀\n<0x>", max_size=30))
def test_texts_are_cut_as_run_c_does(text: str, made: tuple[Codec, list[str], list[float]]) -> None:
    codec, pieces, scores = made
    ids = codec.encode(text)
    assert ids == as_run_c_does(text, pieces, scores)
    assert codec.decode(ids) == text
    assert "".join(codec.characters([1, *ids])) == text


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Codec, list[str], list[float]]:
    from weft.data.codecs import PublicTokeniser

    pieces = read_pieces(tokenizer_bin(tmp_path_factory.mktemp("pieces") / "tokenizer.bin"), SIZE)
    codec = PublicTokeniser.made(from_scores(pieces), 1, 2, None, SIZE)
    return codec, [piece.text.replace("▁", " ") for piece in pieces], [piece.score for piece in pieces]


def test_bytes_written_raw_as_in_the_first_files_are_the_same_pieces(tmp_path: Path) -> None:
    named, raw = tokenizer_bin(tmp_path / "named.bin"), tokenizer_bin(tmp_path / "raw.bin", are_bytes_raw=True)
    assert read_pieces(raw, SIZE) == read_pieces(named, SIZE)


@pytest.mark.slow
def test_the_published_vocabulary_cuts_as_run_c_does() -> None:
    from weft.data.codecs import PublicTokeniser

    pieces = read_pieces(shared("stories260K") / "tok512.bin", 512)
    codec = PublicTokeniser.made(from_scores(pieces), 1, 2, None, 512)
    texts, scores = [piece.text.replace("▁", " ") for piece in pieces], [piece.score for piece in pieces]
    for sentence in STORY.split("."):
        assert codec.encode(sentence) == as_run_c_does(sentence, texts, scores)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    theirs = llama(tmp_path / "theirs", vocab_size=SIZE, starts=False, bos_token_id=1, eos_token_id=2)
    tokenizer_bin(tmp_path / "tokenizer.bin")
    return model_bin(theirs, tmp_path / "model.bin")


def test_a_truncated_or_lying_file_gets_a_sentence(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    for length, sentence in [
        (0, "it has 0 bytes, less than a header of 28"),
        (20, "it has 20 bytes, less than a header of 28"),
        (28, "its header declares"),
        (len(whole) - 4, "its header declares"),
    ]:
        file.write_bytes(whole[:length])
        with pytest.raises(WeftError, match=sentence):
            import_model(file, tmp_path / "ours")
    for numbers, sentence in [
        ((0, 1, 1, 1, 1, 1, 1), "its header declares width = 0"),
        ((32, 56, 2**30, 4, 4, SIZE, 64), "its header declares layers = 1073741824"),
        ((32, 56, 2, 5, 5, SIZE, 64), "its header declares heads = 5 in a width of 32"),
        ((0x616B3432, 2, 0, 0, 0, 0, 0), "is a model of llama2.c in format 2, but weft reads format 0"),
        ((2**31 - 1, 56, 2, 1, 1, SIZE, 64), "its header declares"),
    ]:
        file.write_bytes(struct.pack("<7i", *numbers) + whole[28:])
        with pytest.raises(WeftError, match=sentence):
            import_model(file, tmp_path / "ours")


def test_a_vocabulary_that_is_missing_or_wrong_gets_a_sentence(file: Path, tmp_path: Path) -> None:
    vocabulary = tmp_path / "tokenizer.bin"
    whole = vocabulary.read_bytes()
    for data, sentence in [
        (whole[:-2], f"is damaged: piece {SIZE - 1} would be 3 bytes long"),
        (whole[:-6], f"is damaged: it ends within piece {SIZE - 1}"),
        (whole[: 4 + 8 + 5], f"has 1 pieces, but the model has a vocabulary of {SIZE}"),
        (whole[:12] + b"\xff" + whole[13:], "piece 0 is not UTF-8"),
        (whole.replace(b"<0x41>", b"<0x4_>"), "its pieces 3 to 258 are not the bytes"),
        (whole[:8] + b"\xff\xff\xff\xff" + whole[12:], "piece 0 would be -1 bytes long"),
    ]:
        vocabulary.write_bytes(data)
        with pytest.raises(WeftError, match=sentence):
            import_model(file, tmp_path / "ours")
    vocabulary.unlink()
    with pytest.raises(WeftError, match=rf"there is no tokenizer\.bin or tok{SIZE}\.bin next to .*; name one with"):
        import_model(file, tmp_path / "ours")
    with pytest.raises(WeftError, match=r"nothing\.bin cannot be read"):
        import_model(file, tmp_path / "ours", tmp_path / "nothing.bin")
    elsewhere = tokenizer_bin(tmp_path / "theirs" / "other.bin")
    assert len(import_model(file, tmp_path / "ours", elsewhere).codec()) == SIZE


def test_the_command_says_what_it_made(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        run(["import", str(file), "--out", str(tmp_path / "ours")])
    assert not end.value.code
    count = sum(parameter.numel() for parameter in Folder(tmp_path / "ours").model().parameters())
    said = f"{tmp_path / 'ours'}: {count:,} parameters in 2 layers of 32, {SIZE} tokens, context 64\n"
    assert capsys.readouterr().out == said
    with pytest.raises(SystemExit) as end:
        run(["import", str(file), "--out", str(tmp_path / "ours")])
    assert end.value.code == 2
    assert capsys.readouterr().err == f"weft: {tmp_path / 'ours'} already exists; choose another --out.\n"


def test_what_is_imported_is_loaded_and_continues_texts(tmp_path: Path) -> None:
    import_model(shared("stories260K") / "stories260K.bin", tmp_path / "ours")
    generator = weft.load(str(tmp_path / "ours"))
    assert generator.starts
    assert generator.context == 512
    told = generator.generate("Once upon a time", temperature=0.0, max_tokens=10)
    assert told == STORY.removeprefix("Once upon a time")[: len(told)]
    assert len(told) > 20
