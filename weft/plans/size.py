"""The size of a plan's model: parameters by part, and the operations of a training step, as counted by torch.

A matrix of n weights costs 2 n operations per token forward, and twice that backward; attention adds the products of
queries with keys and of weights with values, which grow with the length of a sentence.
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
from weft.parts.inits import Undrawn
from weft.parts.layers import Stack
from weft.plans.catalogues import BATCHINGS
from weft.plans.plan import Plan

SENTENCE = 25  # tokens on each side


def outline(plan: Plan, device: str = "meta") -> Model:
    """Build the model without initialising its weights; on the meta device they take no memory either."""
    with torch.device(device), Undrawn():
        return plan.build()


def parameters_by_part(model: nn.Module) -> Counter[str]:
    """Count the parameters of a model by section and role. Shared ones are counted once, under all their names."""
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

    It is declared by the first module on the path, as its `role` or, for a child, in `roles`. If none declares it, it
    is the name of the stack's child: readout.weight → readout.
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
    """The operations of one optimiser step."""

    tokens: int  # on each side
    length: int  # of an example
    unit: str  # what an example is
    operations: int  # additions and multiplications


def step_cost(plan: Plan, length: int | None = None) -> StepCost:
    """Cost of an optimiser step on full batches: of blocks where the plan has them, else of sentences."""
    block = BATCHINGS.value(plan.training.batching, "length")
    length = length or block or SENTENCE
    tokens = plan.training.batch_tokens * plan.training.accumulate
    operations = math.ceil(example_operations(plan, length) * tokens / length)
    return StepCost(tokens, length, "block" if block else "sentence", operations)


def example_operations(plan: Plan, length: int) -> int:
    """Count the operations of one example, forward and backward, on the meta device, which holds no numbers.

    Fused kernels are switched off: torch cannot count all of them, and their operations are the same.
    """
    model = outline(plan)
    with torch.device("meta"), FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        batch = model.example(length)
        log_probs = model.head.log_probs(model.hidden(batch.inputs, Call()))  # (1, T, V)
        F.nll_loss(log_probs[0], batch.targets[0]).backward()  # type: ignore[no-untyped-call]
    return int(counter.get_total_flops())


def context_of(plan: Plan) -> int:
    """How many tokens a decoder alone sees at once: what its positions know, or else what it was trained on."""
    block = BATCHINGS.value(plan.training.batching, "length")
    return outline(plan).limits["tokens"] or int(block or plan.training.longest)
