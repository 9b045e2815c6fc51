"""Decoding one hypothesis per sequence: the likeliest token at each step, or the one that `choose` returns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from weft.decoding.hypothesis import Found, Hypothesis, check_length_penalty, length_penalised
from weft.decoding.prompt import Prompt
from weft.decoding.run import DecoderRun
from weft.defaults import LENGTH_PENALTY
from weft.models.base import Generative
from weft.parts.call import Watch

# (run, new tokens (R, T), the sequence of each row) → the next tokens and their log-probabilities, (R) each
Choose = Callable[[DecoderRun, Tensor, list[int]], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Greedy:
    """The likeliest token at each step."""

    length_penalty: float = LENGTH_PENALTY  # only for the reported score

    def __post_init__(self) -> None:
        check_length_penalty(self.length_penalty)

    @property
    def rows(self) -> int:
        return 1

    @torch.inference_mode()
    def __call__(self, models: Sequence[Generative], prompt: Prompt, watch: Watch | None = None) -> Found:
        return [[found] for found in follow(models, prompt, _likeliest, self.length_penalty, watch)]


def _likeliest(run: DecoderRun, tokens: Tensor, sequences: list[int]) -> tuple[Tensor, Tensor]:
    log_probs, ids = run.best(tokens, 1)
    return ids[:, 0], log_probs[:, 0]


def follow(
    models: Sequence[Generative], prompt: Prompt, choose: Choose, length_penalty: float, watch: Watch | None
) -> list[Hypothesis]:
    """Decode one hypothesis for each sequence; a sequence that has ended leaves the batch."""
    if not len(prompt):
        return []
    limits, end, device = prompt.limits, prompt.end, prompt.prefix.device
    run = DecoderRun(models, prompt, watch)
    ids: list[list[int]] = [[] for _ in limits]
    log_probs: list[list[float]] = [[] for _ in limits]
    rows: list[list[int]] = [[] for _ in limits]
    active = list(range(len(limits)))  # the sequence of each row
    tokens = prompt.prefix
    while active:
        chosen, chosen_log_probs = choose(run, tokens, active)
        for row, (i, token, log_prob) in enumerate(zip(active, chosen.tolist(), chosen_log_probs.tolist())):
            ids[i].append(token)
            log_probs[i].append(log_prob)
            rows[i].append(row)
        tokens = chosen[:, None]  # (R, 1)
        going = [row for row, i in enumerate(active) if ids[i][-1] != end and len(ids[i]) < limits[i]]
        if len(going) < len(active):
            active = [active[row] for row in going]
            staying = torch.tensor(going, device=device, dtype=torch.long)
            tokens = tokens[staying]
            run.select(staying)
            run.retain(staying)
    return [
        Hypothesis(tuple(i), tuple(p), length_penalised(sum(p), len(i), length_penalty), tuple(r), i[-1] == end)
        for i, p, r in zip(ids, log_probs, rows)
    ]
