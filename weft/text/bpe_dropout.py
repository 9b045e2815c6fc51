"""BPE dropout (Provilkov et al. 2020, arXiv:1910.13267): while training, each merge is left out with probability p, so a
word is seen in several segmentations.

Drawn from a generator of weft's own, seeded anew for each pool of sentences: a run can be repeated and resumed. A
frequent word does not need a fresh draw each time it occurs: within a pool it has up to DRAWS segmentations, dealt in turn.
"""

import json
import random
from collections.abc import Sequence

from weft.models.sequence_to_sequence import END
from weft.text.tokeniser import SIGNS, Tokeniser

DRAWS = 8
Piece = tuple[int, ...]


class BpeDropout:
    def __init__(self, tokeniser: Tokeniser, rate: float, seed: str):
        learned = json.loads(tokeniser.pieces.to_str())["model"]
        vocab: dict[str, int] = learned["vocab"]
        text = {i: piece for piece, i in vocab.items()}
        self.rate = rate
        self.random = random.Random(seed)
        self.merges = {
            (vocab[a], vocab[b]): (rank, vocab[a + b]) for rank, (a, b) in enumerate(map(tuple, learned["merges"]))
        }
        self.bytes = {i: tuple(vocab[c] for c in piece) for i, piece in text.items() if i >= len(SIGNS)}
        self.starts = {i for i, piece in text.items() if piece.startswith("Ġ") or i == END}  # Ġ is the space
        self.draws: dict[Piece, list[Piece]] = {}
        self.turns: dict[Piece, int] = {}

    def __call__(self, ids: Sequence[int]) -> list[int]:
        """Another segmentation of the same text."""
        out: list[int] = []
        word: list[int] = []
        for i in ids:
            if i in self.starts and word:
                out += self._dealt(tuple(word))
                word = []
            word.append(i)
        return out + word  # the last word is END

    def _dealt(self, word: Piece) -> Piece:
        turn = self.turns.get(word, 0)
        self.turns[word] = turn + 1
        draws = self.draws.setdefault(word, [])
        if turn < DRAWS:
            draws.append(self._drawn(word))
        return draws[turn % DRAWS]

    def _drawn(self, word: Piece) -> Piece:
        """Merge the word's bytes again, the earliest learned merge first, leaving some out at each turn."""
        pieces = [byte for i in word for byte in self.bytes[i]]
        while len(pieces) > 1:
            open_merges = [
                (*self.merges[pair], at)
                for at, pair in enumerate(zip(pieces, pieces[1:]))
                if pair in self.merges and self.random.random() >= self.rate
            ]
            if not open_merges:
                break
            _, merged, at = min(open_merges)
            pieces[at : at + 2] = [merged]
        return tuple(pieces)
