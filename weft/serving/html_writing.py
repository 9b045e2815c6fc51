"""Writing a translation as HTML, with the tags of its sentence placed by word alignment.

An inline element is put around the words that were written from its words. An element that must not be translated
replaces what the model wrote from its words.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from weft.serving.html_reading import Tag
from weft.tasks.alignment import links

MARKS = ".,;:!?…)"
OPENING = "([\"'„“«"

Weights = Sequence[Sequence[float]]  # word alignment: [target word][source word]


@dataclass
class _Element:
    """An inline element or a single tag: tags around characters of the translation."""

    before: str
    after: str
    source: tuple[int, int]  # characters of the sentence
    is_kept: bool = False
    target: tuple[int, int] = (0, 0)
    children: list["_Element"] = field(default_factory=list)


def placed(sentence: str, start: int, tags: Sequence[Tag], translation: str, looks: Weights) -> str:
    """Return a translation as HTML with the tags of its sentence, which begins at `start`."""
    roots: list[_Element] = []
    path: list[_Element] = []  # those that are open
    for tag in tags:
        if tag.opens and tag.partner:  # it ends inside the sentence or after it
            ends_here = tag.partner in tags
            last = tag.partner.at - start if ends_here else len(sentence)
            made = _Element(tag.raw, tag.partner.raw if ends_here else "", (tag.at - start, last))
            (path[-1].children if path else roots).append(made)
            path.append(made)
        elif tag.partner in tags:
            path.pop()
        elif tag.partner:  # it began before the sentence and contains all elements so far
            roots = [_Element("", tag.raw, (0, tag.at - start), children=roots)]
        else:
            at = tag.at - start
            space = " " if not tag.holds and sentence[at : at + 1].isspace() else ""  # it belongs to the next word
            made = _Element(tag.raw + space, "", (at, at + tag.holds), bool(tag.holds))
            (path[-1].children if path else roots).append(made)
    _find(roots, _Places(sentence, translation, looks))
    return "".join(_written(translation, 0, len(translation), roots))


class _Places:
    """Finds the place in the translation of what is in the sentence."""

    def __init__(self, sentence: str, translation: str, looks: Weights):
        self.sentence, self.translation, self.looks = sentence, translation, looks
        self.words, self.others = ([m.span() for m in re.finditer(r"\S+", text)] for text in (sentence, translation))
        self.links = links(looks)

    def span(self, made: _Element) -> tuple[int, int]:
        """Return the characters of the translation that were written from the content of an element."""
        if not self.others:
            return 0, 0
        first, last = made.source
        held = _held(self.words, first, last)
        if made.is_kept:
            return self._of_kept(made, held)
        if not held or first == last:  # before what was written from the next word
            following = bisect_right(self.words, first, key=lambda word: word[1])
            at = self.others[self._nearest([following])][0] if following < len(self.words) else len(self.translation)
            return at, at
        targets = [t for s, t in self.links if s in held] or [self._nearest(held)]
        low = self.others[targets[0]][0] if made.before else 0
        high = self.others[targets[-1]][1] if made.after else len(self.translation)
        if made.after and self.sentence[first:last].rstrip()[-1:] not in MARKS:
            high = low + len(self.translation[low:high].rstrip(MARKS)) or high
        return low, high

    def _of_kept(self, made: _Element, held: Sequence[int]) -> tuple[int, int]:
        """Return where the model copied these words; else what it wrote from them; else the place before the word
        aligned to them most, so that nothing is lost."""
        first, last = made.source
        words = re.compile(rf"(?<!\w){re.escape(self.sentence[first:last])}(?!\w)")
        found = [match.span() for match in words.finditer(self.translation)]
        if found:
            return max(found, key=lambda span: self._weight(_held(self.others, *span), held))
        low = high = self._nearest(held)
        targets = {t for s, t in self.links if s in held}
        if low not in targets:
            made.before += " "
            return self.others[low][0], self.others[low][0]
        while low - 1 in targets and high - low + 1 < len(held):  # no more words than in the source
            low -= 1
        while high + 1 in targets and high - low + 1 < len(held):
            high += 1
        begins, ends = self.others[low][0], self.others[high][1]
        if self.sentence[last - 1] not in MARKS:
            ends = begins + len(self.translation[begins:ends].rstrip(MARKS))
        if self.sentence[first] not in OPENING:
            begins = ends - len(self.translation[begins:ends].lstrip(OPENING))
        return begins, ends

    def _nearest(self, held: Sequence[int]) -> int:
        """Return the target word that is aligned most to these source words."""
        return max(range(len(self.looks)), key=lambda t: self._weight([t], held), default=0)

    def _weight(self, targets: Sequence[int], held: Sequence[int]) -> float:
        return sum(self.looks[t][s] for t in targets for s in held)


def _held(words: Sequence[tuple[int, int]], first: int, last: int) -> list[int]:
    """Return the words that have a character in this span."""
    return [i for i, (a, b) in enumerate(words) if a < last and b > first]


def _find(elements: Sequence[_Element], places: _Places) -> None:
    for one in elements:
        one.target = places.span(one)
        _find(one.children, places)


def _written(text: str, low: int, high: int, elements: list[_Element]) -> Iterator[str]:
    """Yield the characters from low to high with their elements; where two overlap, the first ends early."""
    ordered = sorted(elements, key=lambda one: one.target)
    at = low
    for one, after in zip(ordered, [*ordered[1:], None]):
        begins = min(max(one.target[0], at), high)
        ends = min(max(one.target[1], begins), high)
        if after is not None and begins < after.target[0] < ends:
            ends = begins + len(text[begins : after.target[0]].rstrip())
        yield escape(text[at:begins], quote=False)
        yield one.before
        if not one.is_kept:
            yield from _written(text, begins, ends, one.children)
        yield one.after
        at = ends
    yield escape(text[at:high], quote=False)
