"""Detecting which of a model's two languages a text is in, with the model itself.

A model translates a text in its source language, and copies one that is already in its target language. So detection
compares two losses per token: of the model's own translation, and of the text itself as its translation. If the second
is close to the first, the text is in the target language; if it is close to ln V nats, a random token, it is not.
Half-way between the two either is as likely.

A name or a greeting may be copied in either language, and one sentence may differ from the others. So detection looks
at sentences from the whole text, with a prior for the source language that a longer text outweighs.
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

TOKENS = 64  # at most, of a sentence
SENTENCES = 8  # at most, of a text
TOGETHER = 32  # sentences per turn of the queue
PRIOR = 4  # tokens in the source language that every text is assumed to begin with


async def in_source_language(queue: Queue, texts: Sequence[str]) -> list[float]:
    """Return for each text the probability that it is in the source language rather than the target language."""
    translator = queue.predictor
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
    """Return sentences spread evenly over a text."""

    def fits(piece: str) -> bool:
        return len(translator.tokeniser.encode(piece)) <= min(TOKENS, translator.limit)

    pieces = [piece for piece, _ in split_long(text, fits) if has_words(piece) and fits(piece)]
    return pieces[:: math.ceil(len(pieces) / SENTENCES) or 1]


def chance(tokens: int, loss: float, own: Sequence[float], vocabulary: int) -> float:
    """Return the probability that a text is in the source language, from the loss of its tokens as its own translation
    and the log-probabilities of the model's translation."""
    if not tokens:
        return 0.5
    foreign = math.log(vocabulary)
    cost = loss / tokens + sum(own) / len(own)
    cost = (tokens * cost + PRIOR * foreign) / (tokens + PRIOR)
    return 1 / (1 + math.exp(foreign - 2 * cost))
