"""Subwords: every text comes back, no text becomes a special token, and the same text gives the same subwords."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.data.codecs.subwords import END, PAD, SPECIAL_TOKENS, START, Subwords
from weft.errors import WeftError

LINES = [
    "the small dinosaur eats the small man </s>",
    "the man sees </s> the end <pad> <pad> of the dinosaur",
    "der kleine Dinosaurier frisst den kleinen Mann",
    "「小さな恐竜」 Ġ Ġ ▁ ▁the ▁man ½ 1999 1999",
]
SPACES = [" ", "  ", "\t", "\n", "\r", "\u2028", "\x85"]
ODD_PIECES = [*SPACES, "\0", "😀", "▁", "Ġ", "the end", "the pad", "</s>", "<pad>", "<s>"]


def trained(vocabulary: int = 320) -> Subwords:
    return Subwords.train(LINES * 5, vocabulary)


TOKENISER = trained()


@given(st.text() | st.lists(st.sampled_from([*ODD_PIECES, "man", "the"])).map("".join))
@settings(max_examples=400, deadline=None)
def test_any_text_survives_the_round_trip(text: str) -> None:
    assert TOKENISER.decode(TOKENISER.encode(text)) == text


@given(st.text() | st.lists(st.sampled_from(ODD_PIECES)).map("".join))
@settings(max_examples=200, deadline=None)
def test_no_text_becomes_a_special_token(text: str) -> None:
    ids = TOKENISER.encode(text)
    assert ids[-1] == END
    assert min(ids[:-1], default=len(SPECIAL_TOKENS)) >= len(SPECIAL_TOKENS)


def test_the_first_ids_are_the_special_tokens() -> None:
    assert [TOKENISER.pieces.id_to_token(i) for i in (PAD, START, END)] == ["the pad", "the start", "the end"]


def test_an_empty_text_is_the_end_token() -> None:
    assert TOKENISER.decode(TOKENISER.encode("")) == ""
    assert TOKENISER.decode([END]) == ""


def test_decoding_stops_at_the_end_and_skips_special_tokens() -> None:
    man, eats = TOKENISER.encode("man")[:-1], TOKENISER.encode("eats")[:-1]
    assert TOKENISER.decode([START, *man, PAD, *eats, END, *man]) == "man eats"


def test_the_vocabulary_is_as_large_as_asked() -> None:
    assert len(TOKENISER) == 320
    assert {i for line in LINES for i in TOKENISER.encode(line)} <= set(range(320))


def test_frequent_words_become_one_piece() -> None:
    assert TOKENISER.readable(TOKENISER.encode("the small man")) == ["·the", "·small", "·man", "∎"]


def test_readable_shows_half_a_character_as_its_bytes() -> None:
    bytes_only = Subwords.train([], len(SPECIAL_TOKENS) + 256)
    assert bytes_only.readable(bytes_only.encode("é\tx")) == ["·", "<C3>", "<A9>", "\t", "x", "∎"]


def test_readable_shows_every_byte_differently() -> None:
    bytes_only = Subwords.train([], len(SPECIAL_TOKENS) + 256)
    seen = bytes_only.readable(range(len(SPECIAL_TOKENS), len(bytes_only)))
    assert len(set(seen)) == 256
    assert sum(piece.startswith("<") and len(piece) == 4 for piece in seen) == 128, "ASCII as it is, the others in hex"


def test_words_are_split_where_no_merge_crosses() -> None:
    assert TOKENISER.words(TOKENISER.encode("don't eat.")[:-1]) == ["Ġdon", "'t", "Ġeat", "."]


def test_a_saved_codec_loads_as_the_same(tmp_path: Path) -> None:
    TOKENISER.save(tmp_path / "tokeniser.json")
    loaded = Subwords.load(tmp_path / "tokeniser.json")
    assert loaded.pieces.to_str() == TOKENISER.pieces.to_str()
    assert loaded.encode_all(LINES) == TOKENISER.encode_all(LINES)


def test_the_same_text_gives_the_same_subwords_in_any_process() -> None:
    """Four letters in every order, each word once: pairs are as frequent as each other everywhere."""
    program = (
        "from itertools import permutations\n"
        "from weft.data.codecs.subwords import Subwords\n"
        "print(Subwords.train((''.join(p) for p in permutations('abcdef')), 400).pieces.to_str())"
    )
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            env={"PYTHONHASHSEED": str(seed), "RAYON_NUM_THREADS": threads},
        )
        for seed, threads in ((1, "1"), (2, "4"))
    ]
    first, second = (run.communicate()[0] for run in runs)
    assert first == second
    assert len(json.loads(first)["model"]["merges"]) >= 400 - len(SPECIAL_TOKENS) - 256


def test_a_vocabulary_larger_than_the_text_supports_is_refused() -> None:
    with pytest.raises(WeftError, match=r"this text yields only .* subwords, got vocabulary=500") as e:
        Subwords.train(["aa aa"], 500)
    assert str(e.value).endswith("set vocabulary=262.")
    assert len(Subwords.train(["aa aa"], 262)) == 262, "what it says works"


def test_a_vocabulary_without_room_for_the_bytes_is_refused() -> None:
    with pytest.raises(WeftError, match="vocabulary must be at least 260, got 100"):
        Subwords.train(LINES, 100)


@pytest.mark.parametrize("act", [TOKENISER.encode, lambda text: Subwords.train([text], 260)])
def test_a_lone_surrogate_is_refused(act: object) -> None:
    assert callable(act)
    with pytest.raises(WeftError, match=r"not Unicode \(a lone surrogate\): 'a\\ud800b'"):
        act("a\ud800b")


@given(st.text(st.characters(codec="utf-8")))
def test_the_characters_of_the_pieces_are_the_text(text: str) -> None:
    ids = TOKENISER.encode(text)
    each = TOKENISER.characters(ids)
    assert len(each) == len(ids)
    assert "".join(each) == " " + text


def test_a_character_in_several_pieces_comes_with_the_last() -> None:
    ids = TOKENISER.encode("\U0001f984")
    assert len(ids) > 2
    assert "".join(TOKENISER.characters(ids)[-2:]) == "\U0001f984"


def test_inner_pieces_continue_a_word() -> None:
    first, *rest = TOKENISER.encode("qqq.")[:-1]
    inner = [i in TOKENISER.inner for i in (first, *rest)]
    assert inner == [False, *(TOKENISER.readable([i])[0].isalpha() for i in rest)]
    assert END not in TOKENISER.inner


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"tokeniser\.json is missing"):
        Subwords.load(tmp_path / "tokeniser.json")


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "{}",
        lambda text: "[1, 2]",
        lambda text: text.replace('"the end", ', ""),
        lambda text: text.replace('"A"', '"B"', 1),
        lambda text: text.replace('["Ġ", "en"]', '["Ġ", "nothing"]'),
        lambda text: text.replace('["Ġ", "en"]', '["Ġ"]'),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    file = tmp_path / "tokeniser.json"
    TOKENISER.save(file)
    whole = file.read_text(encoding="utf-8")
    file.write_text(damage(whole), encoding="utf-8")
    assert file.read_text(encoding="utf-8") != whole
    with pytest.raises(WeftError, match=r"tokeniser\.json is not a codec written by weft"):
        Subwords.load(file)
