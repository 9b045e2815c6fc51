"""What a model is made of, as plain data for a diagram: its blocks with their sizes, its positions, its masks."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from weft.data.batches import filled
from weft.models.sequence_to_sequence import SequenceToSequence
from weft.parts.attention import Attention
from weft.parts.context_attention import ContextAttention
from weft.parts.convolution import Bottleneck, Convolution, GatedConvolution
from weft.parts.decoders import (
    AttentiveRecurrence,
    BahdanauDecoder,
    ByteNetDecoder,
    ConvS2SDecoder,
    ConvS2SLayer,
    FedLayer,
    FromEncoderState,
    GNMTDecoder,
    InputFeeding,
    Start,
)
from weft.parts.encoders import FinalStates, Stretched, WithEmbeddings
from weft.parts.feed_forward import FeedForward
from weft.parts.frontend import Frontend
from weft.parts.layers import CrossSublayer, Layer, Layers, NoResidual, PreNorm, Sublayer, Wiring
from weft.parts.recurrent import Backward, Both, Cell, Forward
from weft.viewing.attention_heads import KINDS, place_of
from weft.viewing.attention_maps import Recorder

CROSS = "encoder-decoder attention"


@dataclass(frozen=True)
class Block:
    """One thing that is computed. Its marks: source, the encoder's output comes in; feeds, those that are fed get what
    it gives; loop, its state goes on to the next token; quiet, it is drawn small."""

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


@dataclass(frozen=True)
class Side:
    embedding: Block
    positions: Block
    rows: list[Row]  # in the order in which they compute


@dataclass(frozen=True)
class Diagram:
    encoder: Side
    decoder: Side
    head: Block
    shared: bool  # whether both sides have one embedding
    tied: bool  # whether the head writes with the target's

    def blocks(self) -> list[Block]:
        sides = (self.encoder, self.decoder)
        ends = [block for side in sides for block in (side.embedding, side.positions)]
        rows = [row for side in sides for row in side.rows]
        return [*ends, *(block for row in rows for one in row.stretches for block in one.blocks), self.head]


def diagram(model: SequenceToSequence) -> Diagram:
    source, target = model.source.embedding, model.target.embedding
    return Diagram(
        encoder=Side(_embedding(source), _positions(model.source), _rows(model.encoder)),
        decoder=Side(_embedding(target, but=source), _positions(model.target), _rows(model.decoder)),
        head=Block("output", _count(model.head, but=target)),
        shared=source is target,
        tied=model.head.tied_to(target),
    )


def _rows(stack: nn.Module) -> list[Row]:
    """What a stack does, in the order in which it does it."""
    match stack:
        case FromEncoderState():
            pairs = zip(stack.starts, stack.layers, strict=True)
            return [*(Row([_start(start), *_stretches(layer)]) for start, layer in pairs), *_closing(stack.closing)]
        case ByteNetDecoder():
            name = "joined with the encoder's column"
            join = Block(name, _count(stack.join), formula="W [x; h]", marks=("source",))
            return [_between(join), *_layers(stack)]
        case Stretched():
            return [_between(_quiet(f"stretched to {stack.factor:g} × its length")), *_layers(stack)]
        case FinalStates():
            return [*_layers(stack), _between(_quiet("and the state that each layer ended in"))]
        case WithEmbeddings():
            return [*_layers(stack), _between(_quiet("and the embeddings, for the values"))]
        case Layers() | ConvS2SDecoder():
            return _layers(stack)
        case BahdanauDecoder():
            maxout = "maxout of U s + V x + C c"
            readout = Block("readout", _count(stack.readout), formula=maxout, marks=("fed",))
            return [Row(_stretches(stack.recurrence)), _between(readout)]
        case GNMTDecoder():
            return [Row(_stretches(stack.bottom)), *_layers(stack)]
        case InputFeeding():
            bottom = _cell(stack.bottom, "over [x; h̃]", "fed")
            join = Block("h̃, fed into the next step", _count(stack.join), formula="tanh(W [c; s])", marks=("feeds",))
            above = [*_rows(stack.above), _between(_crossing(stack.attention)), _between(join)]
            return [Row([_start(stack.start), Stretch([bottom])]), *above]
    raise TypeError(f"nobody has said how to draw a {type(stack).__name__}")


def _layers(stack: Layers | GNMTDecoder | ConvS2SDecoder) -> list[Row]:
    return [*(Row(_stretches(layer)) for layer in stack.layers), *_closing(stack.closing)]


def _stretches(part: nn.Module) -> list[Stretch]:
    """What a layer does, or a sub-layer, in the order in which it does it."""
    match part:
        case Layer():
            return [stretch for name in part.order for stretch in _stretches(part.get_submodule(name))]
        case Sublayer():
            return _wired(part.wiring, _crossing(part.body) if isinstance(part, CrossSublayer) else _within(part.body))
        case AttentiveRecurrence():
            attention = replace(_crossing(part.attention), marks=("source", "feeds"))
            return [_start(part.start), Stretch([attention]), Stretch([_cell(part.cell, "over [x; c]")])]
        case FedLayer():
            return [_start(part.start), *_wired(part.wiring, _cell(part.cell, "over [x; c]", "fed"))]
        case ConvS2SLayer():  # attention has the matrices of its query and of its output around it
            attention = _crossing(part.attention)
            formula = ", ".join(filter(None, (attention.formula, "s = W x + last word")))
            count = _count(part.query, part.attention, part.out)
            looking = replace(attention, parameters=count, formula=formula)
            return [*_stretches(part.mix), *_wired(part.wiring, looking)]
    raise TypeError(f"nobody has said how to draw a {type(part).__name__}")


def _wired(wiring: Wiring, block: Block) -> list[Stretch]:
    past, norm = not isinstance(wiring.join, NoResidual), _norm(wiring.norm)
    if isinstance(wiring, PreNorm):
        return [Stretch([*norm, block], past)]
    return [Stretch([block], past), *(Stretch([one]) for one in norm)]


def _closing(norm: nn.Module) -> list[Row]:
    return [_between(one) for one in _norm(norm)]


def _between(block: Block) -> Row:
    return Row([Stretch([block])], layer=False)


def _start(start: nn.Module) -> Stretch:
    assert isinstance(start, Start)
    return Stretch([Block("first state", _count(start), formula=start.formula, marks=("source",))])


def _norm(norm: nn.Module) -> list[Block]:
    """None where there is none."""
    name = {nn.LayerNorm: "layer norm", nn.RMSNorm: "RMS norm"}.get(type(norm))
    return [_quiet(name, _count(norm))] if name else []


def _quiet(name: str, parameters: int = 0) -> Block:
    return Block(name, parameters, marks=("quiet",))


def _crossing(part: nn.Module) -> Block:
    """Whatever looks at the encoder."""
    formula = part.score.formula if isinstance(part, ContextAttention) else ""
    return Block(CROSS, _count(part), _heads(part), formula, ("source",))


def _within(part: nn.Module) -> Block:
    """Whatever looks at its own sequence only."""
    match part:
        case Attention():
            name = "masked self-attention" if part.is_causal else "self-attention"
            return Block(name, _count(part), _heads(part))
        case FeedForward():
            return Block("feed-forward", _count(part), {"hidden": part.hidden})
        case Convolution() | GatedConvolution() | Bottleneck():
            kernel = (part if isinstance(part, Convolution) else part.convolution).kernel
            sizes = {"kernel": kernel.kernel_size[0], "dilation": kernel.dilation[0]}
            return Block("convolution", _count(part), sizes)
        case Forward():
            return _cell(part.cell)
        case Backward():
            return _cell(part.cell, name="{}, backwards")
        case Both():
            return replace(_cell(part.forwards.cell, name="{}, both ways"), parameters=_count(part))
    raise TypeError(f"nobody has said how to draw a {type(part).__name__}")


def _cell(cell: Cell, formula: str = "", *marks: str, name: str = "{}") -> Block:
    return Block(name.format(type(cell).__name__), _count(cell), formula=formula, marks=("loop", *marks))


def _heads(part: nn.Module) -> dict[str, int]:
    if not isinstance(part, Attention):
        return {}
    return {"heads": part.heads, "key width": part.key_width, "value width": part.value_width}


def _embedding(part: nn.Module, but: nn.Module | None = None) -> Block:
    assert isinstance(part, nn.Embedding)
    sizes = {"vocabulary": part.num_embeddings, "width": part.embedding_dim}
    return Block("embedding", _count(part, but=but), sizes)


def _positions(entrance: Frontend) -> Block:
    return Block("positions", _count(entrance.position), marks=("quiet",))


def _count(*parts: nn.Module, but: nn.Module | None = None) -> int:
    """The parameters of some parts, but for those that another one has."""
    others = set(but.parameters()) if but else set()
    return sum(each.numel() for part in parts for each in part.parameters() if each not in others)


@torch.inference_mode()
def position_vectors(entrance: Frontend, length: int) -> Tensor:
    """What the positions 0, 1, 2 … bring to a token that is all zeros: (length, D)."""
    length = min(length, entrance.position.limit or length)
    device = next(entrance.parameters()).device
    nothing = entrance.embedding(torch.zeros(1, length, dtype=torch.long, device=device)) * 0.0
    return entrance.position(nothing, None)[0]  # type: ignore[no-any-return]


@torch.inference_mode()
def masks(
    model: SequenceToSequence, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> dict[str, Tensor]:
    """Who may look at whom in the first layer that looks, these sentences read as one batch: (B, T, S) of each kind."""
    device = next(model.parameters()).device
    recorder = Recorder()
    source, target = filled(sources).to(device), filled(targets).to(device)
    model.decode(target, model.encode(source, recorder), watch=recorder)
    found = {}
    for kind in KINDS:
        if not (layers := recorder.layers(kind)):
            continue  # a model may do without
        place = place_of(kind, min(layers))
        B, _, T, S = recorder.seen[place, "weights"].shape
        visible = recorder.seen.get((place, "visible"), torch.ones(1, 1, 1, 1, dtype=torch.bool))
        found[kind] = visible[:, 0].expand(B, T, S)
    return found
