"""BPE dropout: other pieces, the same text; by chance, but the same for the same seed."""

import json
from collections import Counter
from itertools import accumulate, repeat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.data.bpe_dropout import DRAWS, BpeDropout
from weft.data.codecs.subwords import END, SPECIAL_TOKENS, Subwords

SPACES = [" ", "  ", "\n", "\n\n\n", "\t \t"]
WORDS = ["don't", "'surprise", "surprise", "suburb's", "dinosaur.", "...", "1999", "ä日😀", *SPACES]
TOKENISER = Subwords.train(["".join(WORDS), " ".join(WORDS), *WORDS] * 3, 320)
TEXTS = st.lists(st.sampled_from([*WORDS, "x", "s", "u", "'"])).map("".join) | st.text()


def with_merges(folder: Path, *merges: tuple[str, str]) -> Subwords:
    """Bytes, and these merges in this order."""
    Subwords.train([], len(SPECIAL_TOKENS) + 256).save(folder / "bytes.json")
    learned = json.loads((folder / "bytes.json").read_text(encoding="utf-8"))
    learned["pieces"] += [left + right for left, right in merges]
    learned["merges"] = merges
    (folder / "merges.json").write_text(json.dumps(learned), encoding="utf-8")
    return Subwords.load(folder / "merges.json")


def frequencies(tokeniser: Subwords, text: str, rate: float, seeds: int = 1000) -> dict[str, float]:
    """How often each segmentation of a text comes."""
    ids = tokeniser.encode(text)
    drawn: Counter[str] = Counter()
    for seed in range(seeds):
        drop = BpeDropout(tokeniser, rate, str(seed))
        drawn.update(" ".join(tokeniser.readable(drop(ids)[:-1])) for _ in range(DRAWS))
    return {pieces: count / (seeds * DRAWS) for pieces, count in drawn.items()}


@given(TEXTS)
@settings(max_examples=200, deadline=None)
def test_at_rate_0_the_pieces_are_the_tokenisers_own(text: str) -> None:
    ids = TOKENISER.encode(text)
    assert BpeDropout(TOKENISER, 0.0, "seed")(ids) == ids


@given(TEXTS)
@settings(max_examples=200, deadline=None)
def test_merges_made_one_by_one_are_the_tokenisers_own(text: str) -> None:
    """The long way, which is taken only where a merge is left out, agrees with the library."""
    ids, drop = TOKENISER.encode(text), BpeDropout(TOKENISER, 0.5, "seed")
    words = [[drop.vocab[byte] for byte in word] for word in TOKENISER.words(ids[:-1])]
    assert [piece for word in words for piece in drop._merge(word, repeat(True))] == ids[:-1]


@given(TEXTS, st.sampled_from([0.1, 0.5, 0.9]))
@settings(max_examples=200, deadline=None)
def test_at_any_rate_the_text_is_the_same(text: str, rate: float) -> None:
    ids = BpeDropout(TOKENISER, rate, "seed")(TOKENISER.encode(text))
    assert TOKENISER.decode(ids) == text
    assert ids[-1] == END


@given(TEXTS, st.sampled_from([0.1, 0.5]))
@settings(max_examples=200, deadline=None)
def test_no_piece_goes_from_one_word_into_the_next(text: str, rate: float) -> None:
    ids = BpeDropout(TOKENISER, rate, "seed")(TOKENISER.encode(text))[:-1]
    ends_of_pieces = set(accumulate(len(str(TOKENISER.pieces.id_to_token(i))) for i in ids))
    assert set(accumulate(map(len, TOKENISER.words(ids)))) <= ends_of_pieces


def test_the_same_seed_gives_the_same_draws() -> None:
    ids = TOKENISER.encode("a surprise for a small dinosaur. don't surprise a dinosaur.")

    def draws(seed: str) -> list[list[int]]:
        drop = BpeDropout(TOKENISER, 0.3, seed)
        return [drop(ids) for _ in range(20)]

    assert draws("1 2 0") == draws("1 2 0")
    assert draws("1 2 0") != draws("1 3 0")


def test_one_merge_after_the_other(tmp_path: Path) -> None:
    """·ab needs two merges: both, the first alone, or none."""
    tokeniser = with_merges(tmp_path, ("a", "b"), ("Ġ", "ab"))
    found = frequencies(tokeniser, "ab", rate=0.3)
    assert found == pytest.approx({"·ab": 0.7 * 0.7, "· ab": 0.7 * 0.3, "· a b": 0.3}, abs=0.02)


def test_where_a_merge_is_left_out_the_next_gets_its_chance(tmp_path: Path) -> None:
    tokeniser = with_merges(tmp_path, ("b", "c"), ("a", "b"))
    found = frequencies(tokeniser, "abc", rate=0.3)
    assert found == pytest.approx({"· a bc": 0.7, "· ab c": 0.3 * 0.7, "· a b c": 0.3 * 0.3}, abs=0.02)


def test_a_merge_left_out_at_one_turn_may_be_made_at_the_next(tmp_path: Path) -> None:
    """ab is left out at first, cd is made, and then ab has another chance."""
    tokeniser = with_merges(tmp_path, ("a", "b"), ("c", "d"))
    found = frequencies(tokeniser, "abcd", rate=0.3)
    both = 0.7 * 0.7 + 0.3 * 0.7 * 0.7
    expected = {"· ab cd": both, "· ab c d": 0.7 * 0.3, "· a b cd": 0.3 * 0.7 * 0.3, "· a b c d": 0.3 * 0.3}
    assert found == pytest.approx(expected, abs=0.02)


def test_each_word_is_drawn_for_itself(tmp_path: Path) -> None:
    """The second word of a chunk is not left alone because nothing happened to the first."""
    tokeniser = with_merges(tmp_path, ("a", "b"), (".", "."))
    found = frequencies(tokeniser, "ab..", rate=0.3)
    expected = {"· ab ..": 0.7 * 0.7, "· ab . .": 0.7 * 0.3, "· a b ..": 0.3 * 0.7, "· a b . .": 0.3 * 0.3}
    assert found == pytest.approx(expected, abs=0.02)


def test_a_frequent_word_is_dealt_from_a_few_draws(tmp_path: Path) -> None:
    tokeniser = with_merges(tmp_path, ("a", "b"), ("ab", "ab"), ("abab", "abab"), ("Ġ", "abababab"))
    drop, ids = BpeDropout(tokeniser, 0.5, "seed"), tokeniser.encode("abababab")
    first = [tuple(drop(ids)) for _ in range(DRAWS)]
    later = [tuple(drop(ids)) for _ in range(50)]
    assert set(later) <= set(first)
    assert len(set(later)) > 2
