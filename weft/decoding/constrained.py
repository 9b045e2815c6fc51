"""Beam search with phrases that must come: for glossaries.

Hypotheses are compared with their like only: there is a beam for each number of tokens of the phrases that are still to
be written, because to begin a phrase is always a less likely thing to do than not to (grid beam search,
arXiv:1704.07138). A hypothesis may end when it has written all of them, and the search ends when nothing that goes on
is as likely as what was found.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from weft.decoding.beam import Beam
from weft.decoding.hypothesis import Hypothesis, check_length_penalty, length_limits, length_penalised
from weft.decoding.run import DecoderRun
from weft.models.sequence_to_sequence import END, PAD, START, SequenceToSequence
from weft.parts.call import Watch

Phrase = tuple[int, ...]


@dataclass(frozen=True)
class _Progress:
    """Phrases still to be written, and the one that is being written."""

    open: tuple[Phrase, ...]
    current: Phrase = ()  # what is left of it; it is no longer among the open ones
    whole: Phrase = ()  # all of it
    closing: bool = False  # a phrase has just ended, and so must its last word

    @property
    def left(self) -> int:
        """Tokens still to be written."""
        return sum(map(len, self.open)) + len(self.current)

    def wanted(self) -> list[int]:
        """The tokens that would bring it on."""
        return [self.current[0]] if self.current else [phrase[0] for phrase in self.open]

    def after(self, token: int) -> "_Progress":
        if self.current and token == self.current[0]:
            return self._within(self.open, self.whole, self.current[1:])
        waiting = (*self.open, self.whole) if self.current else self.open  # one begun and not gone on with waits again
        for i, phrase in enumerate(waiting):
            if phrase[0] == token:
                return self._within(waiting[:i] + waiting[i + 1 :], phrase, phrase[1:])
        return _Progress(waiting)

    def _within(self, others: tuple[Phrase, ...], whole: Phrase, rest: Phrase) -> "_Progress":
        return _Progress(others, rest, whole) if rest else _Progress(others, closing=True)


@dataclass(frozen=True)
class _Candidate:
    row: int  # the hypothesis it comes from
    token: int
    log_prob: float
    total: float
    progress: _Progress


@dataclass(frozen=True)
class Constrained:
    """Beam search whose translations hold every phrase, each as often as it is given.

    The likeliest as a whole is the best, whatever its length: a phrase that had to come costs much, and a mean per
    token would be better for every needless word that is written beside it."""

    phrases: tuple[Phrase, ...]
    inner: frozenset[int] = frozenset()  # tokens that go on with a word: none of them follows a phrase
    width: int = 5
    length_penalty: float = 1.0

    def __post_init__(self) -> None:
        check_length_penalty(self.length_penalty)

    @property
    def rows(self) -> int:
        return self.width * (sum(map(len, self.phrases)) + 1)

    @torch.inference_mode()
    def __call__(
        self, models: Sequence[SequenceToSequence], source: Tensor, watch: Watch | None = None
    ) -> list[list[Hypothesis]]:
        """A sentence at a time: how many hypotheses it has hangs on how far they are."""
        return [self._search(models, sentence[sentence != PAD][None], watch) for sentence in source]

    def _search(self, models: Sequence[SequenceToSequence], source: Tensor, watch: Watch | None) -> list[Hypothesis]:
        limit = length_limits(models, source)[0]
        run = DecoderRun(models, source, watch)
        beams = [_Candidate(0, START, 0.0, 0.0, _Progress(self.phrases))]
        trail: list[list[_Candidate]] = []
        found: list[tuple[float, Hypothesis]] = []
        best = -math.inf  # log P of what was found; whatever goes on only becomes less likely
        while run.step < limit and max((one.total for one in beams), default=-math.inf) > best:
            tokens = torch.tensor([one.token for one in beams], device=source.device)
            candidates = list(self._candidates(run.log_probs(tokens), beams))
            trail.append(beams)
            found += [(one.total, _followed(trail, one, self.length_penalty)) for one in candidates if one.token == END]
            best = max((total for total, _ in found), default=-math.inf)
            beams = self._likeliest(one for one in candidates if one.token != END)
            run.select(torch.tensor([one.row for one in beams], device=source.device, dtype=torch.long))
        if not found:
            return Beam(self.width, self.length_penalty)(models, source, watch)[0]
        return [one for _, one in sorted(found, key=lambda one: -one[0])[: self.width]]

    def _candidates(self, log_probs: Tensor, beams: list[_Candidate]) -> Iterator[_Candidate]:
        """Of each hypothesis: its likeliest tokens, and those that bring a phrase on. (R, V) → candidates."""
        top = log_probs.topk(min(2 * self.width, log_probs.size(1)), -1)
        for row, one in enumerate(beams):
            likely = dict(zip(top.indices[row].tolist(), top.values[row].tolist()))
            likely |= {token: float(log_probs[row, token]) for token in one.progress.wanted()}
            for token, log_prob in likely.items():
                is_early = token == END and one.progress.left > 0
                if log_prob > -math.inf and not is_early and not (one.progress.closing and token in self.inner):
                    yield _Candidate(row, token, log_prob, one.total + log_prob, one.progress.after(token))

    def _likeliest(self, candidates: Iterable[_Candidate]) -> list[_Candidate]:
        """Those that stay: in each beam, by what is left to be written, the likeliest."""
        beams: dict[int, list[_Candidate]] = {}
        for one in sorted(candidates, key=lambda one: -one.total):
            beam = beams.setdefault(one.progress.left, [])
            if len(beam) < self.width:
                beam.append(one)
        return [one for beam in beams.values() for one in beam]


def _followed(trail: list[list[_Candidate]], last: _Candidate, length_penalty: float) -> Hypothesis:
    """The hypothesis that ends in this candidate."""
    path = [last]
    for beams in reversed(trail):
        path.append(beams[path[-1].row])
    path = path[-2::-1]  # without START, in the order they were written
    log_probs = tuple(one.log_prob for one in path)
    score = length_penalised(sum(log_probs), len(path), length_penalty)
    return Hypothesis(tuple(one.token for one in path), log_probs, score, tuple(one.row for one in path))
