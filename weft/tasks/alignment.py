"""Word alignment from attention: which source word a target word was written from.

Some heads of the encoder-decoder attention look at the word that is being translated, others look elsewhere; and many
look at it one step late, when the token has been written and is read in again (arXiv:2004.14837). Which head does it
best is chosen once for a model, on pairs it has not learned from: the one that finds most of the links that IBM model 1
(Brown et al., 1993, aclanthology.org/J93-2003), learned from the same pairs, holds likeliest in both directions.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

Link = tuple[int, int]  # a source word and a target word, counted from 0
ROUNDS = 5  # of expectation and maximisation


@dataclass(frozen=True)
class Seen:
    """The encoder-decoder attention of a pair, and for each token the word that it is part of."""

    cross: Tensor  # (N, H, T, S)
    source: Sequence[int | None]
    target: Sequence[int | None]


@dataclass(frozen=True)
class Aligner:
    """The head that is believed; counted from 1, as everywhere. No head: the mean of the layer's."""

    layer: int
    head: int | None = None
    late: bool = False  # believed at the step after: the one that reads the token in

    def weights(self, seen: Seen) -> list[list[float]]:
        """How much each target word looks at each source word, the END left out: (target words, source words)."""
        heads = seen.cross[self.layer - 1]  # (H, T, S)
        tokens = (heads.mean(0) if self.head is None else heads[self.head - 1]).tolist()  # (T, S)
        found = [[0.0] * _count(seen.source) for _ in range(_count(seen.target))]
        for row, t in zip(tokens[self.late :], seen.target):
            for weight, s in zip(row, seen.source):
                if t is not None and s is not None:
                    found[t][s] += weight
        return found


def links(weights: Sequence[Sequence[float]]) -> list[Link]:
    """For each target word, the source word it looks at most."""
    return [(row.index(max(row)), target) for target, row in enumerate(weights) if any(row)]


def diagonal(source: int, target: int) -> list[list[float]]:
    """What is guessed where nothing looks: so many words from so many, in the same order: (target words, source words).

    >>> diagonal(2, 3)
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    return [[float(s == t * source // target) for s in range(source)] for t in range(target)]


def written_from(held: Sequence[int], weights: Sequence[Sequence[float]]) -> int | None:
    """The first target word that was written from one of these source words: each looks most at the other."""
    most = [max((row[source] for row in weights), default=0.0) for source in held]
    for target, row in enumerate(weights):
        if row.index(max(row)) in held and any(row[source] == weight for source, weight in zip(held, most)):
            return target
    return None


def _count(words: Sequence[int | None]) -> int:
    return 1 + max((word for word in words if word is not None), default=-1)


def words(tokens: Iterable[str]) -> list[int | None]:
    """For each token, by the characters it adds, the word between white space that it is part of.

    >>> words([" a", " lo", "ng", " ", " word", ""])
    [0, 1, 1, None, 2, None]
    """
    found: list[int | None] = []
    word, between = -1, True
    for token in tokens:
        mine = None
        for character in token:
            word += between and not character.isspace()
            between = character.isspace()
            mine = word if mine is None and not between else mine
        found.append(mine)
    return found


def pharaoh(links: Iterable[Link]) -> str:
    """`0-0 1-2`: source and target word of each link, sorted."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def known_or_usual(chosen: object, heads: Sequence[int]) -> Aligner:
    """What was chosen for a model with so many heads in each layer, as plain data; else all heads of the last layer but
    one, which tends to align best (arXiv:1909.02074)."""
    match chosen:
        case {"layer": int(layer), "head": int() | None as head, "late": bool(late)}:
            if 1 <= layer <= len(heads) and 1 <= (head or 1) <= heads[layer - 1]:
                return Aligner(layer, head, late)
    looking = [layer for layer, count in enumerate(heads, 1) if count]
    return Aligner(looking[-2:][0])


def choose(pairs: Sequence[tuple[str, str]], seen: Sequence[Seen]) -> Aligner:
    """Of every head and the mean of every layer, each at both steps, whoever finds most of the sure links."""
    sure = sure_links(pairs)
    layers, heads = seen[0].cross.shape[:2]

    def agreement(one: Aligner) -> int:
        return sum(len(pair & set(links(one.weights(looks)))) for looks, pair in zip(seen, sure))

    return max(
        (
            Aligner(layer, head, late)
            for layer in range(1, layers + 1)
            for head in (None, *range(1, heads + 1))
            for late in (False, True)
        ),
        key=agreement,
    )


def sure_links(pairs: Sequence[tuple[str, str]]) -> list[set[Link]]:
    """For each pair, the links that IBM model 1 holds likeliest from both sides."""
    sources, targets = ([_plain(pair[side]) for pair in pairs] for side in (0, 1))
    forth, back = _ibm1(sources, targets), _ibm1(targets, sources)
    return [
        {(s, t) for t, s in enumerate(_best(forth, source, target)) if s is not None}
        & {(s, t) for s, t in enumerate(_best(back, target, source)) if t is not None}
        for source, target in zip(sources, targets)
    ]


def _plain(text: str) -> list[str]:
    """Words without their marks; a mark alone is a word."""
    return [word.strip(".,;:!?\"'()„“”»«").lower() or word for word in text.split()]


Table = dict[tuple[str, str], float]  # (source word, target word) → p(target | source)


def _ibm1(sources: Sequence[list[str]], targets: Sequence[list[str]]) -> Table:
    """p(t|s) by expectation and maximisation: each target word is shared among the source words by their p(t|s)."""
    table: Table = {(s, t): 1.0 for some, others in zip(sources, targets) for s in some for t in others}
    for _ in range(ROUNDS):
        counts: defaultdict[tuple[str, str], float] = defaultdict(float)
        totals: defaultdict[str, float] = defaultdict(float)
        for some, others in zip(sources, targets):
            for t in others:
                norm = sum(table[s, t] for s in some)
                for s in some:
                    share = table[s, t] / norm
                    counts[s, t] += share
                    totals[s] += share
        table = {(s, t): count / totals[s] for (s, t), count in counts.items()}
    return table


def _best(table: Table, source: list[str], target: list[str]) -> list[int | None]:
    """For each target word, the place of its likeliest source word; none where two are as likely."""
    found: list[int | None] = []
    for t in target:
        chances = [table[s, t] for s in source]
        most = max(chances, default=0.0)
        found.append(chances.index(most) if chances.count(most) == 1 else None)
    return found
