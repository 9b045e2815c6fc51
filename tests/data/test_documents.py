"""Documents: passages put together are the text of the files, however they are split, stored and held out."""

import gzip
import json
import lzma
from pathlib import Path

import pytest

from weft.data import documents
from weft.data.documents import Documents, Passage, held_out, passage_of, read_documents
from weft.errors import WeftError

TEXT = "One line.\nTwo lines.\n\n  A paragraph\nof two.\n \t \nThe end"


def file(folder: Path, content: str | bytes, name: str = "a.txt") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def whole(found: Documents) -> list[str]:
    """The documents, whose passages are put together again."""
    texts, parts = [], list[str]()
    for passage in found:
        assert passage.starts == (not parts)
        parts.append(passage.text)
        if passage.ends:
            texts.append("".join(parts))
            parts = []
    assert not parts, "the last document has an end"
    return texts


def report(paths: list[Path], split: str = "file") -> str:
    with pytest.raises(WeftError) as caught:
        list(read_documents(paths, split))
    return str(caught.value)


@pytest.mark.parametrize(
    ("split", "texts"),
    [
        ("file", [TEXT]),
        ("line", ["One line.", "Two lines.", "  A paragraph", "of two.", "The end"]),
        ("blank-line", ["One line.\nTwo lines.", "  A paragraph\nof two.", "The end"]),
    ],
)
def test_splits(tmp_path: Path, split: str, texts: list[str]) -> None:
    assert whole(read_documents([file(tmp_path, TEXT)], split)) == texts


def test_unknown_split(tmp_path: Path) -> None:
    said = report([file(tmp_path, TEXT)], "lines")
    assert said.startswith("--documents: there is no way to split a file 'lines'. Did you mean 'line'?")


@pytest.mark.parametrize("passage", [1, 3, 7, 10, 64])
@pytest.mark.parametrize("split", ["file", "line", "blank-line"])
def test_passages_put_together_are_the_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, split: str, passage: int
) -> None:
    path = file(tmp_path, TEXT)
    texts = whole(read_documents([path], split))
    monkeypatch.setattr(documents, "PASSAGE", passage)
    found = read_documents([path], split)
    assert max(len(each.text) for each in found) <= passage
    assert whole(found) == texts


def test_passages_end_where_lines_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "PASSAGE", 12)
    found = list(read_documents([file(tmp_path, "one\ntwo\nthree\nfour and five\n")]))
    assert found == [
        Passage("one\ntwo\n", True, False),
        Passage("three\n", False, False),
        Passage("four and fiv", False, False),
        Passage("e\n", False, True),
    ]


