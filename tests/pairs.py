"""Pairs of sentences as batches and prompts, the way tests write them down: as tensors that end in END."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from weft.data.codecs.subwords import END, PAD, START
from weft.decoding.prompt import Prompt, from_source
from weft.models.base import IGNORED, Batch


def pair_batch(source: Tensor, target: Tensor) -> Batch:
    """ids (B, S) and (B, T) with PAD on the right → what a training sees of them."""
    shifted = F.pad(target[:, :-1], (1, 0), value=START)
    return Batch({"source": source, "target": shifted}, target.masked_fill(target == PAD, IGNORED))


def prompt(models: Sequence[Any], source: Tensor) -> Prompt:
    """Sources (B, S) to be translated."""
    return from_source(models, source, START, END)
