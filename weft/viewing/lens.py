"""What a model would write: at each step, and after each layer.

The logit lens reads the stream after every layer as if it were the last: final norm, then head (nostalgebraist, 2020,
lesswrong.com/posts/AcKRB8wDpdaN6v6ru).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from weft.data.codecs import Codec
from weft.errors import WeftError
from weft.models.base import Model
from weft.parts.heads import SoftmaxHead
from weft.parts.layers import Layers
from weft.viewing.attention_maps import AttentionMaps
from weft.viewing.what_if import NOTHING, WhatIf


@dataclass(frozen=True)
class Choice:
    """A token that could be written."""

    token: str
    id: int
    log_prob: float


@dataclass(frozen=True)
class RatedToken:
    """A token of a target, and what the model would have written there."""

    token: str
    log_prob: float
    rank: int  # from 1, by probability
    top: list[Choice]  # the likeliest tokens


@dataclass(frozen=True)
class Logits:
    """The largest logits of a token to be written."""

    tokens: list[tuple[int, float]]  # (id, logit), largest first
    log_sum: float  # log Σ exp of all logits


@dataclass(frozen=True)
class LensCell:
    """What would be written if this layer were the last."""

    token: str
    probability: float
    rank_of_final: int  # from 1: of the token that the whole model finds likeliest
    probability_of_final: float


@torch.inference_mode()
def steps(
    model: Model, codec: Codec, hidden: Tensor, targets: Sequence[int], what_if: WhatIf = NOTHING, top: int = 5
) -> list[RatedToken]:
    """Tokens and the hidden states (T, D) that predict them → each with its rank and the likeliest ones instead."""
    log_probs = what_if.tempered(model.head.log_probs(hidden))  # (T, V)
    own = log_probs.gather(1, torch.tensor(targets, device=log_probs.device)[:, None])  # (T, 1)
    ranks = 1 + (log_probs > own).sum(1)
    best = log_probs.topk(min(top, log_probs.size(1)), -1)
    return [
        RatedToken(token, log_prob, rank, [Choice(*one) for one in zip(codec.readable(ids), ids, values)])
        for token, log_prob, rank, ids, values in zip(
            codec.in_text(targets), own[:, 0].tolist(), ranks.tolist(), best.indices.tolist(), best.values.tolist()
        )
    ]


@torch.inference_mode()
def next_token(model: Model, hidden: Tensor, count: int) -> Logits:
    """The largest logits of the token that a hidden state (D) predicts, without a temperature."""
    head = model.head
    logits = head.logits(hidden) if isinstance(head, SoftmaxHead) else head.log_probs(hidden)  # (V)
    found = logits.topk(min(count, logits.size(0)))
    return Logits(list(zip(found.indices.tolist(), found.values.tolist())), float(logits.logsumexp(0)))


def has_lens(model: Model) -> bool:
    """Whether the last side of the model is a stack of layers, each of which passes on a stream."""
    return isinstance([*model.sides.values()][-1].stack, Layers)


@torch.inference_mode()
def lens(model: Model, codec: Codec, seen: AttentionMaps) -> list[list[LensCell]]:
    """What each layer would write at each step: [layer][step], the embedding first."""
    if not has_lens(model):
        raise WeftError("this model has no stream of layers to look through.")
    name, side = [*model.sides.items()][-1]
    assert isinstance(side.stack, Layers)
    places = [name, *(f"{name}.{i}" for i in range(len(side.stack.layers)))]
    streams = [side.stack.closing(seen.seen[place, "residual"][0]) for place in places]  # (T, D)
    each = [seen.what_if.tempered(model.head.log_probs(stream)) for stream in streams]  # (T, V)
    final = each[-1].argmax(-1, keepdim=True)  # (T, 1)
    return [_row(log_probs, final, codec) for log_probs in each]


def _row(log_probs: Tensor, final: Tensor, codec: Codec) -> list[LensCell]:
    best, of_final = log_probs.max(-1), log_probs.gather(1, final)
    tokens = codec.readable(best.indices.tolist())
    ranks: Sequence[int] = (1 + (log_probs > of_final).sum(1)).tolist()
    chances = zip(best.values.exp().tolist(), ranks, of_final[:, 0].exp().tolist())
    return [LensCell(token, *rest) for token, rest in zip(tokens, chances)]
