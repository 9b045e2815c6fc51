"""Decoders alone in the two shapes that other programs know: GPT-2 and Llama.

What differs in words only is brought into the shape, exactly: an embedding that is scaled becomes a larger matrix (and
the head then has one of its own), whatever a position part adds to an embedding is a table, missing biases are zeros,
and where GPT-2 has keys and values for every head, shared ones are repeated.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from weft.errors import WeftError
from weft.exports.expressible import Table, faults, mixtures, refuse
from weft.models.base import Model
from weft.parts.attention import Attention
from weft.parts.feed_forward import FeedForward
from weft.parts.frontend import ScaledEmbedding
from weft.parts.relative_positions import Rotary
from weft.plans.plan import Plan
from weft.plans.size import context_of, outline

_BOTH: dict[str, dict[str, set[str]]] = {
    "model": {"decoder": set()},
    "mixer.pattern": {"full": set()},
    "cross": {"none": set()},
    "join": {"add": set()},
    "wiring": {"pre": set()},
    "decoder.stack": {"plain": set()},
    "embedding": {"plain": set(), "scaled": set()},
    "head": {"tied": {"smoothing", "bias"}, "linear": {"smoothing", "bias"}},
}
TABLES: dict[str, Table] = {
    "GPT-2": {
        **_BOTH,
        "mixer": {"attention": {"heads", "kv_heads", "dropout", "bias", "position", "pattern"}},
        "mixer.position": {"none": set()},
        "feed_forward": {"mlp": {"hidden", "activation", "dropout", "bias"}},
        "activation": {name: set() for name in ("relu", "relu2", "gelu", "gelu-tanh", "swish", "tanh", "sigmoid")},
        "norm": {"layer": {"epsilon"}},
        "position": {"learned": {"limit"}, "sinusoid": set(), "none": set()},
    },
    "Llama": {
        **_BOTH,
        "mixer": {
            "attention": {"heads", "kv_heads", "key_width", "value_width", "dropout", "bias", "position", "pattern"}
        },
        "mixer.position": {"rotary": {"base"}},
        "feed_forward": {"swiglu": {"hidden", "dropout", "bias"}},
        "norm": {"rms": {"epsilon"}},
        "position": {"none": set()},
    },
}


def shape_of(plan: Plan, to: str, shapes: tuple[str, ...] = ("GPT-2", "Llama")) -> str:
    """The shape that expresses a plan; else an error that names what does not fit into the nearest."""
    wrong = {name: faults(plan, TABLES[name], name) or _details(plan, name) for name in shapes}
    nearest = min(shapes, key=lambda name: len(wrong[name]))
    refuse(plan, to, wrong[nearest])
    return nearest


def _details(plan: Plan, shape: str) -> list[str]:
    if found := mixtures(plan, shape):
        return found
    model = outline(plan)
    if "head.bias" in dict(model.named_parameters()):
        found.append(f"{shape} has no head bias; set head.bias=false.")
    attention = next(part for part in model.modules() if isinstance(part, Attention))
    if attention.key_width != attention.value_width:
        found.append(f"mixer: {shape} requires equal key and value widths.")
    if attention.position is not None and attention.key_width % 2:
        found.append(f"mixer: {shape} requires an even head width for rotary positions, got {attention.key_width}.")
    return found


@dataclass(frozen=True)
class PublicLayer:
    """One layer: matrices (out, in), and biases, None where there are none."""

    query: Tensor
    key: Tensor
    value: Tensor
    biases: tuple[Tensor, Tensor, Tensor] | None  # of these three
    out: nn.Linear
    mix_norm: Any
    feed_norm: Any
    feed: FeedForward


@dataclass(frozen=True)
class Parts:
    """A decoder alone, taken apart. The tensors are the model's own where nothing had to be done to them."""

    layers: list[PublicLayer]
    heads: int
    kv_heads: int
    key_width: int
    hidden: int
    context: int
    epsilon: float
    base: float | None  # of rotary positions
    embedding: Tensor  # (V, D)
    table: Tensor  # (context, D), what positions add
    head: Tensor | None  # (V, D); None: it is the embedding
    closing: Any  # a norm


@torch.no_grad()
def parts_of_decoder(plan: Plan, model: Model) -> Parts:
    side, context = model.sides["decoder"], context_of(plan)
    stack: Any = side.stack
    first = stack.layers[0].mix.body
    assert isinstance(first, Attention)
    embedding = side.frontend.embedding
    assert isinstance(embedding, nn.Embedding)
    is_scaled = isinstance(embedding, ScaledEmbedding)
    words = embedding.weight * math.sqrt(embedding.embedding_dim) if is_scaled else embedding.weight
    projection = model.head.projection()
    assert projection is not None, "TABLES list heads that are a projection and a softmax"
    is_tied = projection[0] is embedding.weight and not is_scaled
    return Parts(
        [_layer(layer) for layer in stack.layers],
        first.heads,
        first.kv_heads,
        first.key_width,
        stack.layers[0].feed.body.hidden,
        context,
        first_epsilon(stack),
        first.position.base if isinstance(first.position, Rotary) else None,
        words,
        side.frontend.position(torch.zeros(1, context, words.size(1)), None)[0],
        None if is_tied else projection[0],
        stack.closing,
    )


def first_epsilon(stack: Any) -> float:
    return float(stack.layers[0].mix.wiring.norm.eps)


def _layer(layer: Any) -> PublicLayer:
    body = layer.mix.body
    query, key, value = body.project.weight.split(body.widths)
    biases = None if body.project.bias is None else tuple(body.project.bias.split(body.widths))
    return PublicLayer(
        query, key, value, biases, body.out, layer.mix.wiring.norm, layer.feed.wiring.norm, layer.feed.body
    )


def repeated(rows: Tensor, kv_heads: int, heads: int) -> Tensor:
    """(G · K, …) → (H · K, …): each head of keys or values as often as it is shared."""
    return rows.reshape(kv_heads, -1, *rows.shape[1:]).repeat_interleave(heads // kv_heads, 0).flatten(0, 1)


def zeros_like_rows(matrix: Tensor) -> Tensor:
    return matrix.new_zeros(matrix.size(0))


def check_numbers(quantisation: str, tensors: dict[str, Tensor]) -> None:
    """Half precision ends at 65,504: larger weights would become infinite."""
    if quantisation == "float16":
        for name, tensor in tensors.items():
            if float(tensor.abs().max()) > 65504:
                raise WeftError(f"{name} has weights beyond the largest number of float16; use --quantize float32.")
