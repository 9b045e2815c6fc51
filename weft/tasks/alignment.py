"""Word alignment from attention: which source word a target word was written from.

Some heads of the encoder-decoder attention attend to the word that is being translated; many of them one step late,
when the token that was written is read in again (arXiv:2004.14837). The aligning head is chosen once for each model, on
held-out pairs: it is the one that finds most of the links that are likeliest in both directions by IBM model 1 (Brown
et al., 1993, aclanthology.org/J93-2003), trained on the same pairs.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import product, starmap
from pathlib import Path

import torch
from torch import Tensor

from weft.data.reading import read_lines
from weft.errors import WeftError

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
    """The head that aligns, counted from 1. Without a head: the mean over those of the layer."""

    layer: int
    head: int | None = None
    late: bool = False  # taken one step later, when the token is read in

    def weights(self, seen: Seen) -> list[list[float]]:
        """How much each target word attends to each source word, without END: (target words, source words)."""
        heads = seen.cross[self.layer - 1]  # (H, T, S)
        tokens = (heads.mean(0) if self.head is None else heads[self.head - 1]).tolist()  # (T, S)
        found = [[0.0] * _count(seen.source) for _ in range(_count(seen.target))]
        for row, t in zip(tokens[self.late :], seen.target):
            for weight, s in zip(row, seen.source):
                if t is not None and s is not None:
                    found[t][s] += weight
        return found


def links(weights: Sequence[Sequence[float]]) -> list[Link]:
    """For each target word, the source word it attends to most."""
    return [(row.index(max(row)), target) for target, row in enumerate(weights) if any(row)]


def agreement(seen: Seen, gold: Collection[Link]) -> Tensor:
    """For each head, at once and a step late: links that are among these, its own, and these: (N, H, 2, 3)."""
    layers, heads = seen.cross.shape[:2]
    candidates = product(range(1, layers + 1), range(1, heads + 1), (False, True))
    own = [set(links(one.weights(seen))) for one in starmap(Aligner, candidates)]
    return torch.tensor([(len(some & {*gold}), len(some), len(gold)) for some in own]).reshape(layers, heads, 2, 3)


def read_pharaoh(file: Path) -> list[set[Link]]:
    """The links of each line of a file such as `0-0 1-2`."""
    found = []
    for number, line in enumerate(read_lines(file), 1):
        if wrong := [word for word in line.split() if not re.fullmatch(r"[0-9]+-[0-9]+", word)]:
            raise WeftError(f"{file}, line {number}: a link is written 0-1 (source and target word), got {wrong[0]!r}.")
        found.append({(int(source), int(target)) for source, _, target in (w.partition("-") for w in line.split())})
    return found


def diagonal(source: int, target: int) -> list[list[float]]:
    """The guess for models without attention: words in the same order. (target words, source words)

    >>> diagonal(2, 3)
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    return [[float(s == t * source // target) for s in range(source)] for t in range(target)]


def written_from(held: Sequence[int], weights: Sequence[Sequence[float]]) -> int | None:
    """The first target word written from one of these source words: each has its largest weight on the other."""
    most = [max((row[source] for row in weights), default=0.0) for source in held]
    for target, row in enumerate(weights):
        if row.index(max(row)) in held and any(row[source] == weight for source, weight in zip(held, most)):
            return target
    return None


def _count(words: Sequence[int | None]) -> int:
    return 1 + max((word for word in words if word is not None), default=-1)


def words(tokens: Iterable[str]) -> list[int | None]:
    """For each token, given by its characters, the white-space separated word that it is part of.

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
    """The aligner stored for a model with these heads per layer, if valid; else the mean of the last layer but one,
    which tends to align best (arXiv:1909.02074)."""
    match chosen:
        case {"layer": int(layer), "head": int() | None as head, "late": bool(late)}:
            if 1 <= layer <= len(heads) and 1 <= (head or 1) <= heads[layer - 1]:
                return Aligner(layer, head, late)
    looking = [layer for layer, count in enumerate(heads, 1) if count]
    return Aligner(looking[-2:][0])


def choose(pairs: Sequence[tuple[str, str]], seen: Sequence[Seen]) -> Aligner:
    """The head, or mean of a layer's heads, at either step, that finds most of the sure links."""
    sure = sure_links(pairs)
    layers, heads = seen[0].cross.shape[:2]

    def agreement(one: Aligner) -> int:
        return sum(len(pair & set(links(one.weights(looks)))) for looks, pair in zip(seen, sure))

    candidates = product(range(1, layers + 1), (None, *range(1, heads + 1)), (False, True))
    return max(starmap(Aligner, candidates), key=agreement)


def sure_links(pairs: Sequence[tuple[str, str]]) -> list[set[Link]]:
    """For each pair, the links that are likeliest in both directions by IBM model 1."""
    sources, targets = ([_plain(pair[side]) for pair in pairs] for side in (0, 1))
    forth, back = _ibm1(sources, targets), _ibm1(targets, sources)
    return [
        {(s, t) for t, s in enumerate(_best(forth, source, target)) if s is not None}
        & {(s, t) for s, t in enumerate(_best(back, target, source)) if t is not None}
        for source, target in zip(sources, targets)
    ]


def _plain(text: str) -> list[str]:
    """Words in lower case, without punctuation; punctuation alone is a word."""
    return [word.strip(".,;:!?\"'()„“”»«").lower() or word for word in text.split()]


Table = dict[tuple[str, str], float]  # (source word, target word) → p(target | source)


def _ibm1(sources: Sequence[list[str]], targets: Sequence[list[str]]) -> Table:
    """p(t|s) by expectation maximisation: each target word is divided among the source words by their p(t|s)."""
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
    """For each target word, the index of its likeliest source word; None for ties."""
    found: list[int | None] = []
    for t in target:
        chances = [table[s, t] for s in source]
        most = max(chances, default=0.0)
        found.append(chances.index(most) if chances.count(most) == 1 else None)
    return found
