"""The shape of GPT-2 (Radford et al. 2019): learned positions, layer norm, GELU, a head tied to the embedding.

Its matrices are (in, out), as in `x @ W`; weft's are torch's, (out, in).
"""

from collections.abc import Iterator

from torch import Tensor

from weft.imports.facts import Facts
from weft.imports.shape import Shape, decoder_plan
from weft.imports.tensors import Tensors

ACTIVATIONS = {"gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh", "gelu": "gelu", "relu": "relu"}
ACTIVATIONS |= {"silu": "swish", "swish": "swish", "tanh": "tanh"}
IGNORED = r"\.attn\.(masked_)?bias$|^lm_head\.weight$"  # masks, and a tied head


def gpt2(config: Facts, tensors: Tensors, is_transposed: bool = True) -> Shape:
    """Map a GPT-2. `is_transposed`: matrices are (in, out), as OpenAI and Hugging Face store them."""
    width, layers, heads = config.whole("n_embd"), config.layers("n_layer"), config.whole("n_head")
    context, vocabulary = config.whole("n_positions", 1024), config.whole("vocab_size")
    hidden, epsilon = config.whole("n_inner", 4 * width), config.real("layer_norm_epsilon", 1e-5)
    is_tied = config.flag("tie_word_embeddings", True)
    config.must_be("scale_attn_weights", [True], "mixer")
    config.must_be("scale_attn_by_inverse_layer_idx", [False], "mixer")
    config.must_be("add_cross_attention", [False], "cross")
    activation = config.one_of("activation_function", ACTIVATIONS, "feed_forward.activation", "gelu_new")
    config.refuse()
    config.fit(width % heads == 0, f"mixer.heads: {heads} heads do not divide a width of {width}.")
    settings = {
        "width": width,
        "vocabulary": vocabulary,
        "position": {"name": "learned", "limit": context},
        "head": {"name": "tied" if is_tied else "linear", "bias": False},
        "decoder.layers": layers,
        "decoder.dropout": config.rate("resid_pdrop"),
        "decoder.mixer": {"name": "attention", "heads": heads, "dropout": config.rate("attn_pdrop")},
        "decoder.feed_forward": {"name": "mlp", "hidden": hidden, "activation": activation},
        "decoder.norm": {"name": "layer", "epsilon": epsilon},
    }
    plan = decoder_plan(config, context, settings)
    prefix = "transformer." if "transformer.wte.weight" in tensors else ""

    def matrix(name: str, rows: int, columns: int) -> Tensor:
        found = tensors.take(f"{prefix}{name}.weight", *((columns, rows) if is_transposed else (rows, columns)))
        return found.T if is_transposed else found

    def vector(name: str, size: int = width) -> Tensor:
        return tensors.take(f"{prefix}{name}", size)

    def named() -> Iterator[tuple[str, Tensor]]:
        yield "tokens.embedding.weight", tensors.take(f"{prefix}wte.weight", vocabulary, width)
        yield "tokens.position.table.weight", tensors.take(f"{prefix}wpe.weight", context, width)
        for i in range(layers):
            ours, theirs = f"decoder.layers.{i}", f"h.{i}"
            for sublayer, norm in (("mix", "ln_1"), ("feed", "ln_2")):
                for kind in ("weight", "bias"):
                    yield f"{ours}.{sublayer}.wiring.norm.{kind}", vector(f"{theirs}.{norm}.{kind}")
            for name, source, rows, columns in (
                ("mix.body.project", "attn.c_attn", 3 * width, width),
                ("mix.body.out", "attn.c_proj", width, width),
                ("feed.body.project", "mlp.c_fc", hidden, width),
                ("feed.body.out", "mlp.c_proj", width, hidden),
            ):
                yield f"{ours}.{name}.weight", matrix(f"{theirs}.{source}", rows, columns)
                yield f"{ours}.{name}.bias", vector(f"{theirs}.{source}.bias", rows)
        for kind in ("weight", "bias"):
            yield f"decoder.closing.{kind}", vector(f"ln_f.{kind}")
        if not is_tied:
            yield "head.words.weight", tensors.take("lm_head.weight", vocabulary, width)

    weights = dict(named())
    tensors.refuse(IGNORED)
    return Shape(plan, weights, context)
