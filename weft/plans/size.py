"""The size of a plan's model: parameters by part, and the arithmetic of a training step, as torch itself counts it.

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
from weft.parts.layers import Stack
from weft.plans.plan import Plan


def outline(plan: Plan) -> Model:
    """The model without memory for its weights."""
    with torch.device("meta"):
        return plan.build()


def parameters_by_part(model: nn.Module) -> Counter[str]:
    """The parameters of a model, by the side or end they are in and their role there.

    Shared ones are counted once, under all their names.
    """
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        first, _, rest = name.partition(".")
        part = model.get_submodule(first)
        role = _role(part, rest) if isinstance(part, Stack) else rest.partition(".")[0]
        names.setdefault(parameter, []).append(f"{first} {role}")
    counts: Counter[str] = Counter()
    for parameter, found in names.items():
        counts[" = ".join(found)] += parameter.numel()
    return counts


def _role(module: nn.Module, path: str) -> str:
    """The role of a parameter: layers.3.cross.body.out.weight → cross.

    It is what the first module on the way declares: its own `role`, or one of its children's in `roles`. If none does,
    the parameter is called as the part of the stack that it is in: readout.weight → readout.
    """
    first, *words = path.split(".")
    for name in (first, *words[:-1]):
        child = module.get_submodule(name)
        if role := getattr(module, "roles", {}).get(name) or getattr(child, "role", None):
            return str(role)
        module = child
    return first


@dataclass(frozen=True)
class StepCost:
    """The arithmetic of one optimiser step."""

    tokens: int  # on each side
    length: int  # of a sentence
    operations: int  # additions and multiplications


def step_cost(plan: Plan, length: int = 25) -> StepCost:
    """One optimiser step on full batches of sentences that are `length` tokens long on both sides."""
    tokens = plan.training.batch_tokens * plan.training.accumulate
    return StepCost(tokens, length, math.ceil(pair_operations(plan, length) * tokens / length))


def pair_operations(plan: Plan, length: int) -> int:
    """Operations of one pair, forward and back, counted without memory for any number.

    Fast kernels are left out: torch cannot count all of them, and their arithmetic is the same.
    """
    model = outline(plan)
    with torch.device("meta"), FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        batch = model.example(length)
        log_probs = model.head.log_probs(model.hidden(batch.inputs, Call()))  # (1, T, V)
        F.nll_loss(log_probs[0], batch.targets[0]).backward()  # type: ignore[no-untyped-call]
    return int(counter.get_total_flops())
