"""Parsing HTML into running texts and the tags in them; joined again, they are the document byte for byte.

A running text includes inline tags (`Click <a>here</a> to continue.` is one sentence) and ends where a block does.
`KEPT` elements and those with translate="no" are not translated; inside a sentence the model reads their words.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

from weft.data.sentences import split_sentences

INLINE = {"a", "abbr", "b", "bdi", "bdo", "cite", "data", "del", "dfn", "em", "font", "i", "img", "ins"}
INLINE |= {"label", "mark", "q", "s", "small", "span", "strong", "sub", "sup", "time", "u", "wbr"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
VERBATIM = {"pre", "textarea"}  # elsewhere any white space counts as one space
WORDLESS = {"script", "style", "math", "svg"}  # kept, and not part of the sentence around them
KEPT = {"code", "kbd", "samp", "var"} | WORDLESS
READ_ALONG = 40  # at most, characters of a kept element that the model reads; more would confuse it
DEEPEST = 100  # nested elements; deeper tags are treated as single ones

Attributes = list[tuple[str, str | None]]


@dataclass(eq=False)
class Tag:
    """An inline tag and its position in the running text."""

    at: int
    raw: str
    name: str  # of an element; empty for a single tag, such as a comment
    opens: bool
    holds: int = 0  # characters of the text, if it is a whole element that is kept
    partner: "Tag | None" = field(default=None, repr=False)


@dataclass
class Running:
    """Running text with character references resolved, and the inline tags in it."""

    raw: str = ""
    text: str = ""
    tags: list[Tag] = field(default_factory=list)
    is_verbatim: bool = False
    has_words: bool = False  # of its own, in addition to those of kept elements

    @property
    def read(self) -> str:
        """The text as a browser shows it, with the same length: line breaks become spaces."""
        return self.text if self.is_verbatim else re.sub(r"[\t\n\f\r]", " ", self.text)

    def within(self, start: int, end: int) -> list[Tag]:
        """Return the tags inside the sentence from start to end, and those whose partner is."""
        first, last = bisect_left(self.tags, start, key=_place), bisect_right(self.tags, end, key=_place)
        return [
            tag
            for tag in self.tags[first:last]
            if start < tag.at < end
            or (tag.partner and start < tag.partner.at < end)
            or (tag.holds and start <= tag.at <= end - tag.holds)
        ]


def _place(tag: Tag) -> int:
    return tag.at


def parsed(html: str) -> list[str | Running]:
    """Split a document into markup and running texts."""
    parts: list[str | Running] = []
    running = Running()
    stack: list[tuple[str, bool, bool]] = []  # open elements: name, is kept, is verbatim

    def end() -> None:
        nonlocal running
        if running.raw:
            parts.append(running if running.has_words else running.raw)
        running = Running()

    events = _events(html)
    seen = 0  # events of a kept element that were handled with its start
    for i, event in enumerate(events):
        if i < seen:
            continue
        _, kept, verbatim = stack[-1] if stack else ("", False, False)
        if event.kind == "text" and not kept:
            running.raw += event.raw
            running.text += unescape(event.raw)
            running.is_verbatim = verbatim
            running.has_words |= any(map(str.isalpha, unescape(event.raw)))
            continue
        if event.kind == "start" and event.name not in VOID:
            inner = _is_kept(event.name, event.attributes, kept)
            if inner and not kept and (whole := _whole(events, i)):
                words = _read_along(whole)
                raw = "".join(one.raw for one in whole)
                running.tags.append(Tag(len(running.text), raw, "", False, len(words)))
                running.raw += raw
                running.text += words
                seen = i + len(whole)
                continue
            stack.append((event.name, inner, verbatim or event.name in VERBATIM))
            kept = kept or inner
        elif event.kind == "end" and any(name == event.name for name, *_ in stack):
            while stack.pop()[0] != event.name:
                pass
        if kept or event.name not in INLINE | {""} or event.kind == "text":
            end()
            parts.append(event.raw)
        else:
            running.raw += event.raw
            name = "" if event.name in VOID else event.name
            running.tags.append(Tag(len(running.text), event.raw, name, bool(name) and event.kind == "start"))
    end()
    for part in parts:
        if isinstance(part, Running):
            _pair(part.tags)
    return parts


def _is_kept(name: str, attributes: Attributes, around: bool) -> bool:
    asked = next((value for key, value in attributes if key == "translate"), "none")
    if name in KEPT or (asked or "").lower() == "no":
        return True
    return around and (asked or "").lower() not in ("", "yes")


def _whole(events: "Sequence[_Event]", start: int) -> "Sequence[_Event]":
    """Return the events of a kept element inside a sentence; none if it does not end, or contains a block or text to
    translate."""
    name, depth = events[start].name, 0
    if name not in INLINE | KEPT:
        return []
    for i in range(start, len(events)):
        event = events[i]
        if event.name == name:
            depth += {"start": 1, "end": -1}.get(event.kind, 0)
        if depth == 0:
            return events[start : i + 1]
        is_block = bool(event.name) and event.name not in INLINE and event.name not in KEPT and name not in WORDLESS
        if is_block or (event.kind == "start" and not _is_kept(event.name, event.attributes, True)):
            return []
    return []


def _read_along(element: "Sequence[_Event]") -> str:
    """Return the words of a kept element for the model to read, if they are few and end no sentence."""
    if element[0].name in WORDLESS:
        return ""
    words = " ".join(unescape("".join(one.raw for one in element if one.kind == "text")).split())
    return words if len(words) <= READ_ALONG and len(split_sentences(f"{words} A")) == 1 else ""


def _pair(tags: Sequence[Tag]) -> None:
    """Make the start and end tags of an element partners, if both exist and are nested correctly."""
    stack: list[Tag] = []
    for tag in tags:
        if tag.opens and len(stack) < DEEPEST:
            stack.append(tag)
        elif not tag.opens and tag.name and any(one.name == tag.name for one in stack):
            while (opening := stack.pop()).name != tag.name:
                pass
            opening.partner, tag.partner = tag, opening


@dataclass(frozen=True)
class _Event:
    kind: str  # text, start, end, other
    start: int
    name: str = ""
    attributes: Attributes = field(default_factory=list)
    raw: str = ""


def _events(html: str) -> list[_Event]:
    """Return the events of a parser; their `raw` parts joined are the document."""
    found = _Parser(html).events
    ends = [event.start for event in found[1:]] + [len(html)]
    return [
        _Event(event.kind, event.start, event.name, event.attributes, html[event.start : end])
        for event, end in zip(found, ends)
    ]


class _Parser(HTMLParser):
    def __init__(self, html: str):
        super().__init__(convert_charrefs=False)
        self.events: list[_Event] = []
        self.lines = [0, *(match.end() for match in re.finditer("\n", html))]
        self.feed(html)
        self.close()
        if not self.events or self.events[0].start > 0:
            self.events.insert(0, _Event("other", 0))

    def _add(self, kind: str, name: str = "", attributes: Attributes | None = None) -> None:
        line, column = self.getpos()
        self.events.append(_Event(kind, self.lines[line - 1] + column, name, attributes or []))

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Skip from <![ to the next >, as browsers do. Python's own method fails at unknown names."""
        end = self.rawdata.find(">", i)
        if end < 0:
            return -1
        self.unknown_decl("")
        return end + 1

    def handle_data(self, data: str) -> None:
        self._add("text")

    def handle_entityref(self, name: str) -> None:
        self._add("text")

    def handle_charref(self, name: str) -> None:
        self._add("text")

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        self._add("start", tag, attrs)

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        self._add("start" if tag in VOID else "other", "" if tag in INLINE - VOID else tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self._add("end", tag)

    def handle_comment(self, data: str) -> None:
        self._add("other")

    def handle_decl(self, decl: str) -> None:
        self._add("other", "!")

    def handle_pi(self, data: str) -> None:
        self._add("other", "!")

    def unknown_decl(self, data: str) -> None:
        self._add("other", "!")
