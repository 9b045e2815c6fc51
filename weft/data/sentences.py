"""Rule-based sentence splitting that keeps every character: joining the pieces gives the text back.

`split_sentences` knows end marks, closing quotes, the abbreviations, initials and ordinals of English and German, and
the full-width marks of Chinese and Japanese. `split_long` splits what is still too long at every end mark, whatever
follows it, then at commas and the like, then between words, and as a last resort inside a word. When in doubt, text
is not split: two sentences in one do less harm than half of one.
"""

import re
from collections.abc import Callable

Piece = tuple[str, str]  # a text, and the white space that followed it

MARKS = ".!?…؟।"
OPENING = "\"'“‘„‚«‹»›([{¿¡「『（《【"
CLOSING = "\"'”’“‘»›«‹)]}」』）》】"
NEWLINE = re.compile("[\n\r\u2028\u2029]")
LONGEST = 20  # characters of the next word that matter, more than any word in the lists below has

# Where a sentence may end: at white space, or after a full-width mark, which needs none.
GAP = re.compile(rf"\s+|[。！？]+[{re.escape(CLOSING)}]*\s*")
RUNS_ON = "とっ、，"  # what follows a quotation inside a sentence: 「行く。」と言った。

# Where a long sentence is split first: it may be several that begin in lower case.
ENDS = re.compile(rf"(?<=[{MARKS}])(\s+)")
# Where it is split next, better places first.
CUTS = [re.compile(r"(?<=[;:])\s+|(?<=[；：])\s*"), re.compile(r"(?<=,)\s+|(?<=[，、])\s*"), re.compile(r"\s+")]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Something always follows these.
ABBREVIATIONS = _words(
    """dr mr mrs ms mx prof rev hon sen rep gov gen col capt lt sgt st mt messrs mme hr fr frl dipl ing med phil hl
    vs cf viz al approx dept co ca bzw evtl ggf inkl exkl zzgl abzgl sog bspw vgl insb allg geb gest verh"""
)
# A number follows these; elsewhere they are words like others, or an end: "No. 5", but "No. Not me."
BEFORE_NUMBERS = _words(
    """no nos nr nrn pp vol fig figs sec ch eq art abs abb abschn kap tab bd ziff anm tel str max min
    jan feb mär apr jun jul aug sep sept okt oct nov dez dec"""
)
# A number with a point is an ordinal before the first of these and after the second: "am 3. Mai", "im 2. Haus".
AFTER_ORDINALS = _words(
    """januar jänner februar märz april mai juni juli august september oktober november dezember tag mal stock platz
    klasse advent auflage geburtstag jahrestag lebensjahr jahrhundert jahrhunderts jahrtausend weltkrieg weltkriegs"""
)
BEFORE_ORDINALS = _words(
    "der die das den dem des im vom zum zur beim jeder jede jedes jeden dieser diese diesem diesen"
)


def split_sentences(text: str) -> list[Piece]:
    """The sentences of a text, each with the white space after it. A newline always ends a sentence.

    >>> split_sentences("Dr. Who? Yes.  No.")
    [('Dr. Who?', ' '), ('Yes.', '  '), ('No.', '')]
    """
    pieces: list[Piece] = []
    start = word_start = 0
    before = ""  # the word before, in the same sentence
    for gap in GAP.finditer(text):
        mark = gap[0].rstrip()
        end = gap.start() + len(mark)
        word = text[word_start : gap.start()]
        if mark:
            ends = mark[-1] not in CLOSING or text[end : end + 1] not in RUNS_ON
        else:
            after = text[gap.end() : gap.end() + LONGEST]
            at_edge = gap.start() == 0 or not after
            ends = at_edge or bool(NEWLINE.search(gap[0])) or _ends(word, before, after)
        if ends:
            pieces.append((text[start:end], text[end : gap.end()]))
            start = gap.end()
        before = "" if ends else word
        word_start = gap.end()
    if start < len(text):
        pieces.append((text[start:], ""))
    return pieces


def split_long(text: str, fits: Callable[[str], bool]) -> list[Piece]:
    """The sentences of a text, split further until each piece fits or is a single character.

    >>> split_long("one two. three", lambda text: len(text) < 10)
    [('one two.', ' '), ('three', '')]
    """
    pieces: list[Piece] = []
    for sentence, space in split_sentences(text):
        parts = [sentence] if fits(sentence) else ENDS.split(sentence)
        for part, between in zip(parts[::2], [*parts[1::2], space]):
            pieces += _cut(part, between, fits)
    return pieces


def _ends(word: str, before: str, after: str) -> bool:
    """Whether a sentence ends with this word, by the word before it and the text after the white space."""
    unquoted = word.rstrip(CLOSING)
    body = unquoted.rstrip(MARKS)
    mark = unquoted[len(body) :]
    if not mark or not _starts(after):
        return False
    if mark != ".":
        return True
    body = body.lstrip(OPENING)
    letter = body.rpartition(".")[2]
    if len(letter) == 1 and letter.lower() != letter.upper():  # J. R. R. Tolkien, z. B., e.g., U.S.
        return body.lower() in {"a.m", "p.m"}
    if body.isdecimal() and len(body) <= 2:
        is_list_number = not before
        is_ordinal = re.split(r"\W", after.lower())[0] in AFTER_ORDINALS or before.lower() in BEFORE_ORDINALS
        return not is_list_number and not is_ordinal
    name = re.split(r"[-/.]", body.lower())[-1]  # Dipl.-Ing.
    return not (name in ABBREVIATIONS or (name in BEFORE_NUMBERS and after[0].isdecimal()))


def _starts(after: str) -> bool:
    """Whether a sentence can start like this. Scripts without case start with any letter."""
    first = after[0]
    if first in OPENING:
        return not (first in "»›" and after[1:2].isspace())  # a French closing quote stands apart: « Oui. » Non.
    return first.isdecimal() or (first.isalpha() and not first.islower())


def _cut(sentence: str, space: str, fits: Callable[[str], bool]) -> list[Piece]:
    """Halve a sentence until the pieces fit, at the cut nearest to the middle. Marks near an end would leave crumbs."""
    if fits(sentence):
        return [(sentence, space)]
    length = len(sentence)
    for pattern in CUTS:
        cuts = list(pattern.finditer(sentence))
        if pattern is not CUTS[-1]:
            cuts = [cut for cut in cuts if length <= 4 * cut.start() <= 3 * length]
        if cuts:
            cut = min(cuts, key=lambda cut: abs(cut.start() + cut.end() - length))
            left, right = sentence[: cut.start()], sentence[cut.end() :]
            return _cut(left, cut[0], fits) + _cut(right, space, fits)
    if length < 2:
        return [(sentence, space)]
    return _cut(sentence[: length // 2], "", fits) + _cut(sentence[length // 2 :], space, fits)
