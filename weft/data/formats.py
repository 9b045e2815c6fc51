"""Formats that carry their languages: JSONL, and what translators' tools write: TMX (memories), PO (gettext), XLIFF.

A `Format` reads an open binary stream. Broken entries are reported to `notes.problem(kind, line)`; valid ones without a
translation are counted in `notes.passed_over`. XML is parsed element by element, so a file may be of any size.
"""

import codecs
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError

from weft.data.languages import Languages, is_reversed, same_language
from weft.errors import WeftError, install

Pair = tuple[str, str]

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
MARKUP = {"bpt", "ept", "it", "ph", "ut"}  # inline elements that hold foreign markup instead of text
DEEPEST = 100  # nested elements
NOT_YET = {"new", "needs-translation", "initial"}  # XLIFF states whose target is a stand-in, often the source itself


class Notes(NamedTuple):
    """Where a reader reports entries that it could not yield as a pair."""

    problem: Callable[[str, int | None], None]  # the kind of problem, and its line if known
    passed_over: Counter[str]  # number of entries without a usable translation, by reason


class Format(NamedTuple):
    """How a file format is read, and which languages a file declares (None: it does not)."""

    read: Callable[[IO[bytes], Languages | None, Notes], Iterator[Pair]]
    languages: Callable[[IO[bytes]], Languages | None]


FIRST_LOOK = Notes(lambda kind, line: None, Counter())  # problems are reported when a file is read, not before


def decoded_lines(raw: Iterable[bytes], problem: Callable[[str, int | None], None]) -> Iterator[str | None]:
    """Decoded lines; None for a bad one, so that the lines of two files stay aligned."""
    for number, line in enumerate(raw, 1):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if line.endswith(b"\n"):
            line = line[:-2] if line.endswith(b"\r\n") else line[:-1]
        text = None
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            problem("not valid UTF-8", number)
        if text and "\0" in text:
            problem("NUL byte", number)
            text = None
        yield text


def read_json_lines(stream: IO[bytes], languages: Languages | None, notes: Notes) -> Iterator[Pair]:
    for number, line in enumerate(decoded_lines(stream, notes.problem), 1):
        if line is None:
            continue
        if not line.strip():
            notes.passed_over["blank"] += 1
            continue
        try:
            source, target = _from_json(json.loads(line), languages)
        except (ValueError, RecursionError):
            notes.problem("bad JSON", number)
            continue
        if source is None or target is None:
            notes.problem('missing key ("source" and "target", or "translation" in both languages)', number)
        elif not isinstance(source, str) or not isinstance(target, str):
            notes.problem("value that is not text", number)
        elif "\\u" in line and re.search("[\ud800-\udfff]", source + target):
            notes.problem("half of a surrogate pair", number)  # cannot be written as UTF-8, and would fail much later
        else:
            yield source, target


def _from_json(row: Any, languages: Languages | None) -> tuple[Any, Any]:
    texts = row.get("translation") if isinstance(row, dict) else {}
    if not isinstance(texts, dict):
        return row.get("source"), row.get("target")
    if languages is None:
        return None, None
    return _in_language(texts, languages[0]), _in_language(texts, languages[1])


def _in_language(texts: dict[str, Any], language: str) -> Any:
    if language in texts:
        return texts[language]
    return next((text for tag, text in texts.items() if same_language(tag, language)), None)


def json_languages(stream: IO[bytes]) -> Languages | None:
    """The first two keys of the first row's translation, in their order."""
    try:
        row = json.loads(next(line for line in stream if line.strip()).decode("utf-8-sig"))
        first, second, *_ = row["translation"].keys()
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError, StopIteration):
        return None  # a bad row is reported when it is read
    return first, second


