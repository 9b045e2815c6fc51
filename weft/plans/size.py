"""What a plan costs: parameters by part, and the arithmetic of a training step, as torch itself counts it.

A matrix of n weights costs 2 n operations a token on the way forward and twice that on the way back; attention adds the
products of queries with keys and of weights with values, which grow with the length of a sentence.
"""

import math
from collections import Counter
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from weft.models.base import Model
from weft.parts.call import Call
from weft.plans.plan import Plan


def outline(plan: Plan) -> Model:
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


# The first of these on the way to a parameter says what it belongs to.
SUBLAYERS = {
    "mix": "mixer",
    "rnn": "mixer",
    "start": "first state",
    "cross": "cross",
    "attention": "cross",
    "query": "cross",
    "out": "cross",
    "feed": "feed-forward",
}


def _kind(name: str) -> str:
    """decoder.layers.3.cross.body.out.weight → decoder cross"""
    first, *rest = name.split(".")
    if first not in ("encoder", "decoder"):
        return f"{first} {rest[0]}"
    if {"norm", "closing"} & {*rest}:
        return f"{first} norms"
    words = [word for word in rest if word != "layers" and not word.isdigit()]
    return f"{first} {next((SUBLAYERS[word] for word in words if word in SUBLAYERS), words[0])}"


@dataclass(frozen=True)
class StepCost:
    tokens: int  # on each side
    length: int  # of a sentence
    operations: int  # additions and multiplications


def step_cost(plan: Plan, length: int = 25) -> StepCost:
    """One optimiser step on full batches of sentences that are `length` tokens long on both sides."""
    tokens = plan.training.batch_tokens * plan.training.accumulate
    return StepCost(tokens, length, math.ceil(pair_operations(plan, length) * tokens / length))


def pair_operations(plan: Plan, length: int) -> int:
    """One pair goes through the model forward and back, without memory for any number in it. Fast kernels are left out:
    torch does not know the arithmetic of all of them, and it is the same."""
    model = outline(plan)
    with torch.device("meta"), FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        batch = model.example(length)
        log_probs = model.head.log_probs(model.hidden(batch.inputs, Call()))  # (1, T, V)
        F.nll_loss(log_probs[0], batch.targets[0]).backward()  # type: ignore[no-untyped-call]
    return int(counter.get_total_flops())
