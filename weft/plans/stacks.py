"""Makers of encoders and decoders: what each of them takes from the shelf of a side's parts."""

from typing import Protocol

from torch import nn

from weft.parts.decoders import (
    AttendBelow,
    AttendEverywhere,
    AttendFirst,
    AttentiveRecurrence,
    Continuing,
    FedLayer,
    FromColumn,
    FromLayer,
    InputFeeding,
    LookingLayer,
    Stacked,
)
from weft.parts.encoders import Ending, Recalling, Unfolded
from weft.parts.layers import DecoderStack, EncoderStack, Layer, Wiring, Within
from weft.parts.recurrent import Cell


class Shelf(Protocol):
    """The parts that one side of a plan names, a fresh one each time it is asked for; layers count from 0."""

    layers: int
    width: int
    dropout: float

    def layer(self, i: int) -> Layer:
        """Mixer, cross and feed-forward in their wirings: those that the plan has."""

    def mix(self, i: int) -> Within:
        """The mixer in its wiring."""

    def wiring(self, i: int) -> Wiring:
        """Norm, dropout and join."""

    def closing(self) -> nn.Module:
        """The norm that the wiring leaves to do, or nothing."""


class DecoderShelf(Shelf, Protocol):
    """And the parts that only a decoder has."""

    def cross(self, i: int) -> nn.Module:
        """What looks at the encoder."""

    def cell(self, i: int, inputs: int) -> Cell:
        """The recurrence of a mixer that is one, for inputs of this width."""


def _layers(shelf: Shelf) -> list[Layer]:
    return [shelf.layer(i) for i in range(shelf.layers)]


def _starts(shelf: DecoderShelf) -> list[FromLayer]:
    return [FromLayer(i) for i in range(shelf.layers)]


def _looking(shelf: DecoderShelf) -> AttentiveRecurrence:
    cell = shelf.cell(0, 2 * shelf.width)
    return AttentiveRecurrence(cell, shelf.cross(0), FromColumn(shelf.width, cell))


def encoder(shelf: Shelf) -> EncoderStack:
    """Layers one after the other"""
    return EncoderStack(_layers(shelf), shelf.closing())


def recalling(shelf: Shelf) -> Recalling:
    """Layers one after the other; the source embeddings are handed on beside what became of them (arXiv:1705.03122)"""
    return Recalling(_layers(shelf), shelf.closing())


def ending(shelf: Shelf) -> Ending:
    """Recurrent layers; the state that each of them ended in is handed on too (arXiv:1409.3215)"""
    return Ending(_layers(shelf), shelf.closing())


def unfolded(shelf: Shelf, *, factor: float = 1.2) -> Unfolded:
    """Layers over a source that is stretched to about the length of its translation (arXiv:1610.10099)"""
    return Unfolded(_layers(shelf), shelf.closing(), factor)


def decoder(shelf: DecoderShelf) -> DecoderStack:
    """Layers one after the other"""
    return DecoderStack(_layers(shelf), shelf.closing())


def continuing(shelf: DecoderShelf) -> Continuing:
    """Recurrent layers that begin where the encoder's ended: the source as one vector (arXiv:1409.3215)"""
    return Continuing(_layers(shelf), shelf.closing(), _starts(shelf))


def attend_first(shelf: DecoderShelf) -> AttendFirst:
    """One recurrent layer that looks before each step, with the state it has (arXiv:1409.0473)"""
    return AttendFirst(shelf.width, _looking(shelf), shelf.dropout)


def attend_below(shelf: DecoderShelf) -> AttendBelow:
    """Recurrent layers of which the bottom one looks, for all of them (arXiv:1609.08144)"""
    above = [(i, shelf.cell(i, 2 * shelf.width)) for i in range(1, shelf.layers)]
    layers = [FedLayer(cell, FromColumn(shelf.width, cell), shelf.wiring(i)) for i, cell in above]
    return AttendBelow(_looking(shelf), layers, shelf.closing(), shelf.dropout)


def input_feeding(shelf: DecoderShelf) -> InputFeeding:
    """Recurrent layers that look after each step, and are fed what came of it in the next (arXiv:1508.04025)"""
    bottom, (start, *starts) = shelf.cell(0, 2 * shelf.width), _starts(shelf)
    layers = [Layer({"mix": shelf.mix(i)}) for i in range(1, shelf.layers)]  # only what is above them all looks
    above = Continuing(layers, shelf.closing(), starts)
    return InputFeeding(bottom, start, above, shelf.cross(0), shelf.dropout)


def attend_everywhere(shelf: DecoderShelf) -> AttendEverywhere:
    """Layers that look after each mixer, with queries that know the last word (arXiv:1705.03122)"""
    layers = [LookingLayer(shelf.width, shelf.mix(i), shelf.cross(i), shelf.wiring(i)) for i in range(shelf.layers)]
    return AttendEverywhere(layers, shelf.closing())


def stacked(shelf: DecoderShelf) -> Stacked:
    """Layers that stand on the encoder's columns, position by position (arXiv:1610.10099)"""
    return Stacked(shelf.width, _layers(shelf), shelf.closing())
