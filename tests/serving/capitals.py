"""A translation that can be checked by eye: every word is put into capitals, and sometimes moved."""

from weft.data.sentences import split_sentences
from weft.data.texts import Translation
from weft.serving.documents import HtmlDocument, TranslatedSentence


def capitals(html: str, order: list[int] | None = None) -> str:
    """HTML translated word for word; in another order, if one is given."""
    document = HtmlDocument(html)
    texts = []
    for text in document.texts:
        sentences, start = [], 0
        for piece, space in split_sentences(text):
            words = piece.split()
            at = order or list(range(len(words)))
            made = " ".join(words[i].upper() for i in at)
            one = TranslatedSentence((piece, space), start)
            if words:
                looks = [[[float(i == s) for s in range(len(words))] for i in at]]
                one = TranslatedSentence((piece, space), start, [Translation(made, 0.0, (), (), (), True)], looks)
            sentences.append(one)
            start += len(piece) + len(space)
        texts.append(sentences)
    return document.written(texts, 0)