def test_line_ends_become_newlines_and_a_mark_at_the_beginning_is_no_text(tmp_path: Path) -> None:
    assert whole(read_documents([file(tmp_path, b"\xef\xbb\xbfone\r\ntwo\rthree\n")])) == ["one\ntwo\nthree\n"]


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.xz"])
def test_compressed(tmp_path: Path, name: str) -> None:
    packed = (gzip if name.endswith("gz") else lzma).compress(TEXT.encode())
    assert whole(read_documents([file(tmp_path, packed, name)])) == [TEXT]
    assert "a.txt" in report([file(tmp_path, packed[: len(packed) // 2], name)])


def test_records(tmp_path: Path) -> None:
    rows = [{"text": "one\n\ntwo"}, {"text": " "}, {"title": "x"}, {"text": "three"}, {"text": 4}]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows) + "\n"
    path = file(tmp_path, lines, "a.jsonl")
    found = read_documents([path], "line")
    assert whole(found) == ["one\n\ntwo", "three"]
    assert found.passed_over == {str(path): {"without a text": 3, "blank": 1}}


def test_faults_of_records_in_one_report(tmp_path: Path) -> None:
    said = report([file(tmp_path, '{"text": "a"}\n{"text"\nnull\n[', "a.jsonl"), tmp_path / "gone.txt"])
    assert "gone.txt" in said
    said = report([file(tmp_path, '{"text": "a"}\n{"text"\nnull\n[', "a.jsonl")])
    assert "bad JSON" in said
    assert "2" in said
    assert "4" in said


def test_folders_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "b" / "deep").mkdir(parents=True)
    file(tmp_path, "three", "b/deep/z.txt")
    file(tmp_path, "two", "b/a.txt")
    file(tmp_path, "one", "a.txt")
    file(tmp_path, "hidden", ".hidden.txt")
    assert whole(read_documents([tmp_path])) == ["one", "two", "three"]
    (tmp_path / "empty").mkdir()
    assert report([tmp_path / "empty"]) == f"{tmp_path / 'empty'} is a folder without files."


@pytest.mark.parametrize("content", [b"one\0two", "ü".encode("utf-16"), "größe".encode("latin-1")])
def test_what_is_no_text(tmp_path: Path, content: bytes) -> None:
    assert "a.txt" in report([file(tmp_path, content)])


def test_all_faults_in_one_report(tmp_path: Path) -> None:
    said = report([file(tmp_path, b"\xff"), file(tmp_path, "good", "good.txt"), file(tmp_path, b"\xff", "b.txt")])
    assert "a.txt" in said
    assert "b.txt" in said


def test_one_very_long_line(tmp_path: Path) -> None:
    path = file(tmp_path, "x" * (3 * documents.PASSAGE + 5))
    assert [len(each.text) for each in read_documents([path])] == [documents.PASSAGE] * 3 + [5]


@pytest.mark.parametrize("size", [1, 9, 10, 11, 99, 100, 101, 1000])
def test_the_last_tenth_is_held_out_exactly(size: int) -> None:
    text = "".join(chr(ord("a") + i % 26) for i in range(size))
    passages = [Passage(text[i : i + 7], i == 0, i + 7 >= size) for i in range(0, size, 7)]
    learned, valid = held_out(passages)
    assert (learned.size, valid.size) == (size - size // 10, size // 10)
    assert "".join(each.text for each in learned) + "".join(each.text for each in valid) == text
    assert sum(len(each.text) for each in valid) == size // 10


def test_only_whole_ends_are_ends() -> None:
    learned, valid = held_out([Passage("a" * 15), Passage("b" * 5)])
    assert list(learned) == [Passage("a" * 15, True, True), Passage("b" * 3, True, False)]
    assert list(valid) == [Passage("b" * 2, False, True)]


def test_examples_are_texts_in_tuples() -> None:
    assert passage_of(("a text",)) == passage_of(["a text"]) == Passage("a text")
    with pytest.raises(WeftError, match=r"expected a text in a tuple, such as \('some text',\), got 'a text'"):
        passage_of("a text")


def held_out_texts(texts: list[str]) -> tuple[list[str], list[str]]:
    learned, valid = held_out([Passage(text) for text in texts])
    return [p.text for p in learned], [p.text for p in valid]


def test_no_word_is_cut_where_a_text_is_held_out() -> None:
    text = "a quick brown fox jumps over it"  # 31 characters: the last 3 begin in the middle of "it"
    assert held_out_texts([text]) == (["a quick brown fox jumps over"], [" it"])
    assert held_out_texts(["ab " * 9 + "abcdef ghi"]) == (["ab " * 9 + "abcdef "], ["ghi"])


def test_no_short_document_is_cut_where_a_tenth_is_held_out() -> None:
    learned, valid = held_out_texts([f"line {i:02}" for i in range(25)])
    assert (len(learned), len(valid)) == (23, 2)
    assert {len(text) for text in (*learned, *valid)} == {7}


def test_records_that_are_passed_over_are_counted_where_a_part_is_held_out(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text('{"text": "long enough to be split"}\n{"txt": "x"}\n{"text": 5}\n\n')
    learned, valid = held_out(read_documents([path]))
    assert [p.text for part in (learned, valid) for p in part]
    assert learned.passed_over == {str(path): {"without a text": 2, "blank": 1}}
