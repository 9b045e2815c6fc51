"""Perplexity: e to the mean negative log-likelihood of a target token, the END counted, without label smoothing."""

import math
from collections.abc import Iterable

import torch

from weft.models.sequence_to_sequence import Batch, SequenceToSequence
from weft.parts.heads import Loss


@torch.inference_mode()
def token_loss(model: SequenceToSequence, batches: Iterable[Batch]) -> float:
    """Mean negative log-likelihood of a target token, in nats."""
    device = next(model.parameters()).device
    losses: list[Loss] = [model(batch.to(device)) for batch in batches]
    return sum(float(loss.nll) for loss in losses) / sum(loss.count for loss in losses)


def perplexity(loss: float) -> float:
    return math.exp(min(loss, 700.0))  # beyond that a float is infinite
