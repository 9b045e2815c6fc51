"""Reading pairs: which files belong together, what a line is, each format, and the words for what is wrong."""

import gzip
import io
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.data.reading import Pairs, Problems, read_lines, read_pairs
from weft.errors import WeftError, install

Write = Callable[[str, str | bytes], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a file into an empty current folder (compressed if its name says so) and return its name."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, content: str | bytes) -> str:
        data = content.encode() if isinstance(content, str) else content
        squeeze = {".gz": gzip.compress, ".xz": lzma.compress}.get(Path(name).suffix, bytes)
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(squeeze(data))
        return name

    return write


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(WeftError) as caught:
        action()
    return str(caught.value)


def read_until_error(pairs: Pairs) -> tuple[list[tuple[str, str]], str]:
    """The good pairs, and the report at the end."""
    good: list[tuple[str, str]] = []

    def go() -> None:
        for pair in pairs:
            good.append(pair)

    return good, refusal(go).removeprefix("the data has problems:\n")


# Plain files: which belong together


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_two_plain_files(write: Write, ending: str) -> None:
    pairs = read_pairs([write("a.lc.tok.en" + ending, "one\ntwo\n"), write("a.lc.tok.de" + ending, "eins\nzwei")])
    assert pairs.languages == ("en", "de")
    assert list(pairs) == [("one", "eins"), ("two", "zwei")]
    assert list(pairs) == [("one", "eins"), ("two", "zwei")], "each iteration starts anew"


def test_the_first_file_is_the_source_unless_languages_say_otherwise(write: Write) -> None:
    files = [write("a.de", "eins"), write("a.en", "one")]
    assert list(read_pairs(files)) == [("eins", "one")]
    assert read_pairs(files).languages == ("de", "en")
    assert list(read_pairs(files, languages="en-de")) == [("one", "eins")]
    assert list(read_pairs(files, languages=("en", "de"))) == [("one", "eins")]


def test_suffixes_that_are_no_languages(write: Write) -> None:
    files = [write("a.src", "one"), write("a.tgt", "eins")]
    assert read_pairs(files).languages is None
    assert read_pairs(files, languages="en-de").languages == ("en", "de")
    assert list(read_pairs(files, languages="en-de")) == [("one", "eins")]
    assert read_pairs([write("a.txt", "one"), write("b.txt", "eins")]).languages is None
    assert read_pairs([write("a.en", "one"), write("b.en", "1")]).languages is None, "one language on both sides"


def test_several_pairs_are_matched_by_stem(write: Write) -> None:
    files = [write("a.en", "1"), write("b.en", "2"), write("b.de", "zwei"), write("a.de", "eins")]
    assert list(read_pairs(files)) == [("1", "eins"), ("2", "zwei")]


def test_several_pairs_are_matched_by_name_across_folders(write: Write) -> None:
    files = [write("en/a.txt", "1"), write("en/b.txt", "2"), write("de/a.txt", "eins"), write("de/b.txt", "zwei")]
    assert list(read_pairs(files)) == [("1", "eins"), ("2", "zwei")]


def test_several_pairs_with_unlike_stems_are_matched_by_order(write: Write) -> None:
    files = [write("a.en", "1"), write("x.de", "eins"), write("b.en", "2"), write("y.de", "zwei")]
    assert list(read_pairs(files)) == [("1", "eins"), ("2", "zwei")]


def test_later_files_are_read_in_the_direction_of_the_first(write: Write) -> None:
    files = [write("a.en", "1"), write("a.de", "eins"), write("b.de", "zwei"), write("b.en", "2")]
    assert list(read_pairs(files)) == [("1", "eins"), ("2", "zwei")]


def test_formats_may_be_mixed(write: Write) -> None:
    files = [write("a.tsv.gz", "0\tnull\n"), write("a.en", "1"), write("a.de", "eins"), write("b.po.xz", PO)]
    pairs = read_pairs(files)
    assert pairs.languages == ("en", "de")
    assert list(pairs)[:3] == [("0", "null"), ("1", "eins"), ("Open", "Öffnen")]


def test_files_named_in_other_languages_are_refused(write: Write) -> None:
    files = [write("a.en", "1"), write("a.fr", "un")]
    message = "a.en and a.fr are named as en and fr, but the direction is en-de."
    assert refusal(lambda: read_pairs(files, languages="en-de")) == message
    assert refusal(lambda: read_pairs([write("b.en", "1"), write("b.de", "eins"), *files])) == message


def test_a_file_without_partner(write: Write) -> None:
    message = refusal(lambda: read_pairs([write("a.en", "1")]))
    assert message == (
        "a.en has no partner: plain files come in pairs, such as train.en train.de; "
        "files that hold both languages end in .json-lines, .jsonl, .po, .tmx, .tsv, .xlf, .xliff."
    )
    files = [write("a.en", "1"), write("b.en", "2"), write("b.de", "zwei")]
    assert refusal(lambda: read_pairs(files)).startswith("a.en has no partner")


def test_one_file_may_be_given_without_a_list(write: Write) -> None:
    assert list(read_pairs(write("a.tsv", "1\teins"))) == [("1", "eins")]


def test_no_files() -> None:
    assert refusal(lambda: read_pairs([])).startswith("no files given: expected two plain files such as")


@pytest.mark.parametrize("languages", ["en", "en-de-fr", "english-german", "-de", ("en",)])
def test_languages_in_another_form(languages: str) -> None:
    message = refusal(lambda: read_pairs(["a.tsv"], languages=languages))
    assert message == f"expected languages as source-target, such as en-de; got {languages!r}."


# Files that cannot be read


def test_all_files_that_cannot_be_read_are_named_together(write: Write) -> None:
    Path("folder.en").mkdir()
    os.mkfifo("pipe.en")
    files = ["none.en", "folder.en", "pipe.en", write("empty.en", ""), write("empty.en.gz", ""), write("b.en", b"a\0b")]
    files.append(write("old.en.bz2", b"BZh91AY"))
    Path("fake.en.xz").write_bytes(b"not compressed")
    Path("cut.en.gz").write_bytes(gzip.compress(b"text")[:-9])
    assert refusal(lambda: read_pairs([*files, "fake.en.xz", "cut.en.gz"])).split("\n") == [
        "none.en does not exist.",
        "folder.en is a folder, expected a file.",
        "pipe.en is not a regular file; data is read more than once, so a pipe cannot be used.",
        "empty.en is empty.",
        "empty.en.gz is empty.",
        "b.en contains NUL bytes: it is a binary file, or not UTF-8.",
        "old.en.bz2 is compressed with bzip2; expected plain text, .gz or .xz.",
        "fake.en.xz cannot be read: the compressed file is damaged or incomplete "
        "(Input format not supported by decoder).",
        "cut.en.gz cannot be read: the compressed file is damaged or incomplete "
        "(Compressed file ended before the end-of-stream marker was reached).",
    ]


def test_a_file_without_permission(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    name = write("a.tsv", "1\t2")
    monkeypatch.setattr("builtins.open", forbidden)
    assert refusal(lambda: read_pairs([name])) == "a.tsv cannot be read: Permission denied."


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_recognised(write: Write, encoding: str) -> None:
    name = write("a.tsv", "\ufeff1\teins\n".encode(encoding))
    assert refusal(lambda: read_pairs([name])) == (
        "a.tsv looks like UTF-16, expected UTF-8. Convert it: iconv -f UTF-16 -t UTF-8 a.tsv > new"
    )
    assert "looks like UTF-16" in refusal(lambda: list(read_lines(name)))


def test_a_file_damaged_further_on(write: Write) -> None:
    noise = os.urandom(50_000).hex()
    whole = gzip.compress(f"one\n{noise}\nthree".encode())
    Path("a.en.gz").write_bytes(whole[:-2000])
    good, report = read_until_error(read_pairs(["a.en.gz", write("a.de", "eins\nzwei\ndrei")]))
    assert good == [("one", "eins")]
    assert report.startswith("  cannot be read: a.en.gz cannot be read: the compressed file is damaged or incomplete")


# Lines


def test_only_newline_ends_a_line(write: Write) -> None:
    name = write("a", "\ufeffone\r\ntwo\rtwo\n\u2028\u0085\x0b\x0c\n\n last \r")
    assert list(read_lines(name)) == ["one", "two\rtwo", "\u2028\u0085\x0b\x0c", "", " last \r"]


def test_lines_of_a_stream_and_of_compressed_files(write: Write) -> None:
    assert list(read_lines(io.BytesIO(b"one\ntwo"))) == ["one", "two"]
    assert list(read_lines(io.BytesIO(b""))) == []
    assert list(read_lines(io.BytesIO(b"\n"))) == [""]
    assert list(read_lines(Path(write("a.gz", "one\ntwo\n")))) == ["one", "two"]


def test_lines_are_given_out_before_the_report(write: Write) -> None:
    lines = read_lines(io.BytesIO(b"one\n\xff\nthree\na\0b\n"))
    assert [next(lines) for _ in range(4)] == ["one", "", "three", ""], "each in its place"
    assert refusal(lambda: next(lines)) == (
        "the data has problems:\n  not valid UTF-8: the input:2\n  NUL byte: the input:4"
    )
    assert refusal(lambda: list(read_lines("none"))) == "none cannot be read: No such file or directory."


def test_empty_sides_are_data(write: Write) -> None:
    pairs = read_pairs([write("a.en", "one\n\n\n"), write("a.de", "\nzwei\n\n")])
    assert list(pairs) == [("one", ""), ("", "zwei"), ("", "")]


# The report


def test_good_pairs_come_first_and_all_problems_at_the_end(write: Write) -> None:
    files = [write("a.en", b"1\n\xff\n3\n4\n5\n"), write("a.de", b"eins\nzwei\ndr\xe9i\nvier\n"), write("b.tsv", "x\n")]
    good, report = read_until_error(read_pairs(files))
    assert good == [("1", "eins"), ("4", "vier")]
    assert report.split("\n") == [
        "  not valid UTF-8 (2 times): a.en:2, a.de:3",
        "  unequal line counts: a.en has 5 lines, a.de has 4",
        "  row with one column: b.tsv:1",
    ]


def test_twenty_places_are_named_and_all_are_counted() -> None:
    problems = Problems()
    problems.raise_if_any()
    for line in range(1, 26):
        problems.at("a.en")("not valid UTF-8", line)
    places = ", ".join(f"a.en:{line}" for line in range(1, 21))
    assert problems.report() == (f"the data has problems:\n  not valid UTF-8 (25 times): {places} and 5 more")
    with pytest.raises(WeftError, match=r"25 times"):
        problems.raise_if_any()


# Tables


def test_tsv(write: Write) -> None:
    name = write("a.tsv", 'one "1\teins\tI\ntwo\t"zwei"\tII\r\n')
    assert list(read_pairs([name])) == [('one "1', "eins"), ("two", '"zwei"')]
    assert read_pairs([name]).languages is None
    assert read_pairs([name], languages="en-de").languages == ("en", "de")
    assert list(read_pairs([name], columns="3,1")) == [("I", 'one "1'), ("II", "two")]
    assert list(read_pairs([name], columns=(2, 3))) == [("eins", "I"), ('"zwei"', "II")]


def test_tsv_columns_by_name(write: Write) -> None:
    name = write("a.tsv", "id\ttarget\tsource\n1\teins\tone\n")
    assert list(read_pairs([name], columns="source, target")) == [("one", "eins")]
    assert refusal(lambda: read_pairs([name], columns="source,targt")) == (
        "a.tsv: there is no column 'targt'. Did you mean 'target'? Known: id, source, target."
    )


def test_tsv_rows_that_are_too_short(write: Write) -> None:
    name = write("a.tsv", "1\t2\t3\n1\n\n1\t2\n4\t5\t6\n")
    good, report = read_until_error(read_pairs([name], columns="1,3"))
    assert good == [("1", "3"), ("4", "6")]
    assert report == "  row with one column (2 times): a.tsv:2, a.tsv:3\n  row with only 2 columns: a.tsv:4"


@pytest.mark.parametrize("columns", ["1", "0,1", "-1,2", "1,2,3", ",", (1,)])
def test_columns_in_another_form(columns: str) -> None:
    message = refusal(lambda: read_pairs(["a.tsv"], columns=columns))
    assert message == f"expected columns as two numbers from 1, such as 1,2, or two names; got {columns!r}."


def test_columns_without_a_table(write: Write) -> None:
    message = refusal(lambda: read_pairs([write("a.jsonl", "{}")], columns="1,2"))
    assert message == "columns 1,2 apply to .tsv files, but none was given."


# JSON lines


def test_jsonl_with_source_and_target(write: Write) -> None:
    pairs = read_pairs([write("a.jsonl", '{"source": "a\\nb", "target": "\\u00e4"}\n\n')])
    assert pairs.languages is None
    assert list(pairs) == [("a\nb", "ä")]
    assert pairs.passed_over == {"a.jsonl": {"blank": 1}}


def test_jsonl_with_languages(write: Write) -> None:
    name = write(
        "a.json-lines", '{"translation": {"de": "eins", "en-US": "one"}}\n{"translation": {"en": "2", "de": "zwei"}}'
    )
    assert read_pairs([name]).languages == ("de", "en-US")
    assert list(read_pairs([name])) == [("eins", "one"), ("zwei", "2")]
    assert list(read_pairs([name], languages="en-de")) == [("one", "eins"), ("2", "zwei")]


def test_jsonl_prefers_the_very_language(write: Write) -> None:
    name = write("a.jsonl", '{"translation": {"pt-BR": "ônibus", "pt": "autocarro", "en": "bus"}}')
    assert list(read_pairs([name], languages="en-pt")) == [("bus", "autocarro")]


def test_jsonl_problems(write: Write) -> None:
    rows = ["{", "[" * 100_000, "[]", '{"source": "x"}', '{"translation": {"en": "x", "de": "y"}}']
    rows += ['{"source": 1, "target": "x"}', '{"source": "\\ud83d", "target": "x"}', '{"source": "a", "target": "b"}']
    good, report = read_until_error(read_pairs([write("a.jsonl", "\n".join(rows))]))
    assert good == [("a", "b")]
    assert report.split("\n") == [
        "  bad JSON (2 times): a.jsonl:1, a.jsonl:2",
        '  missing key ("source" and "target", or "translation" in both languages) (3 times): '
        "a.jsonl:3, a.jsonl:4, a.jsonl:5",
        "  value that is not text: a.jsonl:6",
        "  half of a surrogate pair: a.jsonl:7",
    ]


# TMX

TMX = """<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US"/><body>
<tu><tuv xml:lang="DE-de"><seg>Der <hi>rote</hi> Hut</seg></tuv>
    <tuv xml:lang="EN-us"><prop>x</prop><seg>The <bpt>&lt;b></bpt>red<ept>&lt;/b></ept> <ph/>hat</seg></tuv></tu>
<tu><tuv lang="en"><seg> two
lines </seg></tuv><tuv lang="de"><seg>zwei</seg></tuv><tuv lang="de-AT"><seg>zwo</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>three</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>four</seg></tuv><tuv xml:lang="de"><seg/></tuv></tu>
<tu><tuv xml:lang="en"><seg>five</seg></tuv><tuv xml:lang="fr"><seg>cinq</seg></tuv></tu>
</body></tmx>"""


@pytest.mark.parametrize("data", [TMX.encode(), TMX.encode("utf-16")])
def test_tmx(write: Write, data: bytes) -> None:
    pairs = read_pairs([write("a.tmx", data)])
    assert pairs.languages == ("en-US", "DE-de")
    assert list(pairs) == [("The red hat", "Der rote Hut"), (" two\nlines ", "zwei")]
    assert pairs.passed_over == {"a.tmx": {"untranslated": 2, "in other languages": 1, "further variants": 1}}
    assert list(pairs), "a second time"
    assert pairs.passed_over == {"a.tmx": {"untranslated": 2, "in other languages": 1, "further variants": 1}}


def test_tmx_in_chosen_languages(write: Write) -> None:
    name = write("a.tmx", TMX)
    assert next(iter(read_pairs([name], languages="de-en"))) == ("Der rote Hut", "The red hat")
    assert list(read_pairs([name], languages=("en", "de-AT")))[1] == (" two\nlines ", "zwo")
    assert list(read_pairs([name], languages="en-fr")) == [("five", "cinq")]
    assert read_until_error(read_pairs([name], languages="en-cs")) == ([], "  no pairs in en-cs: a.tmx")


def test_tmx_for_all_source_languages(write: Write) -> None:
    assert read_pairs([write("a.tmx", TMX.replace("en-US", "*all*"))]).languages == ("DE-de", "EN-us")


def test_broken_xml_is_reported_with_its_line(write: Write) -> None:
    good, report = read_until_error(read_pairs([write("a.tmx", TMX[:-20])]))
    assert len(good) == 2
    assert report == "  invalid XML (unclosed token): a.tmx:9"
    bad = TMX.replace('"1.0"', '"1.0" encoding="none"')
    assert read_until_error(read_pairs([write("b.tmx", bad)]))[1] == (
        "  XML in an unknown encoding; convert it to UTF-8: b.tmx:1"
    )


def test_entity_bombs_are_refused(write: Write) -> None:
    bomb = '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><tmx><body><tu>&b;</tu></body></tmx>'
    assert read_until_error(read_pairs([write("a.tmx", bomb)])) == (
        [],
        "  XML with entity definitions, refused because they can exhaust the memory: a.tmx",
    )


def test_xml_does_not_grow_in_memory(write: Write) -> None:
    """What stays of a unit that was read must be nothing at all: the tree around it is emptied, too."""
    unit = '<tu><tuv xml:lang="en"><seg>one</seg></tuv><tuv xml:lang="de"><seg>eins</seg></tuv></tu>\n'
    reading = iter(read_pairs([write("a.tmx", f"<tmx><header/><body>{unit * 3000}</body></tmx>")]))
    for _ in range(500):
        next(reading)
    early = sys.getallocatedblocks()
    for _ in range(2000):
        next(reading)
    assert sys.getallocatedblocks() - early < 2000


# XLIFF

XLIFF_1 = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="en-GB" target-language="de"><body><group>
<trans-unit id="1"><source>The <g id="1">red</g> hat</source><target>Der <x id="2"/>rote <it>&lt;br></it>Hut</target>
  <alt-trans><source>no</source><target>nein</target></alt-trans></trans-unit>
<trans-unit id="2"><source>two</source></trans-unit>
<trans-unit id="3"><source>three</source><target state="needs-translation">three</target></trans-unit>
</group></body></file>
<file source-language="en" target-language="fr"><body>
<trans-unit id="1"><source>one</source><target>un</target></trans-unit></body></file></xliff>"""

XLIFF_2 = """<xliff version="2.0" srcLang="en" trgLang="de" xmlns="urn:oasis:names:tc:xliff:document:2.0"
 xmlns:mtc="urn:oasis:names:tc:xliff:matches:2.0"><file id="f"><unit id="1">
<mtc:matches><mtc:match><source>no</source><target>nein</target></mtc:match></mtc:matches>
<segment><source>The <pc id="1">red</pc> hat</source><target>Der rote Hut</target></segment>
<ignorable><source> </source></ignorable>
<segment><source>two</source></segment>
</unit></file></xliff>"""


def test_xliff_1(write: Write) -> None:
    pairs = read_pairs([write("a.xlf", XLIFF_1)])
    assert pairs.languages == ("en-GB", "de")
    assert list(pairs) == [("The red hat", "Der rote Hut")]
    assert pairs.passed_over == {"a.xlf": {"untranslated": 2, "in other languages": 1}}
    assert list(read_pairs(["a.xlf"], languages="fr-en")) == [("un", "one")]


def test_xliff_2(write: Write) -> None:
    pairs = read_pairs([write("a.xliff", XLIFF_2)])
    assert pairs.languages == ("en", "de")
    assert list(pairs) == [("The red hat", "Der rote Hut")]
    assert pairs.passed_over == {"a.xliff": {"untranslated": 1}}
    assert list(read_pairs(["a.xliff"], languages="de-en")) == [("Der rote Hut", "The red hat")]


# PO

PO = """# A comment
msgid ""
msgstr ""
"Language: de\\n"
"Content-Type: text/plain; charset=UTF-8\\n"

msgid "Open"
msgstr "Öffnen"

msgctxt "menu"
msgid "two\\n"
"lines"
msgstr "zwei\u2028\\n"
"Zeilen"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] "%d Dateien"
msgstr[2] "viele Dateien"

#, fuzzy
msgid "Close"
msgstr "Öffnen"

msgid "Save"
msgstr ""

#~ msgid "Old"
#~ msgstr "Alt"
"""
PO_PAIRS = [
    ("Open", "Öffnen"),
    ("two\nlines", "zwei\u2028\nZeilen"),
    ("%d file", "%d Datei"),
    ("%d files", "%d Dateien"),
    ("%d files", "viele Dateien"),
]


@pytest.mark.parametrize("name", ["a.po", "a.po.gz"])
def test_po(write: Write, name: str) -> None:
    pairs = read_pairs([write(name, PO)])
    assert pairs.languages == ("en", "de")
    assert list(pairs) == PO_PAIRS
    assert pairs.passed_over == {name: {"fuzzy": 1, "untranslated": 1, "obsolete": 1}}


def test_po_in_chosen_languages(write: Write) -> None:
    name = write("a.po", PO)
    assert list(read_pairs([name], languages="fr-de")) == PO_PAIRS, (
        "msgids are in whatever language they are said to be"
    )
    assert list(read_pairs([name], languages="de-en")) == [(target, source) for source, target in PO_PAIRS]
    assert read_until_error(read_pairs([name], languages="en-it"))[1] == "  no pairs in en-it: a.po"
    unnamed = read_pairs([write("b.po", PO.replace('"Language: de\\n"\n', ""))])
    assert unnamed.languages is None
    assert list(unnamed) == PO_PAIRS


def test_po_in_another_encoding(write: Write) -> None:
    old = PO.replace("UTF-8", "ISO-8859-1").replace("\u2028", "")
    assert ("Open", "Öffnen") in list(read_pairs([write("a.po", old.encode("latin-1"))]))
    assert read_until_error(read_pairs([write("b.po", PO.encode().replace("Ö".encode(), b"\xff"))]))[1] == (
        "  not valid UTF-8: b.po:8"
    )


@pytest.mark.parametrize("charset", ["hex", "rot13", "undefined", "punycode", "utf-16"])
def test_po_in_no_encoding(write: Write, charset: str) -> None:
    name = write("a.po", PO.replace("UTF-8", charset))
    assert read_until_error(read_pairs([name]))[1] == f"  unsupported charset={charset}: a.po"


def test_po_with_half_of_a_surrogate_pair(write: Write) -> None:
    name = write("a.po", PO.encode("ascii", "ignore").replace(b"UTF-8", b"UTF-7").replace(b"Open", b"+2AA-"))
    assert read_until_error(read_pairs([name]))[1] == "  not valid UTF-7: a.po"


def test_broken_po_is_reported_with_its_line(write: Write) -> None:
    assert read_until_error(read_pairs([write("a.po", PO + "nonsense\n")]))[1] == "  broken PO syntax: a.po:31"


def test_a_file_without_any_translation_is_no_error(write: Write) -> None:
    pairs = read_pairs([write("a.po", 'msgid "Save"\nmsgstr ""\n')])
    assert list(pairs) == []
    assert pairs.passed_over == {"a.po": {"untranslated": 1}}


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [("a.po", "polib", "polib"), ("a.tmx", "defusedxml.ElementTree", "defusedxml")],
)
def test_a_missing_package_is_named(
    write: Write, monkeypatch: pytest.MonkeyPatch, name: str, module: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    message = refusal(lambda: read_pairs([write(name, "x")]))
    assert message == f"{name}: this format needs the package {package}: {install('formats')}."
