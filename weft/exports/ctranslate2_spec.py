"""Mapping a model to CTranslate2 (github.com/OpenNMT/CTranslate2), a small, fast inference engine in C++.

It knows one architecture with a few switches. What differs only in shape is brought into that shape, exactly: heads
whose keys and values are unequally wide are filled up with zeros, keys and values that several heads share are
repeated, and whatever a position part does to an embedding is a table that is added.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from ctranslate2 import specs
from ctranslate2.specs import common_spec, transformer_spec
from torch import Tensor, nn
from torch.nn import functional as F

from weft.data.codecs.subwords import SPECIAL_TOKENS, Subwords
from weft.exports.expressible import faults, refuse
from weft.models.base import Model
from weft.parts.attention import Attention
from weft.parts.feed_forward import FeedForward
from weft.parts.frontend import Frontend, ScaledEmbedding
from weft.parts.layers import Sublayer
from weft.plans.plan import Plan
from weft.plans.size import outline

# The parts that CTranslate2 has for each slot, and their options that are converted or matter only in training.
EXPRESSIBLE: dict[str, dict[str, set[str]]] = {
    "model": {"encoder-decoder": set()},
    "mixer": {"attention": {"heads", "kv_heads", "key_width", "value_width", "dropout", "bias", "position", "pattern"}},
    "mixer.position": {"none": set()},
    "mixer.pattern": {"full": set()},
    "cross": {"attention": {"heads", "key_width", "value_width", "dropout"}},
    "feed_forward": {
        "mlp": {"hidden", "activation", "dropout", "bias"},
        **{gated: {"hidden", "dropout", "bias"} for gated in ("glu", "reglu", "geglu", "swiglu")},
    },
    "activation": {"relu": set(), "gelu": set(), "gelu-tanh": set(), "swish": set(), "sigmoid": set(), "tanh": set()},
    "norm": {"layer": {"epsilon"}, "rms": {"epsilon"}},
    "join": {"add": set()},
    "wiring": {"pre": set(), "post": set()},
    "encoder.stack": {"plain": set()},
    "decoder.stack": {"plain": set()},
    "embedding": {"scaled": set(), "plain": set()},
    "position": {"sinusoid": set(), "concatenated": {"features"}, "learned": {"limit"}, "none": set()},
    "head": {"tied": {"smoothing", "bias"}, "linear": {"smoothing", "bias"}},
}
NAME = "CTranslate2"
ACTIVATIONS = {
    nn.ReLU: common_spec.Activation.RELU,
    nn.GELU: common_spec.Activation.GELU,
    nn.SiLU: common_spec.Activation.SWISH,
    nn.Sigmoid: common_spec.Activation.Sigmoid,
    nn.Tanh: common_spec.Activation.Tanh,
}


def refuse_inexpressible(plan: Plan) -> None:
    """Raise one error that names every slot of the plan that CTranslate2 cannot express."""
    refuse(plan, "ctranslate2", faults(plan, EXPRESSIBLE, NAME) or list(_mixtures(outline(plan))))


@torch.no_grad()
def specification(plan: Plan, model: Model, tokeniser: Subwords) -> Any:
    """The CTranslate2 specification of a model, ready to be saved, with the same ids for subwords."""
    refuse_inexpressible(plan)
    rows = longest_output(plan)
    source, target = model.sides["encoder"], model.sides["decoder"]
    encoder = transformer_spec.TransformerEncoderSpec(**switches(source.stack))
    decoder = transformer_spec.TransformerDecoderSpec(**switches(target.stack))
    spec = specs.TransformerSpec(encoder, decoder)
    fill_frontend(encoder, encoder.embeddings[0], source.frontend, rows)
    fill_frontend(decoder, decoder.embeddings, target.frontend, rows)
    fill_stack(encoder, source.stack)
    fill_stack(decoder, target.stack)
    projection = model.head.projection()
    assert projection is not None, "EXPRESSIBLE lists heads that are a projection and a softmax"
    decoder.projection.weight, decoder.projection.bias = projection

    pieces = [str(tokeniser.pieces.id_to_token(i)) for i in range(len(tokeniser))]
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    _, start, end, unused = SPECIAL_TOKENS
    spec.config.bos_token, spec.config.decoder_start_token, spec.config.eos_token = start, start, end
    spec.config.unk_token = unused  # required, but nothing is ever unknown
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = next(norm.eps for norm in norms(model))
    spec.validate()
    return spec


def longest_output(plan: Plan) -> int:
    """The most tokens of a translation, which the table of positions must cover."""
    return outline(plan).limits["target"] or 2 * plan.training.longest + 20


def _mixtures(model: Model) -> Iterator[str]:
    """Report layers that differ where CTranslate2 has one value: a stack's heads and activation, the model's ε."""
    for side, stack in ((name, side.stack) for name, side in model.sides.items()):
        heads = sorted({m.heads for m in stack.modules() if isinstance(m, Attention)})
        if len(heads) > 1:
            slots = "mixer" if side == "encoder" else "mixer and decoder.cross"
            yield f"{side}.{slots} have {_listed(heads)} heads, but CTranslate2 needs the same number in every layer."
        gates = sorted(
            {str(m.activations[0]).removesuffix("()") for m in stack.modules() if isinstance(m, FeedForward)}
        )
        if len(gates) > 1:
            yield f"{side}.feed_forward has {_listed(gates)}, but CTranslate2 needs a single activation in a stack."
    epsilons = sorted({norm.eps for norm in norms(model)})
    if len(epsilons) > 1:
        yield f"encoder.norm and decoder.norm have {_listed(epsilons)} as ε, but CTranslate2 needs a single ε."


def _listed(values: list[Any]) -> str:
    return " and ".join(map(str, values))


def norms(model: nn.Module) -> list[Any]:
    return [m for m in model.modules() if isinstance(m, nn.LayerNorm | nn.RMSNorm)]


def switches(stack: Any) -> dict[str, Any]:
    first = stack.layers[0]
    return {
        "num_layers": len(stack.layers),
        "num_heads": first.mix.body.heads,
        "pre_norm": first.mix.wiring.open_ended,
        "activation": _activation(first.feed.body.activations[0]),
    }


def _activation(module: nn.Module) -> Any:
    if isinstance(module, nn.GELU) and module.approximate == "tanh":
        return common_spec.Activation.GELUTanh
    return ACTIVATIONS[type(module)]


def fill_frontend(spec: Any, embeddings: Any, frontend: Frontend, rows: int) -> None:
    features, embedding = frontend.position.features, frontend.embedding
    assert isinstance(embedding, nn.Embedding)
    embeddings.weight = F.pad(embedding.weight, (0, features))  # room for concatenated positions
    spec.scale_embeddings = math.sqrt(embedding.embedding_dim) if isinstance(embedding, ScaledEmbedding) else False
    if not hasattr(spec, "position_encodings"):  # rotary positions need no table
        return
    nothing = torch.zeros(1, rows, embedding.embedding_dim)
    spec.position_encodings.encodings = frontend.position(nothing, None)[0].contiguous()  # (rows, D)


def fill_stack(spec: Any, stack: Any) -> None:
    for target, layer in zip(spec.layer, stack.layers, strict=True):
        fill_attention(target.self_attention, layer.mix)
        if "cross" in layer.order:
            fill_attention(target.attention, layer.cross)
        fill_feed_forward(target, layer.feed)
    if layer.mix.wiring.open_ended:
        spec.layer_norm = layer_norm(stack.closing)


def fill_attention(spec: Any, sublayer: Sublayer) -> None:
    shares = getattr(spec, "num_heads_kv", None)  # where the engine itself shares keys and values among heads
    attention = sublayer.body
    assert isinstance(attention, Attention)
    H, width = attention.heads, max(attention.key_width, attention.value_width)
    groups = H if shares is None else attention.kv_heads
    heads = [H, groups, groups]  # of queries, keys and values
    given = [H, attention.kv_heads, attention.kv_heads]
    *inputs, out = spec.linear  # q, k, v as one matrix in self-attention, else q and k, v
    cuts = [slice(0, 3)] if len(inputs) == 1 else [slice(0, 1), slice(1, 3)]
    for kind, whole in (("weight", attention.project.weight), ("bias", attention.project.bias)):
        if whole is not None:
            some = torch.split(whole, attention.widths)
            rows = [_widened(each, n, width, n // known) for each, n, known in zip(some, heads, given)]
            for target, cut in zip(inputs, cuts, strict=True):
                setattr(target, kind, torch.cat(rows[cut]))
    out.weight = _widened(attention.out.weight.T, H, width).T.contiguous()
    if attention.out.bias is not None:
        out.bias = attention.out.bias
    spec.queries_scale = 1 / math.sqrt(attention.key_width)
    spec.layer_norm = layer_norm(sublayer.wiring.norm)


def _widened(rows: Tensor, heads: int, width: int, sharing: int = 1) -> Tensor:
    """(H / sharing · K, …) → (H · width, …): zeros add nothing to scores and, in values, nothing to averages."""
    each = rows.reshape(heads // sharing, -1, *rows.shape[1:]).repeat_interleave(sharing, 0)  # (H, K, …)
    return torch.cat([each, each.new_zeros(heads, width - each.size(1), *rows.shape[1:])], 1).flatten(0, 1)


def fill_feed_forward(layer: Any, sublayer: Sublayer) -> None:
    product = sublayer.body
    assert isinstance(product, FeedForward)
    spec = layer.ffn = transformer_spec.FeedForwardSpec(glu=len(product.activations) == 2)
    inputs = [spec.linear_0] if len(product.activations) == 1 else [spec.linear_0, spec.linear_0_noact]
    for target, weight in zip(inputs, product.project.weight.chunk(len(inputs)), strict=True):
        target.weight = weight
    spec.linear_1.weight = product.out.weight
    if product.project.bias is not None:
        for target, bias in zip(inputs, product.project.bias.chunk(len(inputs)), strict=True):
            target.bias = bias
        spec.linear_1.bias = product.out.bias
    spec.layer_norm = layer_norm(sublayer.wiring.norm)


def layer_norm(norm: Any) -> Any:
    is_rms = isinstance(norm, nn.RMSNorm)
    spec = common_spec.LayerNormSpec(rms_norm=is_rms)
    spec.gamma = norm.weight
    if not is_rms:
        spec.beta = norm.bias
    return spec
