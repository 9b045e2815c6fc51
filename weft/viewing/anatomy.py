"""What a model is made of, as plain data for a diagram: its blocks with their sizes, its positions, its masks."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from weft.models.sequence_to_sequence import SequenceToSequence
from weft.parts.attention import Attention
from weft.parts.convolution import Bottleneck, GatedConvolution
from weft.parts.decoders import AttentiveRecurrence
from weft.parts.ends import Entrance
from weft.parts.feed_forward import Product
from weft.parts.layers import Layer, Layers, Replace, Within
from weft.parts.lookup import Lookup
from weft.parts.recurrent import Backward, Both, Cell
from weft.text.batches import filled
from weft.viewing.attention import Recorder
from weft.viewing.heads import KINDS, place_of

BLOCKS = {
    "mix": "self-attention",
    "cross": "encoder-decoder attention",
    "feed": "feed-forward",
    "start": "first state",
    "join": "joined with what was seen",
}


@dataclass(frozen=True)
class Block:
    name: str
    parameters: int
    sizes: dict[str, int]  # by what they are called: heads, width …
    norm: int  # parameters of the norm that goes with it
    past: bool  # whether a stream runs past it


@dataclass(frozen=True)
class Diagram:
    source: Block  # the embeddings
    target: Block
    shared: bool  # whether both are one
    encoder: list[list[Block]]  # of each layer
    decoder: list[list[Block]]
    head: Block
    tied: bool  # whether it writes with the target's embedding


def diagram(model: SequenceToSequence) -> Diagram:
    return Diagram(
        source=_block("embedding", model.source.embedding),
        target=_block("embedding", model.target.embedding),
        shared=model.source.embedding is model.target.embedding,
        encoder=_layers(model.encoder),
        decoder=_layers(model.decoder),
        head=_block("output", model.head),
        tied=model.head.words is model.target.embedding,
    )


def _layers(stack: nn.Module) -> list[list[Block]]:
    """A layer as its blocks in order; a decoder that is more than a list of layers, as what it is made of."""
    if isinstance(stack, Layers):
        layers = [layer for layer in stack.modules() if isinstance(layer, Layer)]
        return [[_part(name, layer.get_submodule(name)) for name in layer.order] for layer in layers]
    rows: list[list[Block]] = []
    for name, child in stack.named_children():
        if isinstance(child, Layers):
            rows += _layers(child)
        elif isinstance(child, nn.ModuleList | AttentiveRecurrence):
            for layer in child if isinstance(child, nn.ModuleList) else [child]:
                rows.append([_part(of, part) for of, part in layer.named_children() if _count(part)])
        elif _count(child):
            rows.append([_part(name, child)])
    return rows


def _part(name: str, part: nn.Module) -> Block:
    if not isinstance(part, Within):
        return _block(_name(name, part), part)
    past = not isinstance(part.wiring.join, Replace)
    return _block(_name(name, part.body), part.body, _count(part.wiring), past)


def _name(name: str, part: nn.Module) -> str:
    """What a diagram calls it."""
    if isinstance(part, Lookup):
        return BLOCKS["cross"]
    if isinstance(part, GatedConvolution | Bottleneck):
        return "convolution"
    cells = [each for each in part.modules() if isinstance(each, Cell)]
    ways = {Both: ", both ways", Backward: ", backwards"}
    return type(cells[0]).__name__ + ways.get(type(part), "") if cells else BLOCKS.get(name, name)


def _block(name: str, part: nn.Module, norm: int = 0, past: bool = False) -> Block:
    sizes: dict[str, int] = {}
    if isinstance(part, Attention):
        queries, _, values = part.widths
        sizes = {"heads": part.heads, "key width": queries // part.heads, "value width": values // part.heads}
    elif isinstance(part, Product):
        sizes = {"hidden": part.out.in_features}
    elif isinstance(part, nn.Embedding):
        sizes = {"vocabulary": part.num_embeddings, "width": part.embedding_dim}
    return Block(name, _count(part), sizes, norm, past)


def _count(part: nn.Module) -> int:
    return sum(parameter.numel() for parameter in part.parameters())


@torch.inference_mode()
def position_vectors(entrance: Entrance, length: int) -> Tensor:
    """What the positions 0, 1, 2 … bring to a token that is all zeros: (length, D)."""
    length = min(length, entrance.position.limit or length)
    device = next(entrance.parameters()).device
    nothing = entrance.embedding(torch.zeros(1, length, dtype=torch.long, device=device)) * 0.0
    return entrance.position(nothing, None)[0]  # type: ignore[no-any-return]


@torch.inference_mode()
def masks(
    model: SequenceToSequence, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> dict[str, Tensor]:
    """Who may look at whom in the first layer, where these sentences are read as one batch: (B, T, S) of each kind."""
    device = next(model.parameters()).device
    recorder = Recorder()
    source, target = filled(sources).to(device), filled(targets).to(device)
    model.decode(target, model.encode(source, recorder), watch=recorder)
    found = {}
    for kind in KINDS:
        if (place_of(kind, 1), "weights") not in recorder.seen:
            continue  # a model may do without
        B, _, T, S = recorder.seen[place_of(kind, 1), "weights"].shape
        visible = recorder.seen.get((place_of(kind, 1), "visible"), torch.ones(1, 1, 1, 1, dtype=torch.bool))
        found[kind] = visible[:, 0].expand(B, T, S)
    return found
