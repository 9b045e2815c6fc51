"""What counting reaches: interpolated n-grams, in nats per symbol.

    p(w | c) = (count(c w) + T(c) · p(w | shorter c)) / (count(c) + T(c))          Witten & Bell 1991
    p(w | c) = (max(count(c w) - d, 0) + d · T(c) · p(w | shorter c)) / count(c)   Kneser & Ney 1995, d = 0.75

T(c) is the number of different symbols seen after the context c; below the single symbols lies the uniform
distribution. Kneser and Ney count an n-gram below the highest order by the number of different symbols before it.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise

Level = dict[Hashable, dict[Hashable, int]]  # context → symbol → count
Smoothing = Callable[[int, int, int, float], float]  # count(c w), count(c), T(c), p(w | shorter c) → p(w | c)
DISCOUNT = 0.75


def witten_bell(train: Sequence[Hashable], test: Sequence[Hashable], order: int, vocabulary: int) -> float:
    """The mean negative log-likelihood of a symbol of the test text, given at most `order` - 1 before it.

    >>> round(witten_bell("abababab", "ab", 1, 2), 3)  # one half each
    0.693
    """
    return _loss(_counts(train, order), test, vocabulary, lambda n, total, kinds, p: (n + kinds * p) / (total + kinds))


def kneser_ney(train: Sequence[Hashable], test: Sequence[Hashable], order: int, vocabulary: int) -> float:
    """The same with the smoothing that suits words.

    >>> round(kneser_ney("abababab", "ab", 1, 2), 3)
    0.693
    """
    levels = _counts(train, order)
    for shorter, longer in pairwise(levels):
        shorter.clear()
        for (_, *context), after in longer.items():  # type: ignore[misc]
            for symbol in after:
                shorter[tuple(context)][symbol] += 1

    def smoothed(count: int, total: int, kinds: int, p: float) -> float:
        return (max(count - DISCOUNT, 0.0) + DISCOUNT * kinds * p) / total

    return _loss(levels, test, vocabulary, smoothed)


def _counts(train: Sequence[Hashable], order: int) -> list[Level]:
    levels: list[Level] = [defaultdict(lambda: defaultdict(int)) for _ in range(order)]
    for i, symbol in enumerate(train):
        for length in range(min(order, i + 1)):
            levels[length][tuple(train[i - length : i])][symbol] += 1
    return levels


def _loss(levels: list[Level], test: Sequence[Hashable], vocabulary: int, smoothing: Smoothing) -> float:
    totals = [{context: sum(after.values()) for context, after in level.items()} for level in levels]
    loss = 0.0
    for i, symbol in enumerate(test):
        p = 1.0 / vocabulary
        for length, (level, total) in enumerate(zip(levels, totals)):
            context = tuple(test[i - length : i])
            if length <= i and (after := level.get(context)):
                p = smoothing(after.get(symbol, 0), total[context], len(after), p)
        loss -= math.log(p)
    return loss / len(test)
