"""What a model is made of, as plain data for a diagram: its blocks with their sizes, its positions, its masks."""

from collections.abc import Sequence
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
    """An encoder or a decoder."""

    embedding: Block
    positions: Block
    rows: list[Row]  # in the order in which they compute


@dataclass(frozen=True)
class Diagram:
    """A whole model."""

    encoder: Side
    decoder: Side
    head: Block
    shared: bool  # whether both sides have one embedding
    tied: bool  # whether the head shares the target embedding

    def blocks(self) -> list[Block]:
        sides = (self.encoder, self.decoder)
        ends = [block for side in sides for block in (side.embedding, side.positions)]
        rows = [row for side in sides for row in side.rows]
        return [*ends, *(block for row in rows for one in row.stretches for block in one.blocks), self.head]


def diagram(model: Model) -> Diagram:
    encoder, decoder = model.sides["encoder"], model.sides["decoder"]
    source, target = encoder.frontend.embedding, decoder.frontend.embedding
    return Diagram(
        encoder=_side(_embedding(source), encoder.frontend, encoder.stack),
        decoder=_side(_embedding(target, but=source), decoder.frontend, decoder.stack),
        head=Block("output", count(model.head, but=target)),
        shared=source is target,
        tied=model.head.tied_to(target),
    )


def _side(embedding: Block, frontend: Frontend, stack: nn.Module) -> Side:
    assert isinstance(stack, Stack)
    return Side(embedding, quiet("positions", frontend.position), stack.rows())


def _embedding(part: nn.Module, but: nn.Module | None = None) -> Block:
    assert isinstance(part, nn.Embedding)
    sizes = {"vocabulary": part.num_embeddings, "width": part.embedding_dim}
    return Block("embedding", count(part, but=but), sizes)


@torch.inference_mode()
def position_vectors(frontend: Frontend, length: int) -> Tensor:
    """What the positions 0, 1, 2 … add to a token embedding of zeros: (length, D)."""
    length = min(length, frontend.position.limit or length)
    device = next(frontend.parameters()).device
    zeros = frontend.embedding(torch.zeros(1, length, dtype=torch.long, device=device)) * 0.0
    return frontend.position(zeros, None)[0]  # type: ignore[no-any-return]


@torch.inference_mode()
def masks(model: Model, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> dict[str, Tensor]:
    """Who may look at whom in the first layer that looks, these sentences read as one batch: (B, T, S) of each kind."""
    device = next(model.parameters()).device
    recorder = Recorder()
    inputs = {"source": pad(sources).to(device), "target": pad(targets).to(device)}
    model.hidden(inputs, Call(watch=recorder))
    found = {}
    for kind in KINDS:
        if not (layers := recorder.layers(kind)):
            continue  # a model may do without
        place = place_of(kind, min(layers))
        B, _, T, S = recorder.seen[place, "weights"].shape
        visible = recorder.seen.get((place, "visible"), torch.ones(1, 1, 1, 1, dtype=torch.bool))
        found[kind] = visible[:, 0].expand(B, T, S)
    return found
