"""BPE dropout (Provilkov et al. 2020, arXiv:1910.13267): while training, each merge is left out with probability p, so
that a word is seen in several segmentations.

Drawn from a generator of weft's own, seeded anew for each pool of sentences: a run can be repeated and resumed. A
frequent word does not need a fresh draw each time it occurs: within a pool it has DRAWS segmentations, and is given one
of them.
"""

import json
import random
from collections.abc import Iterator, Sequence
from itertools import chain, count, pairwise, repeat

from weft.data.codecs.subwords import END, Subwords

DRAWS = 8
NEVER = 2**31  # the rank of a pair that is no merge
Ids = tuple[int, ...]


class BpeDropout:
    """ids of a text → ids of the same text, cut into pieces by chance."""

    def __init__(self, tokeniser: Subwords, rate: float, seed: str):
        learned = json.loads(tokeniser.pieces.to_str())["model"]
        vocab: dict[str, int] = learned["vocab"]
        self.tokeniser = tokeniser
        self.vocab = vocab
        self.ranks = {(vocab[a], vocab[b]): rank for rank, (a, b) in enumerate(learned["merges"])}
        self.merged = [vocab[a + b] for a, b in learned["merges"]]  # by rank
        self.starts = {i for piece, i in vocab.items() if piece.startswith("Ġ") or i == END}  # Ġ is the space
        self.rate = rate
        self.random = random.Random(seed).random
        self.words: dict[Ids, tuple[Ids, ...]] = {}  # by chunk: the bytes of each of its words
        self.draws: dict[Ids, list[Ids]] = {}  # by chunk: its segmentations so far

    def __call__(self, ids: Sequence[int]) -> list[int]:
        """Another segmentation of the same text."""
        out: list[int] = []
        chunk: list[int] = []  # what stands between two spaces
        for i in ids:
            if i in self.starts and chunk:
                out += self._dealt(tuple(chunk))
                chunk = []
            chunk.append(i)
        return out + chunk  # the last one is END

    def _dealt(self, chunk: Ids) -> Ids:
        draws = self.draws.get(chunk)
        if draws is None:
            words = self.tokeniser.words(chunk)  # no merge goes from one word ("dog") into the next (".")
            self.words[chunk] = tuple(tuple(self.vocab[byte] for byte in word) for word in words)
            draws = self.draws[chunk] = []
        if len(draws) == DRAWS:
            return draws[int(self.random() * DRAWS)]
        draws.append(self._drawn(chunk))
        return draws[-1]

    def _drawn(self, chunk: Ids) -> Ids:
        """Merge the bytes of each word again, some merges left out.

        As long as none is left out, the words come out as they went in. So coins are thrown first for all the merges
        that made them, and only where one of those falls are the merges made one by one.
        """
        needed = sum(map(len, self.words[chunk])) - len(chunk)
        made = 0
        while made < needed and self.random() >= self.rate:
            made += 1
        if made == needed:
            return chunk
        coins = chain(repeat(True, made), [False], (self.random() >= self.rate for _ in count()))
        return tuple(piece for word in self.words[chunk] for piece in self._merge(list(word), coins))

    def _merge(self, pieces: list[int], coins: Iterator[bool]) -> list[int]:
        """At each turn the earliest learned of the possible merges is made, unless its coin falls; then the next."""
        rank_of = self.ranks.get
        ranks = [*(rank_of(pair, NEVER) for pair in pairwise(pieces)), NEVER]  # of each piece with the next one
        while True:
            possible = ranks.copy()
            at = possible.index(min(possible))
            while possible[at] < NEVER and not next(coins):
                possible[at] = NEVER
                at = possible.index(min(possible))
            if possible[at] == NEVER:
                return pieces
            new = pieces[at] = self.merged[ranks[at]]
            del pieces[at + 1], ranks[at]
            if at > 0:
                ranks[at - 1] = rank_of((pieces[at - 1], new), NEVER)
            if at + 1 < len(pieces):
                ranks[at] = rank_of((new, pieces[at + 1]), NEVER)
