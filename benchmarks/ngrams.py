"""What counting reaches: interpolated n-grams with Witten-Bell smoothing, in nats per symbol.

    p(w | c) = (count(c w) + T(c) · p(w | shorter c)) / (count(c) + T(c))          Witten & Bell 1991

T(c) is the number of different symbols seen after the context c; below the single symbols lies the uniform
distribution.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence


def ngram_loss(train: Sequence[Hashable], test: Sequence[Hashable], order: int, vocabulary: int) -> float:
    """The mean negative log-likelihood of a symbol of the test text, given at most `order` - 1 before it.

    >>> round(ngram_loss("abababab", "ab", 1, 2), 3)  # one half each
    0.693
    """
    counts: list[dict[Hashable, dict[Hashable, int]]] = [defaultdict(lambda: defaultdict(int)) for _ in range(order)]
    for i, symbol in enumerate(train):
        for length in range(min(order, i + 1)):
            counts[length][tuple(train[i - length : i])][symbol] += 1
    totals = [{context: sum(after.values()) for context, after in level.items()} for level in counts]
    loss = 0.0
    for i, symbol in enumerate(test):
        p = 1.0 / vocabulary
        for length in range(min(order, i + 1)):
            context = tuple(test[i - length : i])
            if after := counts[length].get(context):
                kinds = len(after)
                p = (after.get(symbol, 0) + kinds * p) / (totals[length][context] + kinds)
        loss -= math.log(p)
    return loss / len(test)
