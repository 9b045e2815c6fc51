"""A model as plain data for a diagram: its blocks with their sizes, its positions, its masks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from weft.data.batches import pad
from weft.models.base import Model
from weft.parts.call import Call
from weft.parts.diagram import Block, Row, count, quiet
from weft.parts.frontend import Frontend
from weft.parts.layers import Stack
from weft.viewing.attention_heads import KINDS, place_of
from weft.viewing.attention_maps import Recorder


@dataclass(frozen=True)
class Side:
    """The diagram of an encoder or a decoder."""

    embedding: Block
    positions: Block
    rows: list[Row]  # in the order in which they compute


@dataclass(frozen=True)
class Diagram:
    """The diagram of a whole model."""

    sides: dict[str, Side]  # in the order in which they compute
    head: Block
    shared: bool  # whether several sides have one embedding
    tied: bool  # whether the head shares the embedding of the last side

    def blocks(self) -> list[Block]:
        frontends = [block for side in self.sides.values() for block in (side.embedding, side.positions)]
        rows = [row for side in self.sides.values() for row in side.rows]
        return [*frontends, *(block for row in rows for one in row.stretches for block in one.blocks), self.head]


def diagram(model: Model) -> Diagram:
    embeddings = [side.frontend.embedding for side in model.sides.values()]
    first, last = embeddings[0], embeddings[-1]
    sides = {
        name: _side(_embedding(side.frontend.embedding, but=first if i else None), side.frontend, side.stack)
        for i, (name, side) in enumerate(model.sides.items())
    }
    shared = len(sides) > 1 and first is last
    return Diagram(sides, Block("output", count(model.head, but=last)), shared, model.head.tied_to(last))


def _side(embedding: Block, frontend: Frontend, stack: nn.Module) -> Side:
    assert isinstance(stack, Stack)
    return Side(embedding, quiet("positions", frontend.position), stack.rows())


def _embedding(part: nn.Module, but: nn.Module | None = None) -> Block:
    assert isinstance(part, nn.Embedding)
    sizes = {"vocabulary": part.num_embeddings, "width": part.embedding_dim}
    return Block("embedding", count(part, but=but), sizes)


@torch.inference_mode()
def position_vectors(frontend: Frontend, length: int) -> Tensor:
    """The encodings of positions 0, 1, 2 … added to a token embedding of zeros: (length, D)."""
    length = min(length, frontend.position.limit or length)
    device = next(frontend.parameters()).device
    zeros = frontend.embedding(torch.zeros(1, length, dtype=torch.long, device=device)) * 0.0
    return frontend.position(zeros, None)[0]  # type: ignore[no-any-return]


@torch.inference_mode()
def masks(model: Model, rows: Mapping[str, Sequence[Sequence[int]]]) -> dict[str, Tensor]:
    """The masks of the first attention of each kind, for one batch of rows by input: (B, T, S), True if visible."""
    device = next(model.parameters()).device
    recorder = Recorder()
    model.hidden({name: pad(some).to(device) for name, some in rows.items()}, Call(watch=recorder))
    found = {}
    for kind in KINDS:
        if not (layers := recorder.layers(kind)):
            continue  # the model has none
        place = place_of(kind, min(layers))
        B, _, T, S = recorder.seen[place, "weights"].shape
        visible = recorder.seen.get((place, "visible"), torch.ones(1, 1, 1, 1, dtype=torch.bool))
        found[kind] = visible[:, 0].expand(B, T, S)
    return found
