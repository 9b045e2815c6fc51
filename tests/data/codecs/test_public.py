"""Public tokenisers are used as they are: ids, texts and what each token adds."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from tests.imports.public_models import byte_level, shared
from weft.data import codecs
from weft.data.codecs import PublicTokeniser, Special
from weft.errors import WeftError
from weft.imports.huggingface import read_vocabulary
from weft.imports.tokenisers import Piece, from_scores

BYTES = [Piece("<unk>", kind=Piece.UNKNOWN), Piece("<s>", kind=Piece.CONTROL), Piece("</s>", kind=Piece.CONTROL)]
BYTES += [Piece(f"<0x{i:02X}>", kind=Piece.BYTE) for i in range(256)]
LEARNED = ["▁", "a", "b", "c", "▁a", "ab", "▁ab", "é", "▁é"]
PIECES = [*BYTES, *(Piece(text, -float(i)) for i, text in enumerate(LEARNED))]


def sentencepiece() -> PublicTokeniser:
    return PublicTokeniser.made(from_scores(PIECES), 1, 2, None, len(PIECES))


def bytes_of_gpt2() -> PublicTokeniser:
    return PublicTokeniser.made(byte_level(), 299, 299, None, 300)


def words() -> PublicTokeniser:
    made = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1, "b": 2}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.decoder = decoders.WordPiece()
    return PublicTokeniser.made(made, 0, 0, None, 3)


KINDS = {"sentencepiece": sentencepiece(), "byte-level": bytes_of_gpt2()}
each_kind = pytest.mark.parametrize("codec", KINDS.values(), ids=KINDS)


@each_kind
@given(text=st.text("ab cé😀\n<s>▂", max_size=20))
def test_texts_survive_and_nothing_in_them_is_a_sign(codec: PublicTokeniser, text: str) -> None:
    ids = codec.encode(text)
    assert not {*ids} & codec.specials
    assert codec.decode(ids) == text
    assert codec.decode([codec.special.start, *ids, codec.special.end]) == text
    assert codec.characters([codec.special.start, *ids])[0] == ""
    assert "".join(codec.characters([codec.special.start, *ids])) == text


@each_kind
@given(text=st.text("ab c😀", min_size=1, max_size=20), data=st.data())
def test_the_text_of_a_continuation_follows_its_prompt(codec: PublicTokeniser, text: str, data: st.DataObject) -> None:
    ids = [codec.special.start, *codec.encode(text)]
    cut = data.draw(st.integers(1, len(ids) - 1))
    prompt = "".join(codec.characters(ids[:cut]))
    if "\ufffd" not in codec.decode(ids[:cut]) and cut > 1:
        assert prompt + "".join(codec.characters(ids[cut:])) == text


def test_half_a_character_comes_with_its_last_token() -> None:
    for codec in KINDS.values():
        ids = codec.encode("a😀")
        found = codec.characters([codec.special.start, *ids])
        assert found[-1] == "😀"
        assert found[-4:-1] == ["", "", ""]
        assert codec.readable(ids)[-1] == "<80>"


def test_tokens_as_a_person_sees_them() -> None:
    assert sentencepiece().readable([1, *sentencepiece().encode("ab a\n")]) == ["<s>", "·ab", "·a", "\n"]
    codec = bytes_of_gpt2()
    assert codec.readable([*codec.encode("x y"), 299]) == ["x", "·", "y", "<|endoftext|>"]


def test_a_marked_text_is_read_with_its_signs() -> None:
    codec = bytes_of_gpt2()
    assert codec.encode_marked("a<|endoftext|>b") == [*codec.encode("a"), 299, *codec.encode("b")]
    assert 299 not in codec.encode("a<|endoftext|>b")


def test_other_kinds_are_joined_as_the_library_does() -> None:
    codec = words()
    assert codec.encode("a b a") == [1, 2, 1]
    assert codec.characters([1, 2, 1]) == ["a", " b", " a"]
    assert codec.readable([1, 2]) == ["a", "b"]


def test_padding_and_truncation_of_the_file_are_not_used() -> None:
    made = byte_level()
    made.enable_truncation(2)
    made.enable_padding(length=9)
    codec = PublicTokeniser.made(made, 299, 299, None, 300)
    assert codec.encode("a text of many tokens") == bytes_of_gpt2().encode("a text of many tokens")


@each_kind
def test_to_disk_and_back(codec: PublicTokeniser, tmp_path: Path) -> None:
    codec.save(tmp_path / "tokeniser.json")
    back = codecs.load(tmp_path / "tokeniser.json")
    assert isinstance(back, PublicTokeniser)
    assert back.to_dict() == codec.to_dict()
    assert (back.special, len(back)) == (codec.special, len(codec))
    assert back.encode("a b </s> <|endoftext|>") == codec.encode("a b </s> <|endoftext|>")


BROKEN: list[Any] = [
    {"special": {"pad": 0, "start": 299, "end": 300}},
    {"special": {"pad": 0, "start": -1, "end": 2}},
    {"special": {"pad": 0, "start": 1.0, "end": 2}},
    {"special": {"pad": 0}},
    {"vocabulary": 299},
    {"vocabulary": "all"},
    {"tokenizer": {}},
    {"tokenizer": None},
]


@pytest.mark.parametrize("changed", BROKEN, ids=str)
def test_broken_files_get_a_sentence(changed: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "tokeniser.json").write_text(json.dumps({**bytes_of_gpt2().to_dict(), **changed}))
    with pytest.raises(WeftError, match=r"tokeniser.json is not a codec written by weft"):
        codecs.load(tmp_path / "tokeniser.json")


def test_it_is_not_learned() -> None:
    with pytest.raises(WeftError, match="codec: a public tokeniser comes with imported weights and is not learned"):
        PublicTokeniser.train(["a"], 300)


def test_a_text_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(WeftError, match="a text that is not Unicode"):
        bytes_of_gpt2().encode("\ud800")


def test_padding_is_the_filler_of_every_vocabulary_where_there_is_none() -> None:
    assert bytes_of_gpt2().special == Special(pad=0, start=299, end=299)


def test_the_vocabulary_of_gpt2_cuts_as_it_always_has() -> None:
    """Ids that are printed in many places: OpenAI's own encoder gave them."""
    folder = shared("gpt2-bpe")
    made = read_vocabulary(folder / "encoder.json", folder / "vocab.bpe")
    codec = PublicTokeniser.made(made, 50256, 50256, None, 50257)
    assert codec.encode("Hello, world!") == [15496, 11, 995, 0]
    assert codec.encode("Hello world") == [15496, 995]
    assert codec.decode([464, 2068, 7586, 21831]) == "The quick brown fox"
    assert codec.readable([50256]) == ["<|endoftext|>"]
