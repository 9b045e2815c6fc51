"""Beam search keeps the k likeliest hypotheses at each step.

Hypotheses are ranked by log P(Y) / |Y|^α. A sentence is finished when k of its hypotheses have ended among the k best
candidates of their step, or at its length limit. Only back-pointers are stored, and followed at the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from weft.decoding.hypothesis import Found, Hypothesis, check_length_penalty, length_penalised
from weft.decoding.prompt import Prompt
from weft.decoding.run import DecoderRun
from weft.defaults import BEAM_WIDTH, LENGTH_PENALTY
from weft.errors import WeftError
from weft.models.base import Generative
from weft.parts.call import Watch


@dataclass(frozen=True)
class Beam:
    width: int = BEAM_WIDTH
    length_penalty: float = LENGTH_PENALTY

    def __post_init__(self) -> None:
        if self.width < 1:
            raise WeftError(f"beam width must be at least 1, got {self.width}.")
        check_length_penalty(self.length_penalty)

    @property
    def rows(self) -> int:
        return self.width

    @torch.inference_mode()
    def __call__(self, models: Sequence[Generative], prompt: Prompt, watch: Watch | None = None) -> Found:
        if not len(prompt):
            return []
        k, end, device = self.width, prompt.end, prompt.prefix.device
        if k >= (words := models[0].head.vocabulary):
            raise WeftError(f"beam width {k} must be smaller than the vocabulary ({words}).")
        limits = prompt.limits
        run = DecoderRun(models, prompt, watch)
        trail = _Trail(self.length_penalty, end)
        found: list[list[Hypothesis]] = [[] for _ in limits]
        active = list(range(len(limits)))  # the unfinished sequences
        beams = 1  # rows for each sequence; k after the first step
        tokens = prompt.prefix
        totals = torch.zeros(len(active), 1, device=device)  # log P so far: (sentences, beams)

        while active:
            log_probs, ids = run.best(tokens, k + 1)  # (R, k + 1): one of them may be END
            scores = (totals.view(-1, 1) + log_probs).view(len(active), -1)  # (sentences, beams · (k + 1))
            top = scores.topk(min(2 * k, scores.size(1)), 1)
            row = top.indices // (k + 1) + torch.arange(len(active), device=device)[:, None] * beams
            token = ids.view(len(active), -1).gather(1, top.indices)  # (sentences, 2 k)
            step_log_prob = log_probs.view(len(active), -1).gather(1, top.indices)

            ended, possible = token == end, top.values != -torch.inf
            for s, c in (ended & possible)[:, :k].nonzero().tolist():
                found[active[s]].append(trail.follow(int(row[s, c]), end, float(step_log_prob[s, c])))
            # The k best candidates that continue, in the order of their scores.
            rank = torch.arange(top.indices.size(1), device=device) + ended * (2 * k)
            going = rank.topk(k, 1, largest=False).indices
            if watch is not None:
                seen = {"row": row, "token": token, "log_prob": step_log_prob, "total": top.values, "going": going}
                for name, value in seen.items():
                    watch.see("search", name, value)  # (sentences, 2 k candidates, best first); going: (sentences, k)

            length = run.steps
            live = [s for s, sentence in enumerate(active) if len(found[sentence]) < k and length < limits[sentence]]
            for s, sentence in enumerate(active):
                if length == limits[sentence] and len(found[sentence]) < k:
                    for c in going[s][possible[s, going[s]]].tolist():
                        cut = trail.follow(int(row[s, c]), int(token[s, c]), float(step_log_prob[s, c]))
                        found[sentence].append(cut)

            staying = torch.tensor(live, device=device, dtype=torch.long)
            row, token, step_log_prob = (x.gather(1, going)[staying].flatten() for x in (row, token, step_log_prob))
            trail.steps.append((row.tolist(), token.tolist(), step_log_prob.tolist()))
            totals = top.values.gather(1, going)[staying]
            tokens, beams = token[:, None], k
            if len(live) < len(active):
                run.retain(staying)
                active = [active[s] for s in live]
            run.select(row)
        return [sorted(some, key=lambda one: (not one.finished, -one.score))[:k] for some in found]


@dataclass
class _Trail:
    """Back-pointers: at each step, the row that each row came from, its token and its log-probability."""

    length_penalty: float
    end: int
    steps: list[tuple[list[int], list[int], list[float]]] = field(default_factory=list)

    def follow(self, row: int, token: int, log_prob: float) -> Hypothesis:
        """The hypothesis that ends in this token, predicted from this row of the last step."""
        ids, log_probs, rows = [token], [log_prob], [row]
        for parents, tokens, step_log_probs in reversed(self.steps):
            ids.append(tokens[row])
            log_probs.append(step_log_probs[row])
            row = parents[row]
            rows.append(row)
        score = length_penalised(sum(log_probs), len(ids), self.length_penalty)
        return Hypothesis(
            tuple(reversed(ids)), tuple(reversed(log_probs)), score, tuple(reversed(rows)), ids[0] == self.end
        )
