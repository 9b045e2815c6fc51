"""How parts describe themselves in a diagram of the model: as plain data, in the order in which they compute."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from torch import nn


@dataclass(frozen=True)
class Block:
    """One computation. Its marks: source, it receives the encoder's output; feeds, its result goes to those marked fed;
    loop, its state carries over to the next token; quiet, it is drawn small."""

    name: str
    parameters: int  # what is shared counts where it stands first
    sizes: dict[str, int] = field(default_factory=dict)  # by what they are called: heads, width …
    formula: str = ""
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stretch:
    """Blocks one after the other, and whether a stream runs past them."""

    blocks: list[Block]
    past: bool = False


@dataclass(frozen=True)
class Row:
    """A layer, or what stands below, between or above the layers."""

    stretches: list[Stretch]
    layer: bool = True


def count(*parts: nn.Module, but: nn.Module | None = None) -> int:
    """The number of parameters of some parts, without those that another one has."""
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
    """Layers one after the other, and the norm that closes them."""
    return [*(Row(layer.stretches()) for layer in layers), *(between(block) for block in closing.blocks())]
