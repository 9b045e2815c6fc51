"""Sampling options, which turn the model's distribution into the one that the next token is drawn from.

They are applied in this order: repetition penalty (CTRL, arXiv:1909.05858), presence and frequency penalties and
logit bias (as in OpenAI's API), top-k, temperature, then top-p (nucleus sampling, arXiv:1904.09751) and min-p
(arXiv:2407.01082) of the rest.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from weft.errors import WeftError


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. The defaults draw from the model's own distribution; a temperature of 0 is greedy."""

    temperature: float = 1.0
    top_k: int = 0  # only the k likeliest tokens; 0: all
    top_p: float = 1.0  # only the likeliest tokens with this total probability
    min_p: float = 0.0  # only tokens with this fraction of the probability of the likeliest
    repetition_penalty: float = 1.0  # divides logits of tokens that occurred; negative ones are multiplied
    presence_penalty: float = 0.0  # subtracted from the logits of tokens that were written
    frequency_penalty: float = 0.0  # subtracted once for each time that a token was written
    logit_bias: tuple[tuple[int, float], ...] = ()  # (id, added to its logit)

    def __post_init__(self) -> None:
        for name, kinds in NUMBERS.items():
            if not isinstance(value := getattr(self, name), kinds):
                raise WeftError(f"{name}: expected {kinds[-1].__name__}, got {value!r}.")
        wrong = [
            f"{name} must be {allowed}, got {getattr(self, name)}"
            for name, fits, allowed in (
                ("temperature", 0 <= self.temperature < math.inf, "a finite number of at least 0"),
                ("top_k", self.top_k >= 0, "at least 0"),
                ("top_p", 0 <= self.top_p <= 1, "between 0 and 1"),
                ("min_p", 0 <= self.min_p <= 1, "between 0 and 1"),
                ("repetition_penalty", 0 < self.repetition_penalty < math.inf, "a finite number above 0"),
                ("presence_penalty", math.isfinite(self.presence_penalty), "a finite number"),
                ("frequency_penalty", math.isfinite(self.frequency_penalty), "a finite number"),
            )
            if not fits
        ]
        if wrong:
            raise WeftError("; ".join(wrong) + ".")

    @property
    def penalises(self) -> bool:
        """Whether the distribution depends on earlier tokens, or on token ids."""
        own = (self.repetition_penalty, self.presence_penalty, self.frequency_penalty, self.logit_bias)
        return own != (1.0, 0.0, 0.0, ())

    def penalised(self, log_probs: Tensor, prompt: Sequence[int], written: Sequence[int]) -> Tensor:
        """The log-probabilities (V) of a sequence, after its penalties and biases; not normalised."""
        logits = log_probs.clone()
        if self.repetition_penalty != 1.0:
            seen = torch.tensor(sorted({*prompt, *written}), device=logits.device)
            logits[seen] *= self.repetition_penalty  # log-probabilities are negative
        for token, count in Counter(written).items():
            logits[token] -= self.presence_penalty + count * self.frequency_penalty
        for token, bias in self.logit_bias:
            logits[token] += bias
        return logits

    def shaped(self, logits: Tensor) -> Tensor:
        """The weights to draw with: (R, V) → (R, V), not normalised."""
        if self.top_k:
            kth = logits.topk(min(self.top_k, logits.size(-1)), -1).values[:, -1:]
            logits = logits.masked_fill(logits < kth, -torch.inf)
        if self.temperature == 0.0:
            return torch.zeros_like(logits).scatter(1, logits.argmax(-1, keepdim=True), 1.0)
        probs = (logits / self.temperature).softmax(-1)
        if self.top_p < 1.0:
            ordered, order = probs.sort(-1, descending=True)
            before = ordered.cumsum(-1) - ordered  # the probability of all likelier tokens
            before[:, 0] = -1.0  # the likeliest always stays
            probs = probs.scatter(1, order, ordered.masked_fill(before >= self.top_p, 0.0))
        if self.min_p > 0.0:
            probs = probs.masked_fill(probs < self.min_p * probs.amax(-1, keepdim=True), 0.0)
        return probs


NUMBERS: dict[str, tuple[type, ...]] = {
    each.name: (int,) if each.type is int else (int, float) for each in fields(Sampling) if each.type in (int, float)
}


def drawn(weights: Tensor, chance: Tensor) -> Tensor:
    """Weights (R, V) and uniform numbers (R) in [0, 1) → ids (R), by the inverse of the cumulative weights."""
    up_to = weights.cumsum(-1)
    return torch.searchsorted(up_to, chance[:, None] * up_to[:, -1:], right=True)[:, 0]
