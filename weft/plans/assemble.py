"""From a plan to a model: the parts list, read aloud."""

from torch import nn

from weft.models.sequence_to_sequence import SequenceToSequence
from weft.parts.ends import Entrance
from weft.parts.layers import Across, Layer, Wiring, Within
from weft.plans import catalogues as c
from weft.plans.check import check, parts_of
from weft.plans.part import Part
from weft.plans.plan import Decoder, Encoder, Plan


def assemble(plan: Plan) -> SequenceToSequence:
    check(plan)
    source = _entrance(plan, plan.encoder.dropout)
    target = _entrance(plan, plan.decoder.dropout, source.embedding if plan.ends.sharing == "joint" else None)
    model = SequenceToSequence(
        source,
        _stack(plan.encoder, plan.width, is_causal=False),
        target,
        _stack(plan.decoder, plan.width, is_causal=True),
        c.HEADS.build(plan.ends.head, target.embedding, plan.width),
    )
    c.INITS.build(plan.init, model)
    return model


def _entrance(plan: Plan, dropout: float, shared: nn.Module | None = None) -> Entrance:
    position = c.POSITIONS.build(plan.ends.position, plan.width)
    embedding = shared or c.EMBEDDINGS.build(plan.ends.embedding, plan.ends.vocabulary, plan.width - position.features)
    return Entrance(embedding, position, dropout)


def _stack(side: Encoder, width: int, is_causal: bool) -> nn.Module:
    layers = [_layer(side, i, width, is_causal) for i in range(side.layers)]
    closing = c.NORMS.build(_dealt(side.norm, side.layers - 1), width) if _wiring(side, 0, width).open_ended else None
    return c.STACKS.build(side.stack, layers, closing or nn.Identity())


def _layer(side: Encoder, i: int, width: int, is_causal: bool) -> Layer:
    def wiring() -> Wiring:
        return _wiring(side, i, width)

    sublayers: dict[str, nn.Module] = {"mix": Within(wiring(), c.MIXERS.build(_dealt(side.mixer, i), width, is_causal))}
    if isinstance(side, Decoder):
        sublayers["cross"] = Across(wiring(), c.MIXERS.build(_dealt(side.cross, i), width, False))
    sublayers["feed"] = Within(wiring(), c.FEED_FORWARDS.build(_dealt(side.feed_forward, i), width))
    return Layer(sublayers)


def _wiring(side: Encoder, i: int, width: int) -> Wiring:
    norm, join = c.NORMS.build(_dealt(side.norm, i), width), c.JOINS.build(_dealt(side.join, i))
    return c.WIRINGS.build(_dealt(side.wiring, i), norm, side.dropout, join)


def _dealt(slot: Part | tuple[Part, ...], i: int) -> Part:
    """The part of layer i: a list of parts is dealt to the layers in turn."""
    parts = parts_of(slot)
    return parts[i % len(parts)]
