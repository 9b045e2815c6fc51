"""The catalogues: every part that a plan can name. Adding a part is one class in `parts/` and one line here."""

from functools import partial
from typing import Annotated

from torch import nn

from weft.parts import activations, batching, inits, optimisers, schedules
from weft.parts.attention import Attention
from weft.parts.batching import Batching
from weft.parts.body import Body
from weft.parts.context_attention import Additive, ContextAttention, Dot, General
from weft.parts.convolution import Bottleneck, Convolution, GatedConvolution
from weft.parts.feed_forward import FeedForward
from weft.parts.frontend import ScaledEmbedding
from weft.parts.heads import Head, SoftmaxHead, TiedHead
from weft.parts.layers import Add, Decoder, EncoderStack, Join, NoResidual, PostNorm, PreNorm, ScaledAdd, Wiring
from weft.parts.mixer import Mixer
from weft.parts.norms import LayerNorm, NoNorm, Norm, RMSNorm
from weft.parts.optimisers import Optimiser
from weft.parts.options import Number, Option, Rate
from weft.parts.patterns import Pattern, Window
from weft.parts.positions import ConcatenatedSinusoid, Learned, NoPosition, Position, Sinusoid
from weft.parts.recurrent import GRU, LSTM, Backward, Both, Cell, Forward, Recurrence
from weft.parts.relative_positions import RelativePosition, Rotary
from weft.parts.schedules import Schedule
from weft.plans import stacks
from weft.plans.catalogue import Catalogue

# Options of parts.
Base = Annotated[float, Number("base of the rotary frequencies; larger turns features more slowly")]
Activation = Annotated[str, Option("nonlinearity")]
KeyValueHeads = Annotated[int | None, Number("heads of keys and values, shared by the attention heads", 1, 2**12)]
Heads = Annotated[int, Number("attention heads", 1, 2**12)]
KeyWidth = Annotated[int | None, Number("width of queries and keys in each head", 1, 2**16, grows=True)]
ValueWidth = Annotated[int | None, Number("width of values in each head", 1, 2**16, grows=True)]
Hidden = Annotated[int | None, Number("width inside", 1, 2**20, grows=True)]
Dropout = Annotated[float, Rate("dropout on attention weights or hidden features")]
Smoothing = Annotated[float, Rate("label smoothing: probability spread over all tokens")]
Bias = Annotated[bool, Option("whether a constant is added after each matrix")]
Direction = Annotated[str | None, Option("reading direction", words=("forward", "backward", "both"))]
Kernel = Annotated[int, Number("positions that the convolution covers", 1, 2**8)]
Dilation = Annotated[int, Number("distance between these positions", 1, 2**10)]

ACTIVATIONS: Catalogue[nn.Module] = Catalogue(
    "activation",
    (),
    {
        "relu": activations.relu,
        "relu2": activations.relu2,
        "gelu": activations.gelu,
        "gelu-tanh": activations.gelu_tanh,
        "swish": activations.swish,
        "elu": activations.elu,
        "selu": activations.selu,
        "sigmoid": activations.sigmoid,
        "softplus": activations.softplus,
        "tanh": activations.tanh,
        "identity": activations.identity,
    },
)


def no_relative_position(heads: int, key_width: int, value_width: int) -> None:
    """Plain Q Kᵀ: positions are known from the embeddings only"""


def rotary(heads: int, key_width: int, value_width: int, *, base: Base = 10000.0) -> Rotary:
    """Queries and keys turned by angles that grow with their positions (arXiv:2104.09864)"""
    return Rotary(base)


def full() -> None:
    """Every query sees every key; in decoders, every key of its past"""


RELATIVE_POSITIONS: Catalogue[RelativePosition | None] = Catalogue(
    "mixer.position", ("heads", "key_width", "value_width"), {"none": no_relative_position, "rotary": rotary}
)
PATTERNS: Catalogue[Pattern | None] = Catalogue("mixer.pattern", (), {"full": full, "window": Window})


def mlp(
    width: int, *, hidden: Hidden = None, activation: Activation = "relu", dropout: Dropout = 0.0, bias: Bias = True
) -> FeedForward:
    """max(0, x W₁ + b₁) W₂ + b₂, by default four times as wide inside (arXiv:1706.03762)"""
    return FeedForward(width, hidden or 4 * width, [ACTIVATIONS.build(activation)], dropout, bias)


