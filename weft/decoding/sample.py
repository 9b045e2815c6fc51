"""Sampling: each token is drawn from the model's distribution, sharpened or truncated.

A sample depends on the seed, the prompt and the number of the draw only, not on the other prompts of the batch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from weft.decoding.greedy import follow
from weft.decoding.hypothesis import Found, check_length_penalty
from weft.decoding.prompt import Prompt
from weft.decoding.run import DecoderRun
from weft.decoding.sampling import Sampling, drawn
from weft.defaults import LENGTH_PENALTY
from weft.errors import WeftError
from weft.models.base import Generative
from weft.parts.call import Watch


@dataclass(frozen=True)
class Sample:
    """Sample from p^(1/temperature), among the `top_k` likeliest tokens, and the likeliest with a total probability of
    `top_p` (nucleus sampling, arXiv:1904.09751). A top_k of 0 and a top_p of 1 keep all."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    draws: int = 1
    seed: int = 1
    length_penalty: float = LENGTH_PENALTY

    def __post_init__(self) -> None:
        fits = 0 < self.temperature < math.inf and self.top_k >= 0 and 0 <= self.top_p <= 1
        if not fits or self.draws < 1 or self.seed < 0:
            raise WeftError(
                "sampling needs a finite temperature > 0, top_k ≥ 0, 0 ≤ top_p ≤ 1, draws ≥ 1 and seed ≥ 0, "
                f"got {self}."
            )
        check_length_penalty(self.length_penalty)

    @property
    def rows(self) -> int:
        return self.draws

    @torch.inference_mode()
    def __call__(self, models: Sequence[Generative], prompt: Prompt, watch: Watch | None = None) -> Found:
        chances = [
            np.random.default_rng((self.seed, draw, *prompt.key(i))).random(limit)  # one for each token
            for i, limit in enumerate(prompt.limits)
            for draw in range(self.draws)
        ]

        def draw(run: DecoderRun, tokens: Tensor, sequences: list[int]) -> tuple[Tensor, Tensor]:
            step, log_probs = run.steps, run.log_probs(tokens)
            chance = torch.tensor([chances[i][step] for i in sequences], dtype=torch.float64)
            chosen = drawn(self.shaped(log_probs).cpu().double(), chance).to(tokens.device)
            return chosen, log_probs.gather(1, chosen[:, None])[:, 0]

        found = follow(models, prompt.repeat(self.draws), draw, self.length_penalty, watch)
        return [sorted(found[i : i + self.draws], key=lambda one: -one.score) for i in range(0, len(found), self.draws)]

    def shaped(self, log_probs: Tensor) -> Tensor:
        """The weights to draw with: (R, V) → (R, V), not normalised."""
        return Sampling(self.temperature, self.top_k, self.top_p).shaped(log_probs)
