"""CTranslate2 (github.com/OpenNMT/CTranslate2): a small, fast engine in C++ that runs finished Transformers.

It knows one architecture with a few switches. What differs only in shape is brought into that shape, exactly: heads
whose keys and values are unequally wide are filled up with zeros, and whatever a position part does to an embedding is
a table that is added.
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
from weft.errors import WeftError
from weft.models.base import Model
from weft.parts.attention import Attention
from weft.parts.feed_forward import FeedForward
from weft.parts.frontend import Frontend
from weft.parts.layers import Sublayer
from weft.plans.catalogue import Catalogue
from weft.plans.part import Part
from weft.plans.plan import Plan
from weft.plans.rules import every_part
from weft.plans.size import outline

# For each slot the parts that CTranslate2 has, and of each the options that are carried over or end with training.
EXPRESSIBLE: dict[str, dict[str, set[str]]] = {
    "mixer": {"attention": {"heads", "key_width", "value_width", "dropout", "position", "pattern"}},
    "mixer.position": {"none": set()},
    "mixer.pattern": {"full": set()},
    "cross": {"attention": {"heads", "key_width", "value_width", "dropout"}},
    "feed_forward": {
        "mlp": {"hidden", "activation", "dropout"},
        **{gated: {"hidden", "dropout"} for gated in ("glu", "reglu", "geglu", "swiglu")},
    },
    "activation": {"relu": set(), "gelu": set(), "swish": set(), "sigmoid": set(), "tanh": set()},
    "norm": {"layer": {"epsilon"}, "rms": {"epsilon"}},
    "join": {"add": set()},
    "wiring": {"pre": set(), "post": set()},
    "encoder.stack": {"plain": set()},
    "decoder.stack": {"plain": set()},
    "embedding": {"scaled": set()},
    "position": {"sinusoid": set(), "concatenated": {"features"}, "learned": {"limit"}, "none": set()},
    "head": {"tied": {"smoothing"}, "linear": {"smoothing"}},
}
ACTIVATIONS = {
    nn.ReLU: common_spec.Activation.RELU,
    nn.GELU: common_spec.Activation.GELU,
    nn.SiLU: common_spec.Activation.SWISH,
    nn.Sigmoid: common_spec.Activation.Sigmoid,
    nn.Tanh: common_spec.Activation.Tanh,
}


def refuse_inexpressible(plan: Plan) -> None:
    """Raise one error that names every slot in which CTranslate2 has nothing like what the plan has."""
    wrong = dict.fromkeys(_foreign_parts(plan)) or list(_mixtures(outline(plan)))  # layers may be alike: said once
    if wrong:
        listed = "\n".join(f"  {line}" for line in wrong)
        raise WeftError(f"plan {plan.name!r} cannot be exported to ctranslate2:\n{listed}")


@torch.no_grad()
def specification(plan: Plan, model: Model, tokeniser: Subwords) -> Any:
    """The model as CTranslate2 wants it, ready to be saved; its vocabulary has our pieces under our ids."""
    refuse_inexpressible(plan)
    rows = longest_output(plan)
    source, target = model.sides["encoder"], model.sides["decoder"]
    encoder = transformer_spec.TransformerEncoderSpec(**_switches(source.stack))
    decoder = transformer_spec.TransformerDecoderSpec(**_switches(target.stack))
    spec = specs.TransformerSpec(encoder, decoder)
    _fill_frontend(encoder, encoder.embeddings[0], source.frontend, rows)
    _fill_frontend(decoder, decoder.embeddings, target.frontend, rows)
    _fill_stack(encoder, source.stack)
    _fill_stack(decoder, target.stack)
    projection = model.head.projection()
    assert projection is not None, "EXPRESSIBLE lists heads that are a projection and a softmax"
    decoder.projection.weight, decoder.projection.bias = projection

    pieces = [str(tokeniser.pieces.id_to_token(i)) for i in range(len(tokeniser))]
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    _, start, end, unused = SPECIAL_TOKENS
    spec.config.bos_token, spec.config.decoder_start_token, spec.config.eos_token = start, start, end
    spec.config.unk_token = unused  # one is wanted, and nothing is ever unknown
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = next(norm.eps for norm in _norms(model))
    spec.validate()
    return spec


def longest_output(plan: Plan) -> int:
    """Tokens of the longest translation that weft would write: what the table of positions must hold."""
    limit = outline(plan).limits["target"]
    return limit or 2 * plan.training.longest + 20


def _foreign_parts(plan: Plan) -> Iterator[str]:
    for where, catalogue, part in every_part(plan):
        if where not in ("init", "training.schedule", "training.batching"):  # a trained model has these behind it
            yield from _foreign(where, catalogue, part)


def _foreign(where: str, catalogue: Catalogue[Any], part: Part) -> Iterator[str]:
    known = EXPRESSIBLE.get(catalogue.slot, {})
    if part.name not in known:
        allowed = ", ".join(map(repr, known)) or f"no {catalogue.slot}"
        yield f"{where} is {part.name!r}, and CTranslate2 has {allowed} only."
        return
    for option, value in part.options.items():
        if option not in known[part.name]:
            yield f"{where} sets {option}, and CTranslate2 has no such option."
        elif option in catalogue.inner:
            yield from _foreign(f"{where}.{option}", catalogue.inner[option], Part.read(value, where))


def _mixtures(model: Model) -> Iterator[str]:
    """Where layers differ in what CTranslate2 says once: a stack's heads and activation, the model's ε."""
    for side, stack in ((name, side.stack) for name, side in model.sides.items()):
        heads = sorted({m.heads for m in stack.modules() if isinstance(m, Attention)})
        if len(heads) > 1:
            slots = "mixer" if side == "encoder" else "mixer and decoder.cross"
            yield f"{side}.{slots} have {_listed(heads)} heads, and in CTranslate2 all of a stack have equally many."
        gates = sorted({type(m.activations[0]).__name__ for m in stack.modules() if isinstance(m, FeedForward)})
        if len(gates) > 1:
            yield f"{side}.feed_forward has {_listed(gates)}, and in CTranslate2 a stack has one activation."
    epsilons = sorted({norm.eps for norm in _norms(model)})
    if len(epsilons) > 1:
        yield f"encoder.norm and decoder.norm have {_listed(epsilons)} as ε, and in CTranslate2 a model has one."


def _listed(values: list[Any]) -> str:
    return " and ".join(map(str, values))


def _norms(model: nn.Module) -> list[Any]:
    return [m for m in model.modules() if isinstance(m, nn.LayerNorm | nn.RMSNorm)]


def _switches(stack: Any) -> dict[str, Any]:
    first = stack.layers[0]
    return {
        "num_layers": len(stack.layers),
        "num_heads": first.mix.body.heads,
        "pre_norm": first.mix.wiring.open_ended,
        "activation": ACTIVATIONS[type(first.feed.body.activations[0])],
    }


def _fill_frontend(spec: Any, embeddings: Any, entrance: Frontend, rows: int) -> None:
    features, embedding = entrance.position.features, entrance.embedding
    assert isinstance(embedding, nn.Embedding)
    embeddings.weight = F.pad(embedding.weight, (0, features))  # where positions are concatenated: room for them
    spec.scale_embeddings = math.sqrt(embedding.embedding_dim)
    nothing = torch.zeros(1, rows, embedding.embedding_dim)
    spec.position_encodings.encodings = entrance.position(nothing, None)[0].contiguous()  # (rows, D)


def _fill_stack(spec: Any, stack: Any) -> None:
    for target, layer in zip(spec.layer, stack.layers, strict=True):
        _fill_attention(target.self_attention, layer.mix)
        if "cross" in layer.order:
            _fill_attention(target.attention, layer.cross)
        _fill_feed_forward(target, layer.feed)
    if layer.mix.wiring.open_ended:
        spec.layer_norm = _norm(stack.closing)


def _fill_attention(spec: Any, sublayer: Sublayer) -> None:
    attention = sublayer.body
    assert isinstance(attention, Attention)
    H, width = attention.heads, max(attention.widths) // attention.heads
    weights, biases = (
        [_widened(some, H, width) for some in torch.split(whole, attention.widths)]
        for whole in (attention.project.weight, attention.project.bias)
    )
    *inputs, out = spec.linear  # q, k, v as one matrix in self-attention, else q and k, v
    cuts = [slice(0, 3)] if len(inputs) == 1 else [slice(0, 1), slice(1, 3)]
    for target, cut in zip(inputs, cuts, strict=True):
        target.weight, target.bias = torch.cat(weights[cut]), torch.cat(biases[cut])
    out.weight, out.bias = _widened(attention.out.weight.T, H, width).T.contiguous(), attention.out.bias
    spec.queries_scale = 1 / math.sqrt(attention.widths[0] // H)
    spec.layer_norm = _norm(sublayer.wiring.norm)


def _widened(rows: Tensor, heads: int, width: int) -> Tensor:
    """(H · K, …) → (H · width, …): zeros add nothing to a score in keys and queries, and nothing to a sum in values."""
    each = rows.reshape(heads, -1, *rows.shape[1:])  # (H, K, …)
    wide = each.new_zeros(heads, width, *rows.shape[1:])
    wide[:, : each.size(1)] = each
    return wide.flatten(0, 1)


def _fill_feed_forward(layer: Any, sublayer: Sublayer) -> None:
    product = sublayer.body
    assert isinstance(product, FeedForward)
    spec = layer.ffn = transformer_spec.FeedForwardSpec(glu=len(product.activations) == 2)
    inputs = [spec.linear_0] if len(product.activations) == 1 else [spec.linear_0, spec.linear_0_noact]
    parts = zip(product.project.weight.chunk(len(inputs)), product.project.bias.chunk(len(inputs)))
    for target, (weight, bias) in zip(inputs, parts, strict=True):
        target.weight, target.bias = weight, bias
    spec.linear_1.weight, spec.linear_1.bias = product.out.weight, product.out.bias
    spec.layer_norm = _norm(sublayer.wiring.norm)


def _norm(norm: Any) -> Any:
    is_rms = isinstance(norm, nn.RMSNorm)
    spec = common_spec.LayerNormSpec(rms_norm=is_rms)
    spec.gamma = norm.weight
    if not is_rms:
        spec.beta = norm.bias
    return spec
