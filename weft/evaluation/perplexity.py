"""Perplexity: e to the mean negative log-likelihood of a target token, the END counted, without label smoothing."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from weft.data.batches import Pair, collate, compose
from weft.models.sequence_to_sequence import Batch, SequenceToSequence

CELLS = 8192  # places in a batch, padding included
ROWS = 256  # tokens whose whole distributions are in memory at a time


@torch.inference_mode()
def token_loss(models: Sequence[SequenceToSequence], pairs: Sequence[Pair]) -> float:
    """Mean negative log-likelihood of a target token, in nats. Several models vote: the mean of their probabilities."""
    total, tokens = 0.0, 0
    for _, each in _voted(models, pairs):
        total -= float(each.sum())
        tokens += each.size(0)
    return total / tokens


@torch.inference_mode()
def pair_losses(models: Sequence[SequenceToSequence], pairs: Sequence[Pair]) -> list[float]:
    """Of each pair, the negative log-likelihood of all its target tokens."""
    found = [0.0] * len(pairs)
    for group, each in _voted(models, pairs):
        for i, mine in zip(group, torch.split(each, [len(pairs[i][1]) for i in group])):
            found[i] = -float(mine.sum())
    return found


def _voted(models: Sequence[SequenceToSequence], pairs: Sequence[Pair]) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
    """Which pairs went together, and the log-likelihood of their target tokens, one pair after the other: (n)."""
    device = next(models[0].parameters()).device
    for group in compose(pairs, CELLS):
        batch = collate([pairs[i] for i in group]).to(device)
        each = torch.stack([_log_probs(model, batch) for model in models])  # (models, n)
        yield group, each.logsumexp(0) - math.log(len(models))


def _log_probs(model: SequenceToSequence, batch: Batch) -> Tensor:
    """Of each real target token: (n)."""
    hidden, targets = model.read(batch)
    some = zip(torch.split(hidden, ROWS), torch.split(targets, ROWS))
    return torch.cat([model.head.log_probs(h).gather(1, t[:, None])[:, 0] for h, t in some])


def perplexity(loss: float) -> float:
    return math.exp(min(loss, 700.0))  # beyond that a float is infinite
