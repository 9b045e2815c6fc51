"""The shape of Llama (Touvron et al. 2023, arXiv:2302.13971): rotary positions, RMS norm, SwiGLU, no biases.

Three kinds of files have it under different names. In two of them the rotary pairs of queries and keys are adjacent;
in weft and Hugging Face they are half a head apart, so their rows are reordered.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch import Tensor

from weft.imports.facts import Facts
from weft.imports.shape import Shape, decoder_plan, halves, stacked
from weft.imports.tensors import Tensors

# The names of tensors by role; {} is the layer.
HUGGINGFACE = {
    "embedding": "model.embed_tokens",
    "query": "model.layers.{}.self_attn.q_proj",
    "key": "model.layers.{}.self_attn.k_proj",
    "value": "model.layers.{}.self_attn.v_proj",
    "out": "model.layers.{}.self_attn.o_proj",
    "mix_norm": "model.layers.{}.input_layernorm",
    "gate": "model.layers.{}.mlp.gate_proj",
    "up": "model.layers.{}.mlp.up_proj",
    "down": "model.layers.{}.mlp.down_proj",
    "feed_norm": "model.layers.{}.post_attention_layernorm",
    "norm": "model.norm",
    "head": "lm_head",
}
GGUF = {
    "embedding": "token_embd",
    "query": "blk.{}.attn_q",
    "key": "blk.{}.attn_k",
    "value": "blk.{}.attn_v",
    "out": "blk.{}.attn_output",
    "mix_norm": "blk.{}.attn_norm",
    "gate": "blk.{}.ffn_gate",
    "up": "blk.{}.ffn_up",
    "down": "blk.{}.ffn_down",
    "feed_norm": "blk.{}.ffn_norm",
    "norm": "output_norm",
    "head": "output",
}


@dataclass(frozen=True)
class Sizes:
    """The sizes of a Llama."""

    width: int
    layers: int
    heads: int
    kv_heads: int
    key_width: int
    hidden: int
    vocabulary: int
    context: int
    base: float = 10000.0  # of the rotary positions
    epsilon: float = 1e-5
    is_tied: bool = False
    mixer_bias: bool = False
    feed_bias: bool = False
    dropout: float = 0.0  # of attention weights

    def problems(self) -> Iterator[str]:
        if self.heads % self.kv_heads:
            yield f"mixer.kv_heads: {self.kv_heads} heads of keys and values do not divide {self.heads} heads."
        if self.key_width % 2:
            yield f"mixer.position: rotary pairs need an even head width, not {self.key_width}."

    def settings(self) -> dict[str, object]:
        mixer: dict[str, object] = {"name": "attention", "heads": self.heads, "bias": self.mixer_bias}
        if self.kv_heads != self.heads:
            mixer["kv_heads"] = self.kv_heads
        if self.key_width * self.heads != self.width:
            mixer |= {"key_width": self.key_width, "value_width": self.key_width}
        return {
            "width": self.width,
            "vocabulary": self.vocabulary,
            "position": "none",
            "head": {"name": "tied" if self.is_tied else "linear", "bias": False},
            "decoder.layers": self.layers,
            "decoder.dropout": 0.0,
            "decoder.mixer": {
                **mixer,
                "dropout": self.dropout,
                "position": {"name": "rotary", "base": self.base},
            },
            "decoder.feed_forward": {"name": "swiglu", "hidden": self.hidden, "bias": self.feed_bias},
            "decoder.norm": {"name": "rms", "epsilon": self.epsilon},
        }


IGNORED = r"rotary_emb\.inv_freq$"  # tables computed from the base


def llama(facts: Facts, sizes: Sizes, tensors: Tensors, names: Mapping[str, str], are_neighbours: bool) -> Shape:
    """Map a Llama. `are_neighbours`: the rotary pairs of queries and keys are adjacent."""
    facts.wrong += sizes.problems()
    plan = decoder_plan(facts, sizes.context, sizes.settings())
    D, K, queries, keys = sizes.width, sizes.key_width, sizes.heads * sizes.key_width, sizes.kv_heads * sizes.key_width

    def take(what: str, i: int | None, kind: str, *shape: int) -> Tensor:
        return tensors.take(f"{names[what].format(i)}.{kind}", *shape)

    def turned(rows: Tensor) -> Tensor:
        return halves(rows, rows.size(0) // K) if are_neighbours else rows

    def projections(i: int, has_bias: bool, kind: str) -> Iterator[tuple[str, Tensor]]:
        """All matrices of a layer, or all biases."""
        into, inner = ((D,), (sizes.hidden,)) if kind == "weight" else ((), ())
        if has_bias or kind == "weight":
            query, key = take("query", i, kind, queries, *into), take("key", i, kind, keys, *into)
            yield "mix.body.project", stacked(turned(query), turned(key), take("value", i, kind, keys, *into))
            yield "mix.body.out", take("out", i, kind, D, *((queries,) if into else ()))
        if sizes.feed_bias or kind == "weight":
            both = [take(what, i, kind, sizes.hidden, *into) for what in ("gate", "up")]
            yield "feed.body.project", stacked(*both)
            yield "feed.body.out", take("down", i, kind, D, *inner)

    def named() -> Iterator[tuple[str, Tensor]]:
        yield "tokens.embedding.weight", take("embedding", None, "weight", sizes.vocabulary, D)
        for i in range(sizes.layers):
            ours = f"decoder.layers.{i}"
            for kind in ("weight", "bias"):
                for name, tensor in projections(i, sizes.mixer_bias, kind):
                    yield f"{ours}.{name}.{kind}", tensor
            yield f"{ours}.mix.wiring.norm.weight", take("mix_norm", i, "weight", D)
            yield f"{ours}.feed.wiring.norm.weight", take("feed_norm", i, "weight", D)
        yield "decoder.closing.weight", take("norm", None, "weight", D)
        if not sizes.is_tied:
            yield "head.words.weight", take("head", None, "weight", sizes.vocabulary, D)

    weights = dict(named())
    tensors.refuse(rf"{IGNORED}|^{names['head']}\.weight$" if sizes.is_tied else IGNORED)
    return Shape(plan, weights, sizes.context)