def read_tmx(stream: IO[bytes], languages: Languages | None, notes: Notes) -> Iterator[Pair]:
    for unit in _elements(stream, {"tu"}, notes):
        if _name(unit) != "tu":
            continue
        variants = _variants(unit)
        if len(variants) < 2 or languages is None:
            notes.passed_over["untranslated"] += 1
            continue
        source, target = _take(variants, languages[0]), _take(variants, languages[1])
        if source is None or target is None:
            notes.passed_over["in other languages"] += 1
        elif not source.strip() or not target.strip():
            notes.passed_over["untranslated"] += 1
        else:
            yield source, target
            further = [tag for tag, _ in variants if any(same_language(tag, language) for language in languages)]
            notes.passed_over.update("further variants" for _ in further)


def tmx_languages(stream: IO[bytes]) -> Languages | None:
    """The header's source language and the first other language that a unit has."""
    source = ""
    for element in _elements(stream, {"tu"}, FIRST_LOOK):
        if _name(element) == "header":
            source = element.get("srclang", "").replace("*all*", "")
        elif _name(element) == "tu":
            tags = [tag for tag, _ in _variants(element)]
            source = source or (tags[0] if tags else "")
            for tag in tags:
                if not same_language(tag, source):
                    return source, tag
    return None


def read_xliff(stream: IO[bytes], languages: Languages | None, notes: Notes) -> Iterator[Pair]:
    turned: bool | None = False
    for element in _elements(stream, {"trans-unit", "segment"}, notes):
        if _name(element) not in {"trans-unit", "segment"}:
            carried = _xliff_languages(element)
            if carried and languages:
                turned = is_reversed(carried, languages)
            continue
        sides = {_name(child): child for child in element}
        source, target = (_text(sides[side]) if side in sides else "" for side in ("source", "target"))
        states = {element.get("state"), sides["target"].get("state") if "target" in sides else None}
        if turned is None:
            notes.passed_over["in other languages"] += 1
        elif not source.strip() or not target.strip() or states & NOT_YET:
            notes.passed_over["untranslated"] += 1
        else:
            yield (target, source) if turned else (source, target)


def xliff_languages(stream: IO[bytes]) -> Languages | None:
    found = (_xliff_languages(element) for element in _elements(stream, {"trans-unit", "segment"}, FIRST_LOOK))
    return next((languages for languages in found if languages), None)


def read_po(stream: IO[bytes], languages: Languages | None, notes: Notes) -> Iterator[Pair]:
    catalogue = _catalogue(stream, notes)
    own = catalogue.metadata.get("Language") if catalogue else None
    # The language of the msgids is written nowhere: it is the wanted one that the msgstrs are not in.
    turned = bool(own and languages and not same_language(own, languages[1]) and same_language(own, languages[0]))
    foreign = bool(own and languages and not any(same_language(own, language) for language in languages))
    for entry in catalogue or ():
        hindrance = (entry.obsolete and "obsolete") or (entry.fuzzy and "fuzzy") or (foreign and "in other languages")
        if hindrance:
            notes.passed_over[hindrance] += 1
            continue
        forms = entry.msgstr_plural or {0: entry.msgstr}
        for number, target in sorted(forms.items()):
            source = entry.msgid_plural if number else entry.msgid
            if not target.strip():
                notes.passed_over["untranslated"] += 1
            else:
                yield (target, source) if turned else (source, target)


def po_languages(stream: IO[bytes]) -> Languages | None:
    catalogue = _catalogue(stream, FIRST_LOOK)
    own = catalogue.metadata.get("Language") if catalogue else None
    return ("en", own) if own else None


FORMATS = {
    ".jsonl": Format(read_json_lines, json_languages),
    ".json-lines": Format(read_json_lines, json_languages),
    ".tmx": Format(read_tmx, tmx_languages),
    ".po": Format(read_po, po_languages),
    ".xlf": Format(read_xliff, xliff_languages),
    ".xliff": Format(read_xliff, xliff_languages),
}


