"""Glossaries: where terms occur, which words they replace, and whether the translation has them."""

import re
from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict, Field

from weft.decoding import Phrase
from weft.tasks.translator import Translator


class Term(BaseModel):
    """Wherever the source term occurs, as whole words in any case, the translation has the target term instead of the
    usual word."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str = Field(min_length=1, max_length=200, pattern=r"\S", examples=["weather"])
    target: str = Field(min_length=1, max_length=200, pattern=r"\S", examples=["Klima"])


Occurrence = tuple[Term, tuple[int, int]]  # a term and its span of characters in a text


def occurring(glossary: Sequence[Term], text: str) -> Iterator[Occurrence]:
    """Find the terms of a glossary in a text. Of two that overlap the one that begins first is taken, else the longer,
    else the last one given."""
    terms = {term.source.casefold(): term for term in glossary}
    longest_first = sorted(terms, key=len, reverse=True)
    pattern = "|".join(rf"(?<!\w){re.escape(term)}(?!\w)" for term in longest_first)
    places = [i for i, character in enumerate(text) for _ in character.casefold()]  # which may be more than one
    for match in re.finditer(pattern, text.casefold()) if terms else ():
        yield terms[match[0]], (places[match.start()], places[match.end() - 1] + 1)


def phrases_of(
    occurrences: Sequence[Occurrence], sentence: str, ids: Sequence[int], translator: Translator
) -> tuple[Phrase, ...]:
    """Return the target terms as phrases. Each replaces the word that the model wrote from the source term, unless it
    wrote that word from others too."""
    places = translator.beginnings(sentence, ids, [span for _, span in occurrences])
    others = {token for place, token in enumerate(ids) if place not in places}
    words = [None if place is None or ids[place] in others else ids[place] for place in places]
    encode = translator.tokeniser.encode
    return tuple(Phrase(tuple(encode(term.target.strip())[:-1]), word) for (term, _), word in zip(occurrences, words))


class Outcome(BaseModel):
    """Which terms of the text occur as often in its best translation, and which do not."""

    kept: list[Term]
    failed: list[Term]


def outcome(glossary: Sequence[Term], pairs: Sequence[tuple[str, str]]) -> Outcome:
    """Compare sentences and translations. A term that overlaps another counts too: the target of `car` may be part of
    that of `my car`."""
    kept: dict[Term, None] = {}
    failed: dict[Term, None] = {}
    for sentence, translation in pairs:
        folded = sentence.casefold()
        for term in glossary:
            if term.source.casefold() in folded and (wanted := sum(1 for _ in occurring([term], sentence))):
                came = re.findall(rf"(?<!\w){re.escape(term.target.strip())}(?!\w)", translation)
                (kept if len(came) >= wanted else failed)[term] = None
    return Outcome(kept=[term for term in kept if term not in failed], failed=list(failed))
