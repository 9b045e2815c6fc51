"""Sentence pairs from files, streamed, so that ten million need no more memory than ten.

    train.en train.de        two plain files, line by line; the suffixes name the languages
    train.tsv                columns between tabs; a quote is text
    train.jsonl              {"source": …, "target": …} or {"translation": {"en": …, "de": …}} on each line
    .tmx .po .xlf .xliff     what translators' tools write; these and .jsonl carry their languages: `weft.data.formats`

All of them may be compressed (.gz, .xz) and mixed. Only a newline ends a line, so lines are what `wc -l` counts.
Good pairs are yielded as they are read; all problems are raised at the end, in one report.
"""

import codecs
import gzip
import io
import lzma
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import IO, Any

from weft.data.formats import FIRST_LOOK, FORMATS, Format, Notes, Pair, decoded_lines
from weft.data.languages import Languages, is_reversed
from weft.errors import WeftError, unknown

SHOWN = 20
ARCHIVES = {b"BZh": "bzip2", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstandard"}  # by their first bytes
DECOMPRESSED: Mapping[str, Callable[[Path], Any]] = {".gz": gzip.open, ".xz": lzma.open}
LANGUAGE = re.compile(r"[a-z]{2,3}([-_][a-z0-9]{2,8})*", re.IGNORECASE)
NOT_LANGUAGES = re.compile("bpe|csv|dev|hyp|in|log|out|raw|ref|src|tgt|tok|trg|txt|xml|zip", re.IGNORECASE)


class Problems:
    """What is wrong with the data: the number of problems of each kind, and the first places."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.places: dict[str, list[str]] = {}

    def add(self, kind: str, place: str) -> None:
        self.counts[kind] += 1
        if self.counts[kind] <= SHOWN:
            self.places.setdefault(kind, []).append(place)

    def at(self, file: Path | str) -> Callable[[str, int | None], None]:
        """A function that adds a kind of problem at a line of this file."""
        return lambda kind, line: self.add(kind, f"{file}:{line}" if line else str(file))

    def report(self) -> str:
        lines = ["the data has problems:"]
        for kind, count in self.counts.items():
            times = f" ({count} times)" if count > 1 else ""
            more = f" and {count - SHOWN} more" if count > SHOWN else ""
            lines.append(f"  {kind}{times}: {', '.join(self.places[kind])}{more}")
        return "\n".join(lines)

    def raise_if_any(self) -> None:
        if self.counts:
            raise WeftError(self.report())


@dataclass(frozen=True)
class Source:
    """One file of pairs or two plain files, and the languages they declare."""

    files: tuple[Path, ...]
    languages: Languages | None
    read: Callable[[Languages | None, Problems, Counter[str]], Iterator[Pair]]

    def __str__(self) -> str:
        return " and ".join(map(str, self.files))


class Pairs:
    """Sentence pairs (source, target), read from the files again at each iteration."""

    def __init__(self, sources: Sequence[Source], languages: Languages | None) -> None:
        self.sources = sources
        self.languages = languages
        self.passed_over: dict[
            str, dict[str, int]
        ] = {}  # entries without a pair in the last iteration, by file, reason

    def __iter__(self) -> Iterator[Pair]:
        problems = Problems()
        self.passed_over = {}
        for source in self.sources:
            passed_over = Counter[str]()
            nothing = True
            try:
                for pair in source.read(self.languages, problems, passed_over):
                    nothing = False
                    yield pair
            except WeftError as error:
                problems.add("cannot be read", str(error))
            if nothing and not problems.counts and (not passed_over or "in other languages" in passed_over):
                problems.add("no pairs" + (f" in {'-'.join(self.languages)}" if self.languages else ""), str(source))
            if passed_over:
                self.passed_over[str(source)] = passed_over
        problems.raise_if_any()


def read_pairs(
    files: Sequence[str | Path],
    *,
    languages: str | Languages | None = None,
    columns: tuple[int, int] | str | None = None,
) -> Pairs:
    """The pairs in `files`, in the direction of `languages` ("en-de"), else in the direction the first file names."""
    paths = [Path(file) for file in ([files] if isinstance(files, str | Path) else files)]
    if not paths:
        raise WeftError("no files given: expected two plain files such as train.en train.de, or a .tsv, .jsonl, .tmx …")
    wanted = named_languages(languages)
    formats = FORMATS | {".tsv": _tsv(columns)}
    kinds = {path: bare(path).suffix.lower() for path in paths}
    if columns is not None and not has_tables(paths):
        raise WeftError(f"columns {columns} apply to .tsv files, but none was given.")
    refuse(fault(path, is_xml=kind in {".tmx", ".xlf", ".xliff"}) for path, kind in kinds.items())
    sources = [_formatted(path, formats[kinds[path]]) for path in paths if kinds[path] in formats]
    sources += [_plain(*pair) for pair in _partners([path for path in paths if kinds[path] not in formats])]
    sources.sort(key=lambda source: paths.index(source.files[0]))
    direction = wanted or next((source.languages for source in sources if source.languages), None)
    refuse(_disagreement(source, direction) for source in sources)
    return Pairs(sources, direction)


def has_tables(files: Sequence[str | Path]) -> bool:
    """Whether any of these files has columns."""
    return any(bare(Path(file)).suffix.lower() == ".tsv" for file in files)


def read_lines(source: str | Path | IO[bytes]) -> Iterator[str]:
    """The lines of a text file or a binary stream such as `sys.stdin.buffer`. A line that cannot be decoded is yielded
    empty, so that all others keep their line numbers; the problems are raised at the end."""
    problems = Problems()
    if isinstance(source, str | Path):
        name, raw = str(source), _raw_lines(Path(source))
    else:
        name, raw = str(getattr(source, "name", "the input")), iter(source)
    first = next(raw, b"")
    refuse([_not_utf8(name, first)])
    for line in decoded_lines(chain([first] if first else [], raw), problems.at(name)):
        yield "" if line is None else line
    problems.raise_if_any()


def _tsv(columns: tuple[int, int] | str | None) -> Format:
    given = columns.split(",") if isinstance(columns, str) else columns or (1, 2)
    chosen = [str(column).strip() for column in given]
    named = not all(re.fullmatch("-?[0-9]+", column) for column in chosen)
    if len(chosen) != 2 or not all(chosen) or (not named and min(map(int, chosen)) < 1):
        raise WeftError(f"expected columns as two numbers from 1, such as 1,2, or two names; got {columns!r}.")

    def read(stream: IO[bytes], languages: Languages | None, notes: Notes) -> Iterator[Pair]:
        rows = enumerate(decoded_lines(stream, notes.problem), 1)
        header = (next(rows, (0, None))[1] or "").split("\t") if named else []
        for column in chosen if named else ():
            if column not in header:
                raise WeftError(unknown("column", column, header))
        source, target = (header.index(column) if named else int(column) - 1 for column in chosen)
        for number, row in rows:
            if row is None:
                continue
            cells = row.split("\t")
            if len(cells) > max(source, target):
                yield cells[source], cells[target]
            else:
                few = "one column" if len(cells) == 1 else f"only {len(cells)} columns"
                notes.problem(f"row with {few}", number)

    def look_at_header(stream: IO[bytes]) -> None:
        """Refuse a wrong column name before anything is read. A table declares no languages."""
        next(read(stream, None, FIRST_LOOK), None)

    return Format(read, look_at_header)


def _formatted(path: Path, form: Format) -> Source:
    def read(languages: Languages | None, problems: Problems, passed_over: Counter[str]) -> Iterator[Pair]:
        with naming(path), opened(path) as stream:
            yield from form.read(stream, languages, Notes(problems.at(path), passed_over))

    with naming(path), opened(path) as stream:
        return Source((path,), form.languages(stream), read)


def _plain(first: Path, second: Path) -> Source:
    tags = bare(first).suffix[1:], bare(second).suffix[1:]
    named = all(LANGUAGE.fullmatch(tag) and not NOT_LANGUAGES.fullmatch(tag) for tag in tags) and tags[0] != tags[1]

    def read(languages: Languages | None, problems: Problems, passed_over: Counter[str]) -> Iterator[Pair]:
        turned = named and languages is not None and is_reversed(tags, languages)
        sides = (second, first) if turned else (first, second)
        lines = (decoded_lines(_raw_lines(side), problems.at(side)) for side in sides)
        ended = object()
        counts = [0, 0]
        for texts in zip_longest(*lines, fillvalue=ended):
            counts = [count + (text is not ended) for count, text in zip(counts, texts)]
            if isinstance(texts[0], str) and isinstance(texts[1], str):
                yield texts[0], texts[1]
        if counts[0] != counts[1]:
            problems.add("unequal line counts", f"{sides[0]} has {counts[0]} lines, {sides[1]} has {counts[1]}")

    return Source((first, second), tags if named else None, read)


def _partners(paths: list[Path]) -> Iterable[tuple[Path, Path]]:
    """Plain files in pairs: those that differ only in the suffix, or only in the folder, else in the order given."""
    alone = paths[-1:]
    for stem in (lambda path: bare(path).with_suffix("")), (lambda path: bare(path).stem):
        groups: dict[object, list[Path]] = {}
        for path in paths:
            groups.setdefault(stem(path), []).append(path)
        if all(len(group) == 2 for group in groups.values()):
            return [(first, second) for first, second in groups.values()]
        alone = [group[0] for group in groups.values() if len(group) == 1] or alone
    if len(paths) % 2:
        known = ", ".join(sorted([*FORMATS, ".tsv"]))
        raise WeftError(
            f"{alone[0]} has no partner: plain files come in pairs, such as train.en train.de; "
            f"files that hold both languages end in {known}."
        )
    return zip(paths[::2], paths[1::2])


def _disagreement(source: Source, direction: Languages | None) -> str | None:
    """Why two plain files cannot be read in this direction. Other formats declare their languages entry by entry."""
    if len(source.files) == 2 and source.languages and direction and is_reversed(source.languages, direction) is None:
        return f"{source} are named as {' and '.join(source.languages)}, but the direction is {'-'.join(direction)}."
    return None


def named_languages(given: str | Languages | None) -> Languages | None:
    if given is None:
        return None
    parts = given.split("-") if isinstance(given, str) else given
    # Files may name their languages in other ways than users may type them.
    if len(parts) != 2 or (isinstance(given, str) and not all(LANGUAGE.fullmatch(part) for part in parts)):
        raise WeftError(f"expected languages as source-target, such as en-de; got {given!r}.")
    return parts[0], parts[1]


def bare(path: Path) -> Path:
    """The path without the suffix of its compression."""
    return path.with_suffix("") if path.suffix.lower() in DECOMPRESSED else path


def opened(path: Path) -> io.BufferedReader:
    decompress = DECOMPRESSED.get(path.suffix.lower())
    return io.BufferedReader(decompress(path)) if decompress else open(path, "rb")


def _raw_lines(path: Path) -> Iterator[bytes]:
    with naming(path), opened(path) as stream:
        yield from stream


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the file in every error while reading it."""
    try:
        yield
    except WeftError as error:
        raise WeftError(f"{path}: {error}") from None
    except OSError as error:
        raise WeftError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise WeftError(f"{path} cannot be read: the compressed file is damaged or incomplete ({error}).") from error


def fault(path: Path, is_xml: bool) -> str | None:
    """Why a file cannot be read, judging by its first bytes."""
    if not path.exists():
        return f"{path} does not exist."
    if path.is_dir():
        return f"{path} is a folder, expected a file."
    if not path.is_file():
        return f"{path} is not a regular file; data is read more than once, so a pipe cannot be used."
    try:
        with naming(path), opened(path) as stream:
            head = stream.peek()
    except WeftError as error:
        return str(error)
    if not head:
        return f"{path} is empty."
    return None if is_xml else _not_utf8(str(path), head)  # XML declares its encoding, and UTF-16 is common there


def _not_utf8(name: str, head: bytes) -> str | None:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return f"{name} looks like UTF-16, expected UTF-8. Convert it: iconv -f UTF-16 -t UTF-8 {name} > new"
    for beginning, form in ARCHIVES.items():
        if head.startswith(beginning):
            return f"{name} is compressed with {form}; expected plain text, .gz or .xz."
    if b"\0" in head:
        return f"{name} contains NUL bytes: it is a binary file, or not UTF-8."
    return None


def refuse(faults: Iterable[str | None]) -> None:
    """Raise all faults together."""
    found = [fault for fault in faults if fault]
    if found:
        raise WeftError("\n".join(found))
