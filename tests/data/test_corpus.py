"""A corpus on disk is what was written, says what it left out, and needs no memory."""

import json
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path

import numpy as np
import pytest

from weft.data.codecs.subwords import SPECIAL_TOKENS, Subwords
from weft.data.corpus import PAIR, Corpus
from weft.errors import WeftError
from weft.tasks.translation import Translation

BYTES = Subwords.train([], len(SPECIAL_TOKENS) + 256)  # a token for each byte, one for a space before it, and END
PAIRS = [("man", "Mann"), ("small dinosaur", "kleiner Dinosaurier"), ("ein\u2028Satz", "\x85 ↵"), ("a", "b")]


class Larger(Subwords):
    """One with ids that need more than 16 bits."""

    def __len__(self) -> int:
        return 2**16 + 1

    def encode_all(self, texts: object) -> list[list[int]]:
        assert isinstance(texts, list)
        return [[2**16 for _ in text] for text in texts]


def written(
    folder: Path, pairs: Iterable[tuple[str, str]], codec: Subwords = BYTES, longest: int | None = None
) -> Corpus:
    return Corpus.write(folder, PAIR, Translation().encode(pairs, {"tokeniser": codec}, longest), len(codec))


def ids(pairs: object) -> list[tuple[list[int], list[int]]]:
    assert isinstance(pairs, Corpus)
    return [(source.tolist(), target.tolist()) for source, target in pairs]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    expected = [(BYTES.encode(source), BYTES.encode(target)) for source, target in PAIRS]
    first = written(tmp_path, PAIRS)
    assert ids(first) == ids(Corpus(tmp_path)) == expected
    assert len(first) == 4
    assert first.left_out == {}


def test_a_row_is_read_by_its_index(tmp_path: Path) -> None:
    corpus = written(tmp_path, PAIRS)
    assert [BYTES.decode(side.tolist()) for side in corpus[2]] == ["ein\u2028Satz", "\x85 ↵"]


def test_rows_of_several_chunks_are_all_read(tmp_path: Path) -> None:
    corpus = written(tmp_path, ((str(i), str(-i)) for i in range(10_001)))
    assert len(corpus) == 10_001
    assert [BYTES.decode(side.tolist()) for side in corpus[10_000]] == ["10000", "-10000"]
    assert [BYTES.decode(side.tolist()) for side in corpus[9_999]] == ["9999", "-9999"]


def test_ids_are_stored_in_two_bytes_where_the_vocabulary_allows(tmp_path: Path) -> None:
    small = written(tmp_path / "small", PAIRS)
    large = written(tmp_path / "large", PAIRS, Larger(BYTES.pieces))
    assert (small[0][0].dtype, large[0][0].dtype) == (np.uint16, np.uint32)
    assert ids(large)[0] == ([2**16] * 3, [2**16] * 4)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    six = "abcd"  # with the space before it and the END, six tokens
    pairs = [(six, "a"), ("a", six), ("a", six + "e"), (six + "e", "a"), ("a", "  "), ("", "a"), ("", ""), ("b", "b")]
    corpus = written(tmp_path, pairs, longest=6)
    assert [(BYTES.decode(s.tolist()), BYTES.decode(t.tolist())) for s, t in corpus] == [
        (six, "a"),
        ("a", six),
        ("b", "b"),
    ]
    assert corpus.left_out == {"with an empty side": 3, "longer than 6 tokens": 2}
    assert Corpus(tmp_path).left_out == corpus.left_out


@pytest.mark.parametrize("pairs", [[], [("", "a"), ("a", " ")]])
def test_a_corpus_may_be_empty(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    assert len(written(tmp_path, pairs)) == 0
    assert list(Corpus(tmp_path)) == []


def test_an_unfinished_corpus_does_not_exist(tmp_path: Path) -> None:
    def breaks_off() -> Iterator[tuple[str, str]]:
        yield "a", "b"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        written(tmp_path, breaks_off())
    assert not Corpus.exists(tmp_path)
    written(tmp_path, PAIRS)
    assert Corpus.exists(tmp_path)


def test_many_pairs_need_no_more_memory_than_a_few(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        corpus = written(tmp_path / str(count), repeat(("a b", "c"), count))
        assert len(corpus) == count
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    few, many = peak(60_000), peak(120_000)  # by then the 2000 tuples that Python keeps for reuse are there
    assert many < few + 40_000, "a byte a pair would be too much"


def test_a_row_has_a_sequence_for_each_column(tmp_path: Path) -> None:
    """Three columns, in two chunks; the second row of the first chunk is empty in the middle."""
    rows = [([5, 6], [7], [8, 9, 10]), ([11], [], [12])], [([13], [14, 15], [16])]
    corpus = Corpus.write(tmp_path, ("a", "b", "c"), ((rows[i], {"odd": i}) for i in (0, 1)), 20)
    assert corpus.columns == Corpus(tmp_path).columns == ("a", "b", "c")
    assert [tuple(side.tolist() for side in row) for row in corpus] == [*rows[0], *rows[1]]  # type: ignore[union-attr]
    assert corpus.left_out == {"odd": 1}


def test_a_corpus_that_names_no_columns_is_of_pairs(tmp_path: Path) -> None:
    """As they were written before tasks had columns."""
    first = written(tmp_path, PAIRS)
    about = json.loads((tmp_path / "corpus.json").read_text())
    del about["columns"]
    (tmp_path / "corpus.json").write_text(json.dumps(about))
    assert Corpus(tmp_path).columns == ("source", "target")
    assert ids(Corpus(tmp_path)) == ids(first)


def test_rows_that_do_not_fill_the_columns_are_refused(tmp_path: Path) -> None:
    Corpus.write(tmp_path, ("a",), [([([5],)], {})], 20)
    about = json.loads((tmp_path / "corpus.json").read_text())
    (tmp_path / "corpus.json").write_text(json.dumps({**about, "columns": ["a", "b"]}))
    with pytest.raises(WeftError, match=r"is damaged: ids\.bin and ends\.bin do not fit together"):
        Corpus(tmp_path)
