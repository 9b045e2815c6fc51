"""BPE dropout (Provilkov et al. 2020, arXiv:1910.13267): in training, each merge is skipped with probability p, so that
the model sees a word in several segmentations.

The random generator is seeded for each pool of sentences, so a run can be repeated and resumed. For speed, a frequent
word is not segmented each time it occurs: it has at most DRAWS segmentations per pool, and one of them is chosen.
"""

import json
import random
from collections.abc import Iterator, Sequence
from itertools import chain, count, pairwise, repeat

from weft.data.codecs.subwords import END, Subwords

DRAWS = 8
NEVER = 2**31  # the rank of a pair that is not a merge
Ids = tuple[int, ...]


class BpeDropout:
    """Map the ids of a text to ids of the same text in a random segmentation."""

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
        chunk: list[int] = []  # tokens from one space to the next
        for i in ids:
            if i in self.starts and chunk:
                out += self._segmented(tuple(chunk))
                chunk = []
            chunk.append(i)
        return out + chunk  # the last one is END

    def _segmented(self, chunk: Ids) -> Ids:
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
        """Merge the bytes of each word again, skipping some merges. If none is skipped, the words are unchanged. So a
        coin is first thrown for each of their merges, and merges are made one by one only if one of them is skipped."""
        needed = sum(map(len, self.words[chunk])) - len(chunk)
        made = 0
        while made < needed and self.random() >= self.rate:
            made += 1
        if made == needed:
            return chunk
        coins = chain(repeat(True, made), [False], (self.random() >= self.rate for _ in count()))
        return tuple(piece for word in self.words[chunk] for piece in self._merge(list(word), coins))

    def _merge(self, pieces: list[int], coins: Iterator[bool]) -> list[int]:
        """Repeatedly make the earliest learned of the possible merges, unless its coin skips it."""
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
