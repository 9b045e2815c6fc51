"""Makers of encoders and decoders, which assemble the parts of one side."""

from typing import TYPE_CHECKING, Annotated

from weft.parts import decoders
from weft.parts.encoders import FinalStates, Stretched, WithEmbeddings
from weft.parts.layers import DecoderStack, EncoderStack, Layer
from weft.parts.options import Number

if TYPE_CHECKING:  # it needs the catalogues, which need this file
    from weft.plans.assemble import DecoderParts, SideParts


def _layers(parts: "SideParts") -> list[Layer]:
    return [parts.layer(i) for i in range(parts.layers)]


def _starts(parts: "DecoderParts") -> list[decoders.FromLayer]:
    return [decoders.FromLayer(i) for i in range(parts.layers)]


def _attentive(parts: "DecoderParts") -> decoders.AttentiveRecurrence:
    cell = parts.cell(0, 2 * parts.width)
    return decoders.AttentiveRecurrence(cell, parts.cross(0), decoders.FromColumn(parts.width, cell))


def encoder(parts: "SideParts") -> EncoderStack:
    """Layers one after the other"""
    return EncoderStack(_layers(parts), parts.closing())


def with_embeddings(parts: "SideParts") -> WithEmbeddings:
    """Layers one after the other; the decoder receives the source embeddings too (arXiv:1705.03122)"""
    return WithEmbeddings(_layers(parts), parts.closing())


def final_states(parts: "SideParts") -> FinalStates:
    """Recurrent layers; the decoder receives the final state of each of them too (arXiv:1409.3215)"""
    return FinalStates(_layers(parts), parts.closing())


def stretched(
    parts: "SideParts", *, factor: Annotated[float, Number("target positions per source position", 1, 10)] = 1.2
) -> Stretched:
    """Layers over a source that is stretched to about the length of its translation (arXiv:1610.10099)"""
    return Stretched(_layers(parts), parts.closing(), factor)


def decoder(parts: "DecoderParts") -> DecoderStack:
    """Layers one after the other"""
    return DecoderStack(_layers(parts), parts.closing())


def from_encoder_state(parts: "DecoderParts") -> decoders.FromEncoderState:
    """Recurrent layers that start from the encoder's final states: the source as one vector (arXiv:1409.3215)"""
    return decoders.FromEncoderState(_layers(parts), parts.closing(), _starts(parts))


def bahdanau(parts: "DecoderParts") -> decoders.BahdanauDecoder:
    """One recurrent layer that attends before each step, with its state as the query (arXiv:1409.0473)"""
    return decoders.BahdanauDecoder(parts.width, _attentive(parts), parts.dropout)


def gnmt(parts: "DecoderParts") -> decoders.GNMTDecoder:
    """Recurrent layers of which the bottom one attends, for all of them (arXiv:1609.08144)"""
    above = [(i, parts.cell(i, 2 * parts.width)) for i in range(1, parts.layers)]
    layers = [decoders.FedLayer(cell, decoders.FromColumn(parts.width, cell), parts.wiring(i)) for i, cell in above]
    return decoders.GNMTDecoder(_attentive(parts), layers, parts.closing(), parts.dropout)


def input_feeding(parts: "DecoderParts") -> decoders.InputFeeding:
    """Recurrent layers that attend after each step, and receive the result in the next one (arXiv:1508.04025)"""
    bottom, (start, *starts) = parts.cell(0, 2 * parts.width), _starts(parts)
    layers = [Layer({"mix": parts.mix(i)}) for i in range(1, parts.layers)]  # attention comes after all of them
    above = decoders.FromEncoderState(layers, parts.closing(), starts)
    return decoders.InputFeeding(bottom, start, above, parts.cross(0), parts.dropout)


def convs2s(parts: "DecoderParts") -> decoders.ConvS2SDecoder:
    """Layers that attend after each mixer, with queries that know the last word (arXiv:1705.03122)"""
    layers = [
        decoders.ConvS2SLayer(parts.width, parts.mix(i), parts.cross(i), parts.wiring(i)) for i in range(parts.layers)
    ]
    return decoders.ConvS2SDecoder(layers, parts.closing())


def bytenet(parts: "DecoderParts") -> decoders.ByteNetDecoder:
    """Layers that stand on the encoder's columns, position by position (arXiv:1610.10099)"""
    return decoders.ByteNetDecoder(parts.width, _layers(parts), parts.closing())
