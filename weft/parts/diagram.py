"""Descriptions of parts for a diagram of the model: plain data, in the order of computation."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from torch import nn


@dataclass(frozen=True)
class Block:
    """A computation. Its marks: source, it receives the encoder's output; feeds, its result goes to blocks marked fed;
    loop, its state is carried to the next token; quiet, it is drawn small."""

    name: str
    parameters: int  # shared ones are counted at their first place
    sizes: dict[str, int] = field(default_factory=dict)  # by name: heads, width …
    formula: str = ""
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stretch:
    """A sequence of blocks, and whether a residual connection bypasses them."""

    blocks: list[Block]
    past: bool = False


@dataclass(frozen=True)
class Row:
    """A layer, or blocks below, between or above the layers."""

    stretches: list[Stretch]
    layer: bool = True


def count(*parts: nn.Module, but: nn.Module | None = None) -> int:
    """Count the parameters of some parts, except those that `but` has."""
    others = set(but.parameters()) if but else set()
    return sum(each.numel() for part in parts for each in part.parameters() if each not in others)


def quiet(name: str, *parts: nn.Module) -> Block:
    return Block(name, count(*parts), marks=("quiet",))


def crossing(block: Block, *marks: str) -> Block:
    """The block of a part that attends to the encoder's output."""
    return replace(block, name="encoder-decoder attention", marks=("source", *marks))


def between(block: Block) -> Row:
    return Row([Stretch([block])], layer=False)


def rows(layers: Iterable[Any], closing: Any) -> list[Row]:
    """The rows of layers and of the norm after them."""
    return [*(Row(layer.stretches()) for layer in layers), *(between(block) for block in closing.blocks())]
