"""Perplexity: e to the mean negative log-likelihood of a target token, the END counted, without label smoothing."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from weft.models.sequence_to_sequence import Batch, SequenceToSequence
from weft.text.batches import Pair, collate, compose

CELLS = 8192  # places in a batch, padding included
ROWS = 256  # tokens whose whole distributions are in memory at a time


@torch.inference_mode()
def token_loss(models: Sequence[SequenceToSequence], pairs: Sequence[Pair]) -> float:
    """Mean negative log-likelihood of a target token, in nats. Several models vote: the mean of their probabilities."""
    device = next(models[0].parameters()).device
    total, tokens = 0.0, 0
    for group in compose(pairs, CELLS):
        batch = collate([pairs[i] for i in group]).to(device)
        each = torch.stack([_log_probs(model, batch) for model in models])  # (models, n)
        total -= float((each.logsumexp(0) - math.log(len(models))).sum())
        tokens += each.size(1)
    return total / tokens


def _log_probs(model: SequenceToSequence, batch: Batch) -> Tensor:
    """Of each real target token: (n)."""
    hidden, targets = model.read(batch)
    some = zip(torch.split(hidden, ROWS), torch.split(targets, ROWS))
    return torch.cat([model.head.log_probs(h).gather(1, t[:, None])[:, 0] for h, t in some])


def perplexity(loss: float) -> float:
    return math.exp(min(loss, 700.0))  # beyond that a float is infinite
