"""Characters and words: each symbol is a token, text made of them survives, and foreign ones are refused or unknown."""

from pathlib import Path

import pytest

from weft.data import codecs
from weft.data.codecs.symbols import END, PAD, START, UNKNOWN, Characters, Words
from weft.errors import WeftError

TEXT = "to be, or not\nto be"


def characters(text: str = TEXT) -> Characters:
    return Characters.train([text], 100)


def test_characters_are_sorted_after_the_special_tokens() -> None:
    codec = characters("cab")
    assert (PAD, START, END) == (0, 1, 2)
    assert codec.symbols == ("a", "b", "c")
    assert codec.encode("cab") == [5, 3, 4, END]
    assert len(codec) == 6
    assert codec.first == 3


def test_text_survives() -> None:
    codec = characters()
    [ids] = codec.pieces_of([TEXT])
    assert len(ids) == len(TEXT)
    assert codec.decode(ids) == codec.decode([*ids, END, *ids]) == "".join(codec.characters(ids)) == TEXT


def test_characters_of_any_plane_and_kind() -> None:
    text = "a\u0301👍\U0010ffff\r\n\t\u2028\ufeff"
    codec = characters(text)
    assert codec.decode(codec.encode(text)) == text
    assert len(codec.readable(codec.encode(text))) == len(text) + 1


def test_a_foreign_character_is_refused() -> None:
    with pytest.raises(WeftError, match=r"^'z' is not in this model's vocabulary of 9 characters\.$"):
        characters().encode("to zee")


def test_a_person_sees_what_is_invisible() -> None:
    codec = characters("a \n\t")
    assert codec.readable([START, *codec.encode("a \n\t"), PAD]) == ["∅", "a", "·", "↵", "<09>", "∎", ""]


def test_too_many_characters_for_the_vocabulary() -> None:
    assert len(Characters.train(["abc"], 6)) == 6
    with pytest.raises(WeftError, match=r"the text has 3 different characters, .* set vocabulary=6, or codec=subwords"):
        Characters.train(["ab", "c"], 5)


def test_no_text() -> None:
    with pytest.raises(WeftError, match=r"^there is no text to learn a vocabulary from\.$"):
        Words.train([" ", ""], 10)


def test_words_of_a_tokenised_text() -> None:
    codec = Words.train(["the cat \n the dog \n"], 100)
    assert codec.symbols == ("\n", "cat", "dog", "the")
    ids = codec.pieces_of(["the cat \n the dog \n"])[0]
    assert codec.decode(ids) == "the cat\nthe dog\n"
    assert "".join(codec.characters(ids)) == "the cat\nthe dog\n"


def test_rare_words_are_unknown() -> None:
    codec = Words.train(["a a a b b c d"], 6)
    assert codec.symbols == (UNKNOWN, "a", "b")
    assert codec.decode(codec.encode("a c d b")) == "a <unk> <unk> b"


def test_unknown_words_of_a_codec_without_a_token_for_them() -> None:
    with pytest.raises(WeftError, match="'c' is not in this model's vocabulary of 2 words"):
        Words.train(["a b"], 10).encode("c")


def test_a_file_is_read_as_it_was(tmp_path: Path) -> None:
    for codec in (characters(), Words.train([TEXT], 100)):
        codec.save(tmp_path / "c.json")
        again = codecs.load(tmp_path / "c.json")
        assert type(again) is type(codec)
        assert again.to_dict() == codec.to_dict()


@pytest.mark.parametrize("symbols", ['["a", "a"]', '["a", 3]', '["a", ""]', "7", '{"a": 1}'])
def test_a_file_that_is_none(tmp_path: Path, symbols: str) -> None:
    (tmp_path / "c.json").write_text(f'{{"codec": "characters", "symbols": {symbols}}}')
    if symbols.startswith("{"):  # its keys are distinct texts
        assert codecs.load(tmp_path / "c.json").decode([3]) == "a"
        return
    with pytest.raises(WeftError, match="is not a codec written by weft"):
        codecs.load(tmp_path / "c.json")


def test_an_unknown_codec(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"codec": "character", "symbols": []}')
    with pytest.raises(WeftError, match=r"there is no codec 'character'\. Did you mean 'characters'\?"):
        codecs.load(tmp_path / "c.json")
