"""Beam search with phrases that must occur, for glossaries.

There is one beam for each number of phrase tokens still to be written, because beginning a phrase is always less likely
than not beginning it (grid beam search, arXiv:1704.07138). A hypothesis may end when it has written all phrases.

That alone puts a phrase next to the model's own word for it, or in place of some other word (arXiv:1805.03750). So a
phrase may replace a word: it is then as likely as that word, which is no longer written.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from weft.decoding.beam import Beam
from weft.decoding.hypothesis import Found, Hypothesis, check_length_penalty, length_penalised
from weft.decoding.prompt import Prompt
from weft.decoding.run import DecoderRun
from weft.defaults import BEAM_WIDTH, LENGTH_PENALTY
from weft.models.base import Generative
from weft.parts.call import Watch


@dataclass(frozen=True)
class Phrase:
    tokens: tuple[int, ...]
    instead: int | None = None  # the first token of the word that it replaces

    @property
    def rest(self) -> "Phrase":
        """All but its first token."""
        return Phrase(self.tokens[1:], self.instead)


@dataclass(frozen=True)
class _Candidate:
    row: int  # of the hypothesis that it extends
    token: int
    log_prob: float
    total: float
    open: tuple[Phrase, ...]  # phrases not yet begun
    current: Phrase | None = None  # the rest of the phrase that this token is part of

    @property
    def left(self) -> int:
        """Tokens of phrases still to be written."""
        return sum(len(phrase.tokens) for phrase in (*self.open, self.current) if phrase)


@dataclass(frozen=True)
class Constrained:
    """Beam search whose translations contain every phrase, each as often as it is given."""

    phrases: tuple[Phrase, ...]
    inner: frozenset[int] = frozenset()  # tokens that continue a word: none of them may follow a phrase
    width: int = BEAM_WIDTH
    length_penalty: float = LENGTH_PENALTY

    def __post_init__(self) -> None:
        check_length_penalty(self.length_penalty)

    @property
    def rows(self) -> int:
        return self.width * (sum(len(phrase.tokens) for phrase in self.phrases) + 1)

    @property
    def alpha(self) -> float:
        """The length penalty; 0 if a phrase replaces no word. Such a phrase is so unlikely that a mean per token would
        improve with every needless word next to it."""
        return self.length_penalty if all(phrase.instead is not None for phrase in self.phrases) else 0.0

    @torch.inference_mode()
    def __call__(self, models: Sequence[Generative], prompt: Prompt, watch: Watch | None = None) -> Found:
        """Search for one sequence at a time, because the number of its hypotheses varies."""
        return [self._search(models, prompt.row(i), watch) for i in range(len(prompt))]

    def _search(self, models: Sequence[Generative], prompt: Prompt, watch: Watch | None) -> list[Hypothesis]:
        k, end, device = self.width, prompt.end, prompt.prefix.device
        run, tokens = DecoderRun(models, prompt, watch), prompt.prefix
        going = [_Candidate(0, int(tokens[0, -1]), 0.0, 0.0, self.phrases)]
        trail: list[list[_Candidate]] = []
        found: dict[tuple[int, ...], Hypothesis] = {}
        while run.steps < prompt.limits[0] and self._may_be_better(going, run.steps, list(found.values())):
            log_probs = run.log_probs(tokens)
            trail.append(going)
            candidates = sorted(self._candidates(log_probs, going, end), key=lambda one: -one.total)
            for last in candidates:
                if last.token == end:
                    ended = _followed(trail, last, self.alpha)
                    found.setdefault(ended.ids, ended)
            going = self._likeliest(one for one in candidates if one.token != end)
            run.select(torch.tensor([one.row for one in going], device=device, dtype=torch.long))
            tokens = torch.tensor([[one.token] for one in going], device=device)
        if not found:
            return Beam(k, self.length_penalty)(models, prompt, watch)[0]
        return sorted(found.values(), key=lambda one: -one.score)[:k]

    def _may_be_better(self, going: list[_Candidate], length: int, found: list[Hypothesis]) -> bool:
        """Whether an unfinished hypothesis scores better so far than the k-th best finished one."""
        if not going or len(found) < self.width:
            return bool(going)
        last = sorted(one.score for one in found)[-self.width]
        return length_penalised(max(one.total for one in going), length, self.alpha) > last

    def _likeliest(self, candidates: Iterable[_Candidate]) -> list[_Candidate]:
        """The candidates to keep: the best of each beam."""
        beams: dict[int, list[_Candidate]] = {}
        for one in candidates:
            beam = beams.setdefault(one.left, [])
            if len(beam) < self.width:
                beam.append(one)
        return [one for beam in beams.values() for one in beam]

    def _candidates(self, log_probs: Tensor, going: list[_Candidate], end: int) -> Iterator[_Candidate]:
        """Every continuation worth considering: (R, V) → candidates."""
        top = log_probs.topk(min(2 * self.width, log_probs.size(1)), -1)
        for row, one in enumerate(going):
            likely = zip(top.indices[row].tolist(), top.values[row].tolist())
            for token, log_prob, others, current in self._ways(one, log_probs[row], likely, end):
                if log_prob > -math.inf:
                    yield _Candidate(row, token, log_prob, one.total + log_prob, others, current)

    def _ways(
        self, one: _Candidate, log_probs: Tensor, likely: Iterator[tuple[int, float]], end: int
    ) -> Iterator[tuple[int, float, tuple[Phrase, ...], Phrase | None]]:
        """Continuations by the current phrase; else by a new phrase or by the likeliest tokens. log_probs: (V)."""
        if one.current and one.current.tokens:
            token = one.current.tokens[0]
            log_prob = float(log_probs[token]) if one.current.instead is None else 0.0  # the first token has it all
            yield token, log_prob, one.open, one.current.rest
            return
        for phrase in dict.fromkeys(one.open):
            token, i = phrase.tokens[0], one.open.index(phrase)
            log_prob = float(log_probs[token if phrase.instead is None else phrase.instead])
            yield token, log_prob, one.open[:i] + one.open[i + 1 :], phrase.rest
        replaced = {phrase.instead for phrase in self.phrases}
        for token, log_prob in likely:
            ends_early, goes_on = token == end and one.open, token in self.inner and one.current
            if not ends_early and not goes_on and token not in replaced:
                yield token, log_prob, one.open, None


def _followed(trail: list[list[_Candidate]], last: _Candidate, alpha: float) -> Hypothesis:
    """The hypothesis that ends in this candidate."""
    path = [last]
    for going in reversed(trail):
        path.append(going[path[-1].row])
    path = path[-2::-1]  # without the prefix, in order
    log_probs = tuple(one.log_prob for one in path)
    score = length_penalised(sum(log_probs), len(path), alpha)
    return Hypothesis(tuple(one.token for one in path), log_probs, score, tuple(one.row for one in path), True)
