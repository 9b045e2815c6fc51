"""A text cut into what is translated and what stands between: white space, numbers, signs, addresses."""

import re

from weft.data.sentences import Piece, split_sentences
from weft.tasks.translator import Translator

# https://example.org, www.example.org, mailto:me@example.org, <me@example.org>
ADDRESS = re.compile(r"[<(\[]?(?:[a-z][a-z0-9+.-]*://|www\.|[\w.+:-]+@)\S+", re.IGNORECASE)


def cut(text: str, translator: Translator) -> list[Piece]:
    """The sentences of a text, each with all that stands between it and the next. What stands before the first comes
    with an empty one."""
    pieces = [("", "")]
    for sentence, space in split_sentences(text):
        if has_words(sentence):
            pieces += translator.cut(sentence, "the text", split=False)
            sentence = ""
        last, between = pieces[-1]
        pieces[-1] = (last, between + sentence + space)
    return pieces


def has_words(sentence: str) -> bool:
    """Whether there is something to translate: a word with a letter in it that is not an address."""
    return any(any(map(str.isalpha, word)) and not ADDRESS.fullmatch(word) for word in sentence.split())
