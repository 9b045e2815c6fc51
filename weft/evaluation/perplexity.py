"""Perplexity: e to the mean negative log-likelihood of a target, without label smoothing."""

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from weft.decoding.run import mean_log_probs
from weft.models.base import IGNORED, Batch, Model

ROWS = 256  # targets whose distributions are in memory at a time


@torch.inference_mode()
def token_loss(models: Sequence[Model], batches: Iterable[Batch]) -> float:
    """The mean negative log-likelihood of a target, in nats; several models are an ensemble, as in decoding."""
    total, tokens = 0.0, 0
    for batch in batches:
        each = log_likelihoods(models, batch)
        total -= float(each.sum())
        tokens += each.size(0)
    return total / tokens


@torch.inference_mode()
def row_losses(models: Sequence[Model], batch: Batch) -> list[float]:
    """The negative log-likelihood of each row, summed over its targets."""
    counts = (batch.targets != IGNORED).sum(1).tolist()
    return [-float(row.sum()) for row in torch.split(log_likelihoods(models, batch), counts)]


@torch.inference_mode()
def log_likelihoods(models: Sequence[Model], batch: Batch) -> Tensor:
    """Log-likelihood of each target: (n)."""
    batch = batch.to(next(models[0].parameters()).device)
    return mean_log_probs([_own_log_probs(model, batch) for model in models])


def _own_log_probs(model: Model, batch: Batch) -> Tensor:
    hidden, targets = model.read(batch)
    some = zip(torch.split(hidden, ROWS), torch.split(targets, ROWS))
    return torch.cat([model.head.log_probs(h).gather(1, t[:, None])[:, 0] for h, t in some])


def perplexity(loss: float) -> float:
    return math.exp(min(loss, 700.0))  # beyond that a float is infinite
