"""Perplexity: e to the mean negative log-likelihood of a target token, the END counted, without label smoothing."""

import math
from collections.abc import Sequence

import torch

from weft.models.sequence_to_sequence import SequenceToSequence
from weft.parts.heads import Loss
from weft.text.batches import Pair, collate, compose

CELLS = 8192  # places in a batch, padding included


@torch.inference_mode()
def token_loss(model: SequenceToSequence, pairs: Sequence[Pair]) -> float:
    """Mean negative log-likelihood of a target token, in nats."""
    device = next(model.parameters()).device
    batches = (collate([pairs[i] for i in group]).to(device) for group in compose(pairs, CELLS))
    losses: list[Loss] = [model(batch) for batch in batches]
    return sum(float(loss.nll) for loss in losses) / sum(loss.count for loss in losses)


def perplexity(loss: float) -> float:
    return math.exp(min(loss, 700.0))  # beyond that a float is infinite
