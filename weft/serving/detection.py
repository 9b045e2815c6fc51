"""Which of its two languages a text is in, by what a model makes of it.

A text in the source language is translated; one that is in the target language already is copied. So the model is
asked twice how likely a token is: of its own translation, and of the text itself taken for its translation. Where the
text is nearly as likely, it is in the target language; where its tokens are as good as any, ln V nats each, it is not.
Half-way between the two nothing is known.

A name or a greeting may be copied in either language, and one sentence may be unlike the others. So sentences from all
over the text are looked at together, and a text is taken for one in the source language until it has said enough.
"""

import asyncio
import math
from collections.abc import Sequence
from functools import partial
from itertools import islice

from weft.data.sentences import split_long
from weft.decoding import Greedy
from weft.serving.cutting import has_words
from weft.serving.queue import Queue
from weft.tasks.translator import Translator

TOKENS = 64  # of a sentence that is looked at
SENTENCES = 8  # of a text that are looked at
TOGETHER = 32  # sentences that are looked at before others have their turn
PRIOR = 4  # tokens in the source language that a text is thought to begin with


async def in_source_language(queue: Queue, texts: Sequence[str]) -> list[float]:
    """For each text the chance that it is in the source language, and not in the target language."""
    translator = queue.translator
    samples = await asyncio.to_thread(lambda: [sample(translator, text) for text in texts])
    sentences = [one for some in samples for one in some]
    own = await queue.search(sentences, Greedy())
    pairs = [(ids, ids) for ids in translator.tokeniser.encode_all(sentences)]
    losses: list[float] = []
    for at in range(0, len(pairs), TOGETHER):
        losses += await queue.run(partial(translator.losses, pairs[at : at + TOGETHER]))
    looked_at = iter(zip(pairs, losses, own))
    found = []
    for some in samples:
        mine = list(islice(looked_at, len(some)))
        tokens, loss = sum(len(pair[1]) for pair, _, _ in mine), sum(loss for _, loss, _ in mine)
        log_probs = [value for _, _, best in mine for value in best[0].log_probs]
        found.append(chance(tokens, loss, log_probs, len(translator.tokeniser)))
    return found


def sample(translator: Translator, text: str) -> list[str]:
    """Sentences of a text, evenly spread over it."""

    def fits(piece: str) -> bool:
        return len(translator.tokeniser.encode(piece)) <= min(TOKENS, translator.limit)

    pieces = [piece for piece, _ in split_long(text, fits) if has_words(piece) and fits(piece)]
    return pieces[:: math.ceil(len(pieces) / SENTENCES) or 1]


def chance(tokens: int, loss: float, own: Sequence[float], vocabulary: int) -> float:
    """That a text of so many tokens is in the source language, by what it costs as its own translation, and by the
    log-probabilities of the tokens that the model would write."""
    if not tokens:
        return 0.5
    foreign = math.log(vocabulary)
    cost = loss / tokens + sum(own) / len(own)
    cost = (tokens * cost + PRIOR * foreign) / (tokens + PRIOR)
    return 1 / (1 + math.exp(foreign - 2 * cost))