def _installed(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise WeftError(f"this format needs the package {package}: {install('formats')}.") from None


def _elements(stream: IO[bytes], units: Container[str], notes: Notes) -> Iterator[Element]:
    """Each unit when it is complete, and each element around the units when it opens (with its attributes only)."""
    parser = _installed("defusedxml.ElementTree")
    path: list[Element] = []
    unit: Element | None = None
    try:
        for event, element in parser.iterparse(stream, ("start", "end")):
            if event == "start":
                path.append(element)
                if len(path) > DEEPEST:
                    notes.problem(f"XML nested more than {DEEPEST} levels deep", None)
                    return
                if unit is None:
                    unit = element if _name(element) in units else None
                    if unit is None:
                        yield element
                continue
            path.pop()
            if element is unit:
                yield unit
                unit = None
            if unit is None and path:
                path[-1].clear()  # else the tree would grow with the file
    except ParseError as error:
        notes.problem(f"invalid XML ({str(error).partition(':')[0]})", error.position[0])
    except parser.EntitiesForbidden:
        notes.problem("XML with entity definitions, refused because they can exhaust the memory", None)
    except parser.ExternalReferenceForbidden:
        notes.problem("XML with references to other files, refused for security", None)
    except (ValueError, LookupError):
        notes.problem("XML in an unknown encoding; convert it to UTF-8", 1)


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _text(element: Element) -> str:
    inner = ("" if _name(child) in MARKUP else _text(child) for child in element)
    return (element.text or "") + "".join(text + (child.tail or "") for text, child in zip(inner, element))


def _variants(unit: Element) -> list[tuple[str, str]]:
    """(language, text) of each variant of a TMX unit."""
    return [
        (variant.get(XML_LANG) or variant.get("lang") or "", _text(segment))
        for variant in unit
        for segment in variant
        if _name(variant) == "tuv" and _name(segment) == "seg"
    ]


def _take(variants: list[tuple[str, str]], language: str) -> str | None:
    """Remove and return the text in a language: the very tag if it is there (en-US), else its language (en)."""
    near = [variant for variant in variants if same_language(variant[0], language)]
    near.sort(key=lambda variant: variant[0].lower() != language.lower())
    if not near:
        return None
    variants.remove(near[0])
    return near[0][1]


def _xliff_languages(element: Element) -> Languages | None:
    """What version 1.2 writes at <file>, and version 2.0 at <xliff>."""
    source = element.get("source-language") or element.get("srcLang")
    target = element.get("target-language") or element.get("trgLang")
    return (source, target) if source and target else None


def _catalogue(stream: IO[bytes], notes: Notes) -> Any:
    """The entries of a PO file, or None if it is broken."""
    polib = _installed("polib")
    data = stream.read()
    encoding = polib.detect_encoding(data)
    if not _has_ascii(encoding):
        notes.problem(f"unsupported charset={encoding}", None)
        return None
    try:
        text = data.decode(encoding).encode()
    except UnicodeError as error:  # in encoding: UTF-7 can make half of a surrogate pair
        line = data.count(b"\n", 0, error.start) + 1 if isinstance(error, UnicodeDecodeError) else None
        notes.problem(f"not valid {encoding.upper()}", line)
        return None
    with tempfile.TemporaryDirectory() as folder:
        # polib splits a string at U+2028 and its like, which are text; a file it splits at newlines only.
        copy = Path(folder, "copy.po")
        copy.write_bytes(text)
        try:
            return polib.pofile(str(copy), encoding="utf-8")
        except OSError as error:
            told = re.search(r"line (\d+)", str(error))
            notes.problem("broken PO syntax", int(told[1]) if told else None)
            return None


def _has_ascii(encoding: str) -> bool:
    """Whether an encoding extends ASCII, as a PO header requires. Python has other codecs too: hex, rot13, punycode."""
    try:
        return b"msgid".decode(encoding) == "msgid"
    except (LookupError, UnicodeError):
        return False
