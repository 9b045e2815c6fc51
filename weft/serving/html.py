"""HTML whose text is translated and whose tags stay, byte for byte.

Text is gathered over inline tags (`Click <a>here</a> to go on.` is one sentence) and ends where a block does. In the
translation of a sentence an inline element is put around the words that were written from its words, by their
alignment. What stands in `KEPT` elements or under translate="no" is not touched.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape, unescape
from html.parser import HTMLParser

from weft.viewing.alignment import links

INLINE = {"a", "abbr", "b", "bdi", "bdo", "cite", "del", "dfn", "em", "font", "i", "ins", "label", "mark", "q", "s"}
INLINE |= {"small", "span", "strong", "sub", "sup", "u"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
VERBATIM = {"pre", "textarea"}  # elsewhere any white space counts as one space
KEPT = {"script", "style", "code", "kbd", "samp", "var", "math", "svg"}
MARKS = ".,;:!?…)"
DEEPEST = 100  # elements in one another; tags further in are taken for lone ones

Weights = Sequence[Sequence[float]]  # how much each target word looks at each source word
Attributes = list[tuple[str, str | None]]


@dataclass(eq=False)
class Tag:
    """An inline tag, by where it stands in the text around it."""

    at: int
    raw: str
    name: str  # of an element; empty for what stands alone, such as a comment
    opens: bool
    partner: "Tag | None" = field(default=None, repr=False)


@dataclass
class Running:
    """Running text, its characters as they are meant, and the inline tags in it."""

    raw: str = ""
    text: str = ""
    tags: list[Tag] = field(default_factory=list)
    is_verbatim: bool = False

    @property
    def read(self) -> str:
        """The text as a browser reads it, as long as it is: a line goes on where only the markup is broken."""
        return self.text if self.is_verbatim else re.sub(r"[\t\n\f\r]", " ", self.text)

    def within(self, start: int, end: int) -> list[Tag]:
        """The tags that stand inside the sentence between, or whose partner does."""
        first, last = bisect_left(self.tags, start, key=_place), bisect_right(self.tags, end, key=_place)
        return [
            tag
            for tag in self.tags[first:last]
            if start < tag.at < end or (tag.partner and start < tag.partner.at < end)
        ]


def _place(tag: Tag) -> int:
    return tag.at


def parsed(html: str) -> list[str | Running]:
    """Markup as it is, and running texts."""
    parts: list[str | Running] = []
    running = Running()
    stack: list[tuple[str, bool, bool]] = []  # open elements, and whether what is in them is kept, and verbatim

    def end() -> None:
        nonlocal running
        if running.raw:
            parts.append(running if running.text.strip() else running.raw)
        running = Running()

    for event in _events(html):
        _, kept, verbatim = stack[-1] if stack else ("", False, False)
        if event.kind == "text" and not kept:
            running.raw += event.raw
            running.text += unescape(event.raw)
            running.is_verbatim = verbatim
            continue
        if event.kind == "start":
            inner = _is_kept(event.name, event.attributes, kept)
            if event.name not in VOID:
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
            running.tags.append(Tag(len(running.text), event.raw, event.name, event.kind == "start"))
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


def _pair(tags: Sequence[Tag]) -> None:
    """Tell the tags of an element of each other, where both are there and rightly nested."""
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
    """What a parser sees; joined, what is `raw` of them is the document."""
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
        """<![ up to the next >, as browsers see it. Python's own fails at names that it does not know."""
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
        self._add("start" if tag in VOID else "other", tag if tag not in INLINE else "", attrs)

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


@dataclass
class _Element:
    """What an inline element or a lone tag becomes: tags around characters of the translation."""

    before: str
    after: str
    source: tuple[int, int]  # characters of the sentence
    target: tuple[int, int] = (0, 0)
    children: list["_Element"] = field(default_factory=list)


def placed(sentence: str, start: int, tags: Sequence[Tag], translation: str, looks: Weights) -> str:
    """A translation as HTML, with the tags `within` its sentence, which stands at `start`, where they belong."""
    roots: list[_Element] = []
    path: list[_Element] = []  # those that are open
    for tag in tags:
        if tag.opens and tag.partner:  # it ends within the sentence or after it
            ends_here = tag.partner in tags
            last = tag.partner.at - start if ends_here else len(sentence)
            made = _Element(tag.raw, tag.partner.raw if ends_here else "", (tag.at - start, last))
            (path[-1].children if path else roots).append(made)
            path.append(made)
        elif tag.partner in tags:
            path.pop()
        elif tag.partner:  # it began before the sentence, and holds all there is so far
            roots = [_Element("", tag.raw, (0, tag.at - start), children=roots)]
        else:
            (path[-1].children if path else roots).append(_Element(tag.raw, "", (tag.at - start, tag.at - start)))
    _find(roots, _Places(sentence, translation, looks))
    return "".join(_written(translation, 0, len(translation), roots))


class _Places:
    """Where what stands in a sentence stands in its translation."""

    def __init__(self, sentence: str, translation: str, looks: Weights):
        self.sentence, self.translation, self.looks = sentence, translation, looks
        self.words, self.others = ([m.span() for m in re.finditer(r"\S+", text)] for text in (sentence, translation))
        self.links = links(looks)

    def span(self, made: _Element) -> tuple[int, int]:
        """The characters of the translation that were written from the characters that an element holds."""
        if not self.others:
            return 0, 0
        first, last = made.source
        held = [i for i, (a, b) in enumerate(self.words) if a < last and b > first]
        if not held:  # before what was written from the word that follows it
            following = bisect_right(self.words, first, key=lambda word: word[1])
            at = self.others[self._nearest([following])][0] if following < len(self.words) else len(self.translation)
            return at, at
        targets = [t for s, t in self.links if s in held] or [self._nearest(held)]
        low = self.others[targets[0]][0] if made.before else 0
        high = self.others[targets[-1]][1] if made.after else len(self.translation)
        if made.after and self.sentence[first:last].rstrip()[-1:] not in MARKS:
            high = low + len(self.translation[low:high].rstrip(MARKS)) or high
        return low, high

    def _nearest(self, held: Sequence[int]) -> int:
        """The target word that looks most at these source words."""
        return max(range(len(self.looks)), key=lambda t: sum(self.looks[t][s] for s in held), default=0)


def _find(elements: Sequence[_Element], places: _Places) -> None:
    for one in elements:
        one.target = places.span(one)
        _find(one.children, places)


def _written(text: str, low: int, high: int, elements: list[_Element]) -> Iterator[str]:
    """Characters from low to high with the elements between them; where two overlap, the later begins the sooner."""
    ordered = sorted(elements, key=lambda one: one.target)
    at = low
    for one, after in zip(ordered, [*ordered[1:], None]):
        begins = min(max(one.target[0], at), high)
        ends = min(max(one.target[1], begins), high)
        if after is not None and begins < after.target[0] < ends:
            ends = begins + len(text[begins : after.target[0]].rstrip())
        yield escape(text[at:begins], quote=False)
        yield one.before
        yield from _written(text, begins, ends, one.children)
        yield one.after
        at = ends
    yield escape(text[at:high], quote=False)
