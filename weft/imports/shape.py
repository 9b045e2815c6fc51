"""The result of every import: a plan, its weights under weft's names, a tokeniser, and facts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from weft.data.codecs import Codec
from weft.imports.facts import Facts
from weft.plans.plan import Plan
from weft.plans.rules import problems

LONGEST = 2**16  # of a row that a plan may ask for


@dataclass(frozen=True)
class Shape:
    """A plan and its weights."""

    plan: Plan
    weights: dict[str, Tensor]
    context: int  # tokens that the model was trained to see


@dataclass(frozen=True)
class Found:
    """A shape with its tokeniser, and what about.json notes."""

    shape: Shape
    codec: Codec
    facts: Mapping[str, Any] = field(default_factory=dict)


def decoder_plan(facts: Facts, context: int, settings: Mapping[str, Any]) -> Plan:
    """A decoder alone with pre-norm layers, that reads what a public tokeniser wrote. What no plan can say is refused
    here, before anything is counted in layers that a file claims to have."""
    facts.refuse()
    length = min(context, LONGEST)
    shape = {
        "task": "language-model",
        "model": "decoder",
        "codec": "public",
        "decoder.cross": "none",
        "decoder.wiring": "pre",
        "embedding": "plain",
        "training.longest": length,
        "training.batching": {"name": "blocks", "length": length},
    }
    plan = Plan().with_settings({**shape, **settings})
    facts.wrong += problems(plan)
    facts.refuse()
    return plan


def halves(rows: Tensor, heads: int) -> Tensor:
    """(H · K, …) with rotary pairs next to each other → the same with pairs half a head apart, as weft has them."""
    return rows.reshape(heads, -1, 2, *rows.shape[1:]).transpose(1, 2).reshape(rows.shape)


def neighbours(rows: Tensor, heads: int) -> Tensor:
    """(H · K, …) with rotary pairs half a head apart → next to each other, as llama2.c and GGUF have them."""
    return rows.reshape(heads, 2, -1, *rows.shape[1:]).transpose(1, 2).reshape(rows.shape)


def stacked(*parts: Tensor) -> Tensor:
    """Projections one above the other."""
    return torch.cat([part.to("meta") for part in parts] if any(part.is_meta for part in parts) else parts)
