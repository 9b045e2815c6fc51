"""Which of its two languages a text is in, by what a model makes of it.

A text in the source language is translated; one that is in the target language already is copied. So the model is
asked twice how likely a token is: of its own translation, and of the text itself taken for its translation. Where the
text is nearly as likely, it is in the target language; where its tokens are as good as any, it is not. Half-way between
the two, at (ln V) / 2 nats a token, nothing is known.
"""

import math

from weft.decoding import Greedy
from weft.evaluation.perplexity import token_loss
from weft.text.sentences import split_long
from weft.translator import Translator

TOKENS = 64  # of the text that are looked at


def in_source_language(translator: Translator, text: str) -> float:
    """The chance that a text is in the source language, and not in the target language."""
    encode = translator.tokeniser.encode
    longest = min(TOKENS, translator.limit)
    pieces = [piece for piece, _ in split_long(text, lambda piece: len(encode(piece)) <= longest) if piece.strip()]
    ids = encode(pieces[0]) if pieces else []
    if not ids or len(ids) > translator.limit:
        return 0.5
    own = next(translator.search([pieces[0]], Greedy()))[0]
    cost = token_loss(translator.models, [(ids, ids)]) + sum(own.log_probs) / len(own.log_probs)
    return 1 / (1 + math.exp(math.log(len(translator.tokeniser)) - 2 * cost))
