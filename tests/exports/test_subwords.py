"""The file for the `tokenizers` library does what weft's `Subwords` do."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from weft.data.codecs import Codec
from weft.data.codecs.subwords import END, PAD, START
from weft.exports.subwords import write_tokenizer
from weft.folder import Folder


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Codec, Tokenizer]:
    ours, file = Folder.find("en-de").codec(), tmp_path_factory.mktemp("subwords") / "tokenizer.json"
    write_tokenizer(ours, Path(file))
    return ours, Tokenizer.from_file(str(file))


@given(text=st.text(min_size=1))
def test_encoding_and_decoding_agree(both: tuple[Codec, Tokenizer], text: str) -> None:
    ours, theirs = both
    ids = ours.encode(text)
    assert [*theirs.encode(text).ids, END] == ids
    assert theirs.decode([START, *ids, PAD]) == text


@pytest.mark.parametrize("text", ["the end", " the pad", "  two spaces", "</s> <unk>", "\x00\n", "e\u0301 😀"])
def test_text_never_becomes_a_special_token(both: tuple[Codec, Tokenizer], text: str) -> None:
    ours, theirs = both
    assert [*theirs.encode(text).ids, END] == ours.encode(text)
    assert theirs.decode(ours.encode(text)) == text