def _gated(gate: str, width: int, *, hidden: Hidden = None, dropout: Dropout = 0.0, bias: Bias = True) -> FeedForward:
    factors = [ACTIVATIONS.build(name) for name in (gate, "identity")]
    return FeedForward(width, hidden or 8 * width // 3, factors, dropout, bias)


def _gated_unit(gate: str) -> "partial[FeedForward]":
    unit = partial(_gated, gate)
    unit.__doc__ = f"({gate}(x W) ⊙ x V) W₂, by default with as many parameters as the MLP (arXiv:2002.05202)"
    return unit


def no_feed_forward(width: int) -> None:
    """No such sub-layer"""


def attention(
    width: int,
    is_causal: bool,
    *,
    heads: Heads = 8,
    kv_heads: KeyValueHeads = None,
    key_width: KeyWidth = None,
    value_width: ValueWidth = None,
    dropout: Dropout = 0.0,
    bias: Bias = True,
    qk_norm: Annotated[str, Option("normalisation of queries and keys in each head")] = "none",
    position: Annotated[str, Option("how queries and keys know their positions")] = "none",
    pattern: Annotated[str, Option("which positions attend to which")] = "full",
) -> Attention:
    """softmax(Q Kᵀ / √d_k) V in several heads (arXiv:1706.03762)"""
    made = Attention(width, heads, key_width, value_width, dropout, is_causal, kv_heads, bias)
    norms = [NORMS.build(qk_norm, made.key_width) for _ in ("queries", "keys")]
    made.norms = nn.ModuleList(norm for norm in norms if not isinstance(norm, NoNorm))
    made.position = RELATIVE_POSITIONS.build(position, heads, made.key_width, made.value_width)
    made.pattern = PATTERNS.build(pattern)
    return made


def _recurrent(cell: type[Cell], width: int, is_causal: bool, *, direction: Direction = None) -> Recurrence:
    one_way = {"forward": Forward, "backward": Backward}.get(direction or ("forward" if is_causal else "both"))
    if one_way is not None:
        return one_way(cell(width, width))
    return Both(Forward(cell(width, width - width // 2)), Backward(cell(width, width // 2)))


def _recurrence(cell: type[Cell]) -> "partial[Recurrence]":
    mixer = partial(_recurrent, cell)
    mixer.__doc__ = cell.__doc__
    return mixer


CELLS: dict[str, type[Cell]] = {"lstm": LSTM, "gru": GRU}


def convolution(width: int, is_causal: bool, *, kernel: Kernel = 3, dilation: Dilation = 1) -> GatedConvolution:
    """v ⊙ σ(g) with [v; g] a convolution, of the past only in decoders (arXiv:1612.08083)"""
    return GatedConvolution(width, kernel, dilation, is_causal)


def plain_convolution(width: int, is_causal: bool, *, kernel: Kernel = 3, dilation: Dilation = 1) -> Convolution:
    """b + Σ W_i x_{t-i}: the convolution alone, of the past only in decoders (Waibel et al. 1989)"""
    return Convolution(width, width, kernel, dilation, is_causal)


def bottleneck(
    width: int, is_causal: bool, *, hidden: Hidden = None, kernel: Kernel = 3, dilation: Dilation = 1
) -> Bottleneck:
    """A convolution, by default of half the width, between two matrices (arXiv:1610.10099)"""
    return Bottleneck(width, hidden or max(1, width // 2), kernel, dilation, is_causal)


def cross_attention(
    width: int, *, heads: Heads = 8, key_width: KeyWidth = None, value_width: ValueWidth = None, dropout: Dropout = 0.0
) -> Attention:
    """softmax(Q Kᵀ / √d_k) V in several heads (arXiv:1706.03762)"""
    return Attention(width, heads, key_width, value_width, dropout)


def additive(width: int, *, hidden: Hidden = None) -> ContextAttention:
    """Σ α h with α = softmax(v · tanh(W s + U h)), by default as wide inside as outside (arXiv:1409.0473)"""
    return ContextAttention(Additive(width, hidden or width))


def general(width: int) -> ContextAttention:
    """Σ α h with α = softmax(s · W h) (arXiv:1508.04025)"""
    return ContextAttention(General(width))


def dot(width: int) -> ContextAttention:
    """Σ α h with α = softmax(s · h) (arXiv:1508.04025)"""
    return ContextAttention(Dot())


def no_cross(width: int) -> None:
    """No such sub-layer: for decoders that receive the source in another way"""


def scaled(vocabulary: int, width: int) -> ScaledEmbedding:
    """√D · E[token] (arXiv:1706.03762)"""
    return ScaledEmbedding(vocabulary, width)


def plain(vocabulary: int, width: int) -> nn.Embedding:
    """E[token]"""
    return nn.Embedding(vocabulary, width)


def no_position(width: int) -> NoPosition:
    """x: a bag of tokens"""
    return NoPosition()


def tied(target: nn.Embedding, width: int, *, smoothing: Smoothing = 0.0, bias: Bias = True) -> TiedHead:
    """softmax(h Eᵀ + b) with the target embedding E (arXiv:1608.05859)"""
    return TiedHead(target, smoothing, bias=bias)


def linear(target: nn.Embedding, width: int, *, smoothing: Smoothing = 0.0, bias: Bias = True) -> SoftmaxHead:
    """softmax(h Wᵀ + b) with a matrix of its own"""
    return SoftmaxHead(nn.Embedding(target.num_embeddings, width), smoothing, bias=bias)


FEED_FORWARDS: Catalogue[Body | None] = Catalogue(
    "feed_forward",
    ("width",),
    {
        "mlp": mlp,
        "glu": _gated_unit("sigmoid"),
        "reglu": _gated_unit("relu"),
        "geglu": _gated_unit("gelu"),
        "swiglu": _gated_unit("swish"),
        "bilinear": _gated_unit("identity"),
        "none": no_feed_forward,
    },
    inner={"activation": ACTIVATIONS},
)
NORMS: Catalogue[Norm] = Catalogue("norm", ("width",), {"layer": LayerNorm, "rms": RMSNorm, "none": NoNorm})
JOINS: Catalogue[Join] = Catalogue("join", (), {"add": Add, "scaled-add": ScaledAdd, "none": NoResidual})
WIRINGS: Catalogue[Wiring] = Catalogue("wiring", ("norm", "dropout", "join"), {"post": PostNorm, "pre": PreNorm})
MIXERS: Catalogue[Mixer] = Catalogue(
    "mixer",
    ("width", "is_causal"),
    {
        "attention": attention,
        **{name: _recurrence(cell) for name, cell in CELLS.items()},
        "convolution": convolution,
        "plain-convolution": plain_convolution,
        "bottleneck": bottleneck,
    },
    inner={"qk_norm": NORMS, "position": RELATIVE_POSITIONS, "pattern": PATTERNS},
)
CROSSES: Catalogue[Mixer | None] = Catalogue(
    "cross",
    ("width",),
    {"attention": cross_attention, "additive": additive, "general": general, "dot": dot, "none": no_cross},
)
ENCODERS: Catalogue[EncoderStack] = Catalogue(
    "encoder.stack",
    ("parts",),
    {
        "plain": stacks.encoder,
        "final-states": stacks.final_states,
        "with-embeddings": stacks.with_embeddings,
        "stretched": stacks.stretched,
    },
)
DECODERS: Catalogue[Decoder] = Catalogue(
    "decoder.stack",
    ("parts",),
    {
        "plain": stacks.decoder,
        "from-encoder-state": stacks.from_encoder_state,
        "bahdanau": stacks.bahdanau,
        "gnmt": stacks.gnmt,
        "input-feeding": stacks.input_feeding,
        "convs2s": stacks.convs2s,
        "bytenet": stacks.bytenet,
    },
)
EMBEDDINGS: Catalogue[nn.Embedding] = Catalogue(
    "embedding", ("vocabulary", "width"), {"scaled": scaled, "plain": plain}
)
POSITIONS: Catalogue[Position] = Catalogue(
    "position",
    ("width",),
    {"sinusoid": Sinusoid, "concatenated": ConcatenatedSinusoid, "learned": Learned, "none": no_position},
)
HEADS: Catalogue[Head] = Catalogue("head", ("target", "width"), {"tied": tied, "linear": linear})
INITS: Catalogue[None] = Catalogue(
    "init",
    ("model",),
    {"xavier": inits.xavier, "gated": inits.gated, "depth-scaled": inits.depth_scaled, "gpt": inits.gpt},
)
OPTIMISERS: Catalogue[Optimiser] = Catalogue(
    "optimiser",
    ("model", "numbers"),
    {"adam": optimisers.adam, "adamw": optimisers.adamw, "muon": optimisers.muon},
)
SCHEDULES: Catalogue[Schedule] = Catalogue(
    "schedule",
    ("steps",),
    {"inverse-sqrt": schedules.inverse_sqrt, "cosine": schedules.cosine, "constant": schedules.constant},
)
BATCHINGS: Catalogue[Batching] = Catalogue(
    "batching", (), {"by-length": batching.by_length, "shuffled": batching.shuffled, "blocks": batching.blocks}
)

_OF_LAYERS = (MIXERS, RELATIVE_POSITIONS, PATTERNS, CROSSES, FEED_FORWARDS, ACTIVATIONS, NORMS, JOINS, WIRINGS)
ALL = (*_OF_LAYERS, ENCODERS, DECODERS, EMBEDDINGS, POSITIONS, HEADS, INITS, OPTIMISERS, SCHEDULES, BATCHINGS)
