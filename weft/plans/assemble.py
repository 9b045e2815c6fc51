"""The shapes of models: a plan's parts are built, and put together."""

from torch import nn

from weft.models.base import Model
from weft.models.decoder_only import DecoderOnly
from weft.models.encoder_decoder import EncoderDecoder
from weft.parts.frontend import Frontend
from weft.parts.layers import CrossSublayer, Layer, Sublayer, Wiring
from weft.parts.mixer import Mixer
from weft.parts.norms import NoNorm
from weft.parts.recurrent import Cell
from weft.plans import catalogues as c
from weft.plans.catalogue import Catalogue
from weft.plans.plan import Decoder, Encoder, Plan, part_of_layer


def encoder_decoder(plan: Plan) -> EncoderDecoder:
    """A source is read as a whole, a target is written token by token (arXiv:1706.03762)"""
    source = _frontend(plan, plan.encoder.dropout)
    target = _frontend(plan, plan.decoder.dropout, source.embedding if plan.sharing == "joint" else None)
    model = EncoderDecoder(
        source,
        c.ENCODERS.build(plan.encoder.stack, SideParts(plan.encoder, plan.width)),
        target,
        c.DECODERS.build(plan.decoder.stack, DecoderParts(plan.decoder, plan.width)),
        c.HEADS.build(plan.head, target.embedding, plan.width),
    )
    c.INITS.build(plan.init, model)
    return model


def decoder(plan: Plan) -> DecoderOnly:
    """Each token is predicted from those before it (Radford et al. 2018)"""
    tokens = _frontend(plan, plan.decoder.dropout)
    model = DecoderOnly(
        tokens,
        c.DECODERS.build(plan.decoder.stack, DecoderParts(plan.decoder, plan.width)),
        c.HEADS.build(plan.head, tokens.embedding, plan.width),
    )
    c.INITS.build(plan.init, model)
    return model


MODELS: Catalogue[Model] = Catalogue("model", ("plan",), {"encoder-decoder": encoder_decoder, "decoder": decoder})


def _frontend(plan: Plan, dropout: float, shared: nn.Module | None = None) -> Frontend:
    position = c.POSITIONS.build(plan.position, plan.width)
    embedding = shared or c.EMBEDDINGS.build(plan.embedding, plan.vocabulary, plan.width - position.features)
    return Frontend(embedding, position, dropout)


class SideParts:
    """Builds the parts of one side of a plan, a new one for each call; layers count from 0."""

    def __init__(self, side: Encoder, width: int):
        self.side = side
        self.layers = side.layers
        self.width = width
        self.dropout = side.dropout

    def layer(self, i: int) -> Layer:
        """Mixer, cross and feed-forward in their wirings, as far as the plan has them."""
        return Layer({name: sublayer for name, sublayer in self._sublayers(i).items() if sublayer is not None})

    def _sublayers(self, i: int) -> dict[str, nn.Module | None]:
        feed = c.FEED_FORWARDS.build(part_of_layer(self.side.feed_forward, i), self.width)
        return {"mix": self.mix(i), "feed": feed and Sublayer(self.wiring(i), feed)}

    def mix(self, i: int) -> Sublayer:
        """The mixer in its wiring."""
        mixer = c.MIXERS.build(part_of_layer(self.side.mixer, i), self.width, self.side.is_causal)
        return Sublayer(self.wiring(i), mixer)

    def wiring(self, i: int) -> Wiring:
        """Norm, dropout and join."""
        norm = c.NORMS.build(part_of_layer(self.side.norm, i), self.width)
        join = c.JOINS.build(part_of_layer(self.side.join, i))
        return c.WIRINGS.build(part_of_layer(self.side.wiring, i), norm, self.dropout, join)

    def closing(self) -> nn.Module:
        """The norm after the last layer, if the wiring needs one."""
        if not self.wiring(0).open_ended:
            return NoNorm(self.width)
        return c.NORMS.build(part_of_layer(self.side.norm, self.layers - 1), self.width)


class DecoderParts(SideParts):
    """Builds the parts of a decoder."""

    side: Decoder

    def _sublayers(self, i: int) -> dict[str, nn.Module | None]:
        mix, feed = super()._sublayers(i).items()
        cross = self._cross(i)
        return dict([mix, ("cross", cross and CrossSublayer(self.wiring(i), cross)), feed])

    def _cross(self, i: int) -> Mixer | None:
        return c.CROSSES.build(part_of_layer(self.side.cross, i), self.width)

    def cross(self, i: int) -> Mixer:
        """The mixer that attends to the encoder."""
        cross = self._cross(i)
        assert cross is not None, "rules refuse a plan without one"
        return cross

    def cell(self, i: int, inputs: int) -> Cell:
        """The cell of a recurrent mixer, for inputs of this width."""
        return c.CELLS[part_of_layer(self.side.mixer, i).name](inputs, self.width)
