"""Documents from files of plain text, streamed, so that a file may be larger than the memory.

    text.txt      one document; with `split`, one per line, or per block between blank lines
    text.jsonl    one document per line, as {"text": …}
    folder        all files in it and its subfolders, in the order of their names

All of them may be compressed (.gz, .xz). A long document is read in passages, so that no line is too long.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import IO, NamedTuple

from weft.data.formats import decoded_lines
from weft.data.reading import Problems, bare, fault, naming, opened, refuse
from weft.errors import WeftError, unknown

PASSAGE = 2**20  # characters at most
HELD_OUT = 0.1  # the fraction of the characters used for validation if there are no files for it


class Passage(NamedTuple):
    """A document, or a part of a long one."""

    text: str
    starts: bool = True  # the document starts here
    ends: bool = True  # and ends here


class Documents:
    """Documents read from the files again at each iteration."""

    def __init__(self, paths: Sequence[Path], split: str):
        self.paths = paths
        self.split = split
        self.passed_over: dict[str, dict[str, int]] = {}  # records without a text in the last iteration, by file

    def __iter__(self) -> Iterator[Passage]:
        problems = Problems()
        self.passed_over = {}
        for path in self.paths:
            skipped = Counter[str]()
            try:
                with naming(path), opened(path) as stream:
                    yield from (
                        _records(stream, path, problems, skipped) if _is_json(path) else SPLITS[self.split](stream)
                    )
            except WeftError as error:
                problems.add("cannot be read", str(error))
            if skipped:
                self.passed_over[str(path)] = skipped
        problems.raise_if_any()


class Part:
    """The passages of some documents from one character to another."""

    def __init__(self, documents: Iterable[Passage], first: int, last: int):
        self.documents = documents
        self.first = first
        self.last = last

    @property
    def passed_over(self) -> dict[str, dict[str, int]]:
        return {} if self.first else getattr(self.documents, "passed_over", {})  # told once, with the first part

    @property
    def size(self) -> int:
        """The number of characters."""
        return self.last - self.first

    def __iter__(self) -> Iterator[Passage]:
        at = 0
        for passage in map(passage_of, self.documents):
            start, end = max(self.first - at, 0), min(self.last - at, len(passage.text))
            if start < end:
                is_whole_end = end == len(passage.text)
                yield Passage(passage.text[start:end], passage.starts and start == 0, passage.ends and is_whole_end)
            at += len(passage.text)


def passage_of(example: Sequence[object]) -> Passage:
    """The passage, or the text of a row with a single column."""
    if isinstance(example, Passage):
        return example
    if isinstance(example, tuple | list) and len(example) == 1 and isinstance(example[0], str):
        return Passage(example[0])
    raise WeftError(f"expected a text in a tuple, such as ('some text',), got {example!r}.")


def read_documents(paths: Sequence[Path], split: str = "file") -> Documents:
    """Read documents from files and folders; all faults of the files are in one report."""
    if split not in SPLITS:
        raise WeftError(f"--documents: {unknown('way to split a file', split, SPLITS)}")
    files = [file for path in paths for file in (_inside(path) if path.is_dir() else [path])]
    refuse(f"{path} is a folder without files." for path in paths if path.is_dir() and not _inside(path))
    refuse(fault(file, is_xml=False) for file in files)
    return Documents(files, split)


def held_out(documents: Iterable[Passage]) -> tuple[Part, Part]:
    """Split off the last tenth of the characters. No word is cut, and no document that is shorter than a tenth."""
    size = sum(len(passage_of(passage).text) for passage in documents)
    cut = _boundary(documents, size - int(size * HELD_OUT), size)
    return Part(documents, 0, cut), Part(documents, cut, size)


def _boundary(documents: Iterable[Passage], cut: int, size: int) -> int:
    """Where a document or a word ends next to this character; the character itself if that leaves nothing behind it."""
    end = 0
    for text, starts, ends in map(passage_of, documents):
        first, end = end, end + len(text)
        if end >= cut:
            if starts and ends and len(text) < size * HELD_OUT:
                return end if end < size else first
            space = re.compile(r"\s").search(text, cut - first)
            return first + space.start() if space else cut
    return cut


def _inside(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))


def _is_json(path: Path) -> bool:
    return bare(path).suffix.lower() in {".jsonl", ".ndjson"}


def _records(stream: IO[bytes], path: Path, problems: Problems, skipped: "Counter[str]") -> Iterator[Passage]:
    problem = problems.at(path)
    for number, line in enumerate(decoded_lines(stream, problem), 1):
        if line is None:
            continue
        try:
            record = json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError):
            problem("bad JSON", number)
            continue
        text = record.get("text") if isinstance(record, dict) else None
        if isinstance(text, str) and text.strip():
            yield from _passages([text])
        else:
            skipped["without a text" if line.strip() else "blank"] += 1


def _text(stream: IO[bytes]) -> Iterator[str]:
    """The text of a file, piece by piece."""
    reader = TextIOWrapper(stream, encoding="utf-8-sig")
    while True:
        try:
            piece = reader.read(PASSAGE)
        except UnicodeDecodeError as error:
            raise WeftError(f"not valid UTF-8: {error.object[error.start : error.end]!r} {error.reason}.") from None
        if "\0" in piece:
            raise WeftError("it contains NUL bytes: it is a binary file, or not UTF-8.")
        if not piece:
            reader.detach()  # the caller closes the stream
            return
        yield piece


def _passages(pieces: Iterable[str]) -> Iterator[Passage]:
    """Cut one document into passages of at most PASSAGE characters, at line ends if there are any."""
    held, starts = "", True
    for piece in pieces:
        held += piece
        while len(held) > PASSAGE:
            cut = held.rfind("\n", 0, PASSAGE) + 1 or PASSAGE
            yield Passage(held[:cut], starts, False)
            held, starts = held[cut:], False
    if held:
        yield Passage(held, starts, True)


def _whole(stream: IO[bytes]) -> Iterator[Passage]:
    """The file as one document"""
    return _passages(_text(stream))


def _at(boundary: str, stream: IO[bytes]) -> Iterator[Passage]:
    document: list[str] = []  # so far
    edge = ""  # the white space after it, where a boundary may begin
    for piece in _text(stream):
        *ended, rest = re.split(boundary, edge + piece)
        for last in ended:
            yield from _document([*document, last])
            document = []
        document.append(rest.rstrip())
        edge = rest[len(document[-1]) :]
    yield from _document([*document, edge])


def _document(parts: Sequence[str]) -> Iterator[Passage]:
    """The passages of a document, if there is more than white space in it."""
    text = "".join(parts)
    return _passages([text] if text.strip() else [])


def _lines(stream: IO[bytes]) -> Iterator[Passage]:
    """A document on each line"""
    return _at(r"\n", stream)


def _paragraphs(stream: IO[bytes]) -> Iterator[Passage]:
    """A document between blank lines"""
    return _at(r"\n(?:[^\S\n]*\n)+(?=[^\S\n]*\S)", stream)


SPLITS = {"file": _whole, "blank-line": _paragraphs, "line": _lines}
