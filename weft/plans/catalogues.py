"""The catalogues: every part that a plan can name. Adding a part is one class in `parts/` and one line here."""

from functools import partial

from torch import nn

from weft.parts import activations, inits, schedules
from weft.parts.attention import Attention, causal, full
from weft.parts.ends import ScaledEmbedding
from weft.parts.feed_forward import Product
from weft.parts.heads import LinearHead
from weft.parts.layers import Add, PostNorm, PreNorm, Stack, Wiring
from weft.parts.norms import layer_norm, no_norm, rms_norm
from weft.parts.positions import ConcatenatedSinusoid, Learned, NoPosition, Position, Sinusoid
from weft.parts.schedules import Schedule
from weft.plans.catalogue import Catalogue
from weft.plans.part import Part

ACTIVATIONS: Catalogue[nn.Module] = Catalogue(
    "activation",
    (),
    {
        "relu": activations.relu,
        "gelu": activations.gelu,
        "swish": activations.swish,
        "elu": activations.elu,
        "selu": activations.selu,
        "sigmoid": activations.sigmoid,
        "softplus": activations.softplus,
        "tanh": activations.tanh,
        "identity": activations.identity,
    },
)


def mlp(width: int, *, hidden: int | None = None, activation: str = "relu", dropout: float = 0.0) -> Product:
    """max(0, x W₁ + b₁) W₂ + b₂, four times as wide inside unless told (arXiv:1706.03762)"""
    return Product(width, hidden or 4 * width, [ACTIVATIONS.build(Part(activation))], dropout)


def _gated(gate: str, width: int, *, hidden: int | None = None, dropout: float = 0.0) -> Product:
    factors = [ACTIVATIONS.build(Part(name)) for name in (gate, "identity")]
    return Product(width, hidden or 8 * width // 3, factors, dropout)


def _gated_unit(gate: str) -> "partial[Product]":
    unit = partial(_gated, gate)
    unit.__doc__ = f"({gate}(x W) ⊙ x V) W₂, as many parameters as the MLP unless told (arXiv:2002.05202)"
    return unit


def attention(
    width: int,
    is_causal: bool,
    *,
    heads: int = 8,
    key_width: int | None = None,
    value_width: int | None = None,
    dropout: float = 0.0,
) -> Attention:
    """softmax(Q Kᵀ / √d_k) V in several heads (arXiv:1706.03762)"""
    return Attention(width, heads, key_width, value_width, dropout, causal if is_causal else full)


def scaled(vocabulary: int, width: int) -> ScaledEmbedding:
    """√D · E[token] (arXiv:1706.03762)"""
    return ScaledEmbedding(vocabulary, width)


def concatenated(width: int, *, features: int | None = None) -> ConcatenatedSinusoid:
    """[x; PE]: a quarter of the width tells the position unless told (the lectures' picture)"""
    return ConcatenatedSinusoid(features or width // 4)


def learned(width: int, *, limit: int = 256) -> Learned:
    """x + P[pos], one learned vector for each position up to the limit (arXiv:1705.03122)"""
    return Learned(width, limit)


def no_position(width: int) -> NoPosition:
    """x: a bag of tokens"""
    return NoPosition()


def tied(target: nn.Embedding, width: int, *, smoothing: float = 0.0) -> LinearHead:
    """softmax(h Eᵀ + b) with the target embedding E (arXiv:1608.05859)"""
    return LinearHead(target, smoothing)


def linear(target: nn.Embedding, width: int, *, smoothing: float = 0.0) -> LinearHead:
    """softmax(h Wᵀ + b) with a matrix of its own"""
    return LinearHead(nn.Embedding(target.num_embeddings, width), smoothing)


FEED_FORWARDS: Catalogue[nn.Module] = Catalogue(
    "feed_forward",
    ("width",),
    {
        "mlp": mlp,
        "glu": _gated_unit("sigmoid"),
        "reglu": _gated_unit("relu"),
        "geglu": _gated_unit("gelu"),
        "swiglu": _gated_unit("swish"),
        "bilinear": _gated_unit("identity"),
    },
    inner={"activation": ACTIVATIONS},
)
NORMS: Catalogue[nn.Module] = Catalogue("norm", ("width",), {"layer": layer_norm, "rms": rms_norm, "none": no_norm})
JOINS: Catalogue[nn.Module] = Catalogue("join", (), {"add": Add})
WIRINGS: Catalogue[Wiring] = Catalogue("wiring", ("norm", "dropout", "join"), {"post": PostNorm, "pre": PreNorm})
MIXERS: Catalogue[nn.Module] = Catalogue("mixer", ("width", "is_causal"), {"attention": attention})
STACKS: Catalogue[nn.Module] = Catalogue("stack", ("layers", "closing"), {"plain": Stack})
EMBEDDINGS: Catalogue[nn.Embedding] = Catalogue("embedding", ("vocabulary", "width"), {"scaled": scaled})
POSITIONS: Catalogue[Position] = Catalogue(
    "position",
    ("width",),
    {"sinusoid": Sinusoid, "concatenated": concatenated, "learned": learned, "none": no_position},
)
HEADS: Catalogue[LinearHead] = Catalogue("head", ("target", "width"), {"tied": tied, "linear": linear})
INITS: Catalogue[None] = Catalogue("init", ("model",), {"xavier": inits.xavier, "depth-scaled": inits.depth_scaled})
SCHEDULES: Catalogue[Schedule] = Catalogue(
    "schedule",
    ("steps",),
    {"inverse-sqrt": schedules.inverse_sqrt, "cosine": schedules.cosine, "constant": schedules.constant},
)

ALL = (
    MIXERS,
    FEED_FORWARDS,
    ACTIVATIONS,
    NORMS,
    JOINS,
    WIRINGS,
    STACKS,
    EMBEDDINGS,
    POSITIONS,
    HEADS,
    INITS,
    SCHEDULES,
)
