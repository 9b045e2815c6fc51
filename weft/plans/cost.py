"""What a plan costs: parameters by part, and the arithmetic of a training step.

A matrix of n weights costs 2 n operations a token on the way forward and twice that on the way back; attention adds the
two products Q Kᵀ and A V, which grow with the length of a sentence.
"""

from collections import Counter
from dataclasses import dataclass

import torch
from torch import nn

from weft.models.sequence_to_sequence import SequenceToSequence
from weft.parts.attention import Attention
from weft.plans.plan import Plan

FORWARD_AND_BACK = 3


def outline(plan: Plan) -> SequenceToSequence:
    """The model without memory for its weights."""
    with torch.device("meta"):
        return plan.build()


def parameters_by_part(model: nn.Module) -> Counter[str]:
    """Encoder, decoder and ends by the kind of sub-layer; what is shared is counted once, under all its names."""
    kinds: dict[nn.Parameter, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        kinds.setdefault(parameter, []).append(_kind(name))
    counts: Counter[str] = Counter()
    for parameter, names in kinds.items():
        counts[" = ".join(names)] += parameter.numel()
    return counts


SUBLAYERS = {"mix": "self-attention", "cross": "encoder-decoder attention", "feed": "feed-forward"}


def _kind(name: str) -> str:
    """decoder.layers.3.cross.body.out.weight → decoder encoder-decoder attention"""
    first, *rest = name.split(".")
    if first not in ("encoder", "decoder"):
        return f"{first} {rest[0]}"
    return f"{first} {'norms' if {'norm', 'closing'} & {*rest} else SUBLAYERS[rest[2]]}"


@dataclass(frozen=True)
class StepCost:
    tokens: int  # on each side
    length: int  # of a sentence
    operations: int  # additions and multiplications


def step_cost(plan: Plan, length: int = 25) -> StepCost:
    """One optimiser step on full batches of sentences that are `length` tokens long on both sides."""
    model, tokens = outline(plan), plan.training.batch_tokens * plan.training.accumulate
    stacks = (model.encoder, model.decoder)
    matrices = sum(m.weight.numel() for stack in stacks for m in stack.modules() if isinstance(m, nn.Linear))
    matrices += model.head.words.weight.numel()
    looks = sum(m.widths[0] + m.widths[2] for stack in stacks for m in stack.modules() if isinstance(m, Attention))
    return StepCost(tokens, length, FORWARD_AND_BACK * 2 * tokens * (matrices + looks * length))
