"""A corpus on disk is what was written, says what it left out, and needs no memory."""

import tracemalloc
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import numpy as np
import pytest

from weft.data.codecs.subwords import SPECIAL_TOKENS, Subwords
from weft.data.corpus import Corpus

BYTES = Subwords.train(
    [], len(SPECIAL_TOKENS) + 256
)  # a text has a token for each byte, one for a space before it, and END
PAIRS = [("man", "Mann"), ("small dinosaur", "kleiner Dinosaurier"), ("ein\u2028Satz", "\x85 ↵"), ("a", "b")]


class Larger(Subwords):
    """One with ids that need more than 16 bits."""

    def __len__(self) -> int:
        return 2**16 + 1

    def encode_all(self, texts: object) -> list[list[int]]:
        assert isinstance(texts, list)
        return [[2**16 for _ in text] for text in texts]


def ids(pairs: object) -> list[tuple[list[int], list[int]]]:
    assert isinstance(pairs, Corpus)
    return [(source.tolist(), target.tolist()) for source, target in pairs]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    expected = [(BYTES.encode(source), BYTES.encode(target)) for source, target in PAIRS]
    written = Corpus.write(tmp_path, PAIRS, BYTES)
    assert ids(written) == ids(Corpus(tmp_path)) == expected
    assert len(written) == 4
    assert written.left_out == {}


def test_pairs_come_one_by_one(tmp_path: Path) -> None:
    corpus = Corpus.write(tmp_path, PAIRS, BYTES)
    assert [BYTES.decode(side.tolist()) for side in corpus[2]] == ["ein\u2028Satz", "\x85 ↵"]


def test_more_pairs_than_are_tokenised_at_a_time(tmp_path: Path) -> None:
    corpus = Corpus.write(tmp_path, ((str(i), str(-i)) for i in range(10_001)), BYTES)
    assert len(corpus) == 10_001
    assert [BYTES.decode(side.tolist()) for side in corpus[10_000]] == ["10000", "-10000"]
    assert [BYTES.decode(side.tolist()) for side in corpus[9_999]] == ["9999", "-9999"]


def test_two_bytes_a_token_where_they_are_enough(tmp_path: Path) -> None:
    small = Corpus.write(tmp_path / "small", PAIRS, BYTES)
    large = Corpus.write(tmp_path / "large", PAIRS, Larger(BYTES.pieces))
    assert (small[0][0].dtype, large[0][0].dtype) == (np.uint16, np.uint32)
    assert ids(large)[0] == ([2**16] * 3, [2**16] * 4)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    six = "abcd"  # with the space before it and the END, six tokens
    pairs = [(six, "a"), ("a", six), ("a", six + "e"), (six + "e", "a"), ("a", "  "), ("", "a"), ("", ""), ("b", "b")]
    corpus = Corpus.write(tmp_path, pairs, BYTES, longest=6)
    assert [(BYTES.decode(s.tolist()), BYTES.decode(t.tolist())) for s, t in corpus] == [
        (six, "a"),
        ("a", six),
        ("b", "b"),
    ]
    assert corpus.left_out == {"with an empty side": 3, "longer than 6 tokens": 2}
    assert Corpus(tmp_path).left_out == corpus.left_out


@pytest.mark.parametrize("pairs", [[], [("", "a"), ("a", " ")]])
def test_a_corpus_may_be_empty(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    assert len(Corpus.write(tmp_path, pairs, BYTES)) == 0
    assert list(Corpus(tmp_path)) == []


def test_a_corpus_that_was_not_finished_is_none(tmp_path: Path) -> None:
    def breaks_off() -> Iterator[tuple[str, str]]:
        yield "a", "b"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Corpus.write(tmp_path, breaks_off(), BYTES)
    assert not Corpus.exists(tmp_path)
    Corpus.write(tmp_path, PAIRS, BYTES)
    assert Corpus.exists(tmp_path)


def test_many_pairs_need_no_more_memory_than_a_few(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        corpus = Corpus.write(tmp_path / str(count), repeat(("a b", "c"), count), BYTES)
        assert len(corpus) == count
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    few, many = peak(20_000), peak(60_000)
    assert many < few + 40_000, "a byte a pair would be too much"
