"""Splitting a text into sentences and what is not translated: white space, numbers, symbols, addresses."""

import re

from weft.data.sentences import Piece, split_sentences
from weft.tasks.translator import Translator

# https://example.org, www.example.org, mailto:me@example.org, <me@example.org>
ADDRESS = re.compile(r"[<(\[]?(?:[a-z][a-z0-9+.-]*://|www\.|[\w.+:-]+@)\S+", re.IGNORECASE)


def cut(text: str, translator: Translator) -> list[Piece]:
    """Return the sentences of a text, each with all text up to the next one. Text before the first sentence comes with
    an empty one."""
    pieces = [("", "")]
    for sentence, space in split_sentences(text):
        if has_words(sentence):
            pieces += translator.cut(sentence, "the text", split=False)
            sentence = ""
        last, between = pieces[-1]
        pieces[-1] = (last, between + sentence + space)
    return pieces


def has_words(sentence: str) -> bool:
    """Return whether a sentence has a word with a letter that is not an address."""
    return any(any(map(str.isalpha, word)) and not ADDRESS.fullmatch(word) for word in sentence.split())
