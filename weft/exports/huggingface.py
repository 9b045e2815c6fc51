"""Export of a decoder alone to a folder that `transformers` loads: as GPT-2 or as Llama, with its tokeniser."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, processors
from torch import Tensor

from weft.data.codecs import TextCodec
from weft.exports.public_shapes import (
    Parts,
    PublicLayer,
    check_numbers,
    parts_of_decoder,
    repeated,
    shape_of,
    zeros_like_rows,
)
from weft.exports.vocabulary import Vocabulary, vocabulary_of
from weft.models.base import Model
from weft.plans.plan import Plan, parts_of
from weft.weights import save_weights

QUANTISATIONS = ("float32", "float16")
FIRST_WORDS = None  # it computes with torch, as weft does
ACTIVATIONS = {"gelu-tanh": "gelu_new", "swish": "silu"}  # where their names differ
CLASSES = {"GPT-2": "GPT2LMHeadModel", "Llama": "LlamaForCausalLM"}
README = """\
# {name} for transformers

A model of weft in the shape of {shape}, weights as {quantisation}. In this folder, with
`pip install transformers torch`:

```python
from transformers import pipeline

write = pipeline("text-generation", ".")
print(write("Once upon a time", max_new_tokens=50, do_sample=True, top_k=10)[0]["generated_text"])
```

The model sees at most {context} tokens at once.
"""


def refuse_inexpressible(plan: Plan) -> None:
    """Raise one error that names every slot of the plan that is in neither shape."""
    shape_of(plan, "huggingface")


def write(
    plan: Plan, model: Model, codec: TextCodec, about: Mapping[str, Any], folder: Path, quantisation: str
) -> None:
    shape, parts, vocabulary = shape_of(plan, "huggingface"), parts_of_decoder(plan, model), vocabulary_of(codec)
    made = {"GPT-2": gpt2, "Llama": _llama}[shape]
    config, tensors = made(plan, parts)
    weights = {name: tensor.detach().clone().contiguous() for name, tensor in tensors}  # none shares memory
    check_numbers(quantisation, weights)
    save_weights(
        {name: _stored(tensor, quantisation) for name, tensor in weights.items()}, folder / "model.safetensors"
    )
    special = {"bos_token_id": codec.special.start, "eos_token_id": _ends(codec, about)}
    if vocabulary.pad is not None:
        special["pad_token_id"] = codec.special.pad
    whole = {**config, **special, "architectures": [CLASSES[shape]], "dtype": quantisation}
    _write_json(folder / "config.json", whole)
    _write_json(folder / "generation_config.json", special)
    _write_tokeniser(vocabulary, about, folder, parts.context, codec.special.start)
    text = README.format(name=plan.name, shape=shape, quantisation=quantisation, context=parts.context)
    (folder / "README.md").write_text(text, encoding="utf-8")


def _stored(tensor: Tensor, quantisation: str) -> Tensor:
    return tensor if quantisation == "float32" else torch.from_numpy(tensor.numpy().astype(quantisation))


def _ends(codec: TextCodec, about: Mapping[str, Any]) -> int | list[int]:
    """The end token; several where the model came with several."""
    ends = about.get("ends")
    return ends if isinstance(ends, list) else codec.special.end


def gpt2(plan: Plan, parts: Parts) -> tuple[dict[str, Any], Iterator[tuple[str, Tensor]]]:
    [feed, *_] = parts_of(plan.decoder.feed_forward)
    activation = str(feed.options.get("activation", "relu"))
    config = {
        "model_type": "gpt2",
        "vocab_size": parts.embedding.size(0),
        "n_positions": parts.context,
        "n_embd": plan.width,
        "n_layer": len(parts.layers),
        "n_head": parts.heads,
        "n_inner": parts.hidden,
        "activation_function": ACTIVATIONS.get(activation, activation),
        "layer_norm_epsilon": parts.epsilon,
        "tie_word_embeddings": parts.head is None,
    }

    def named() -> Iterator[tuple[str, Tensor]]:
        yield "transformer.wte.weight", parts.embedding
        yield "transformer.wpe.weight", parts.table
        for i, layer in enumerate(parts.layers):
            for name, tensor in _gpt2_layer(layer, parts):
                yield f"transformer.h.{i}.{name}", tensor
        yield "transformer.ln_f.weight", parts.closing.weight
        yield "transformer.ln_f.bias", parts.closing.bias
        if parts.head is not None:
            yield "lm_head.weight", parts.head

    return config, named()


def _gpt2_layer(layer: PublicLayer, parts: Parts) -> Iterator[tuple[str, Tensor]]:
    """Matrices lie (in, out) there, and every head has keys and values of its own."""
    matrices = (layer.query, layer.key, layer.value)
    biases = layer.biases or tuple(zeros_like_rows(matrix) for matrix in matrices)
    for kind, (query, key, value) in (("weight", matrices), ("bias", biases)):
        key, value = (repeated(rows, parts.kv_heads, parts.heads) for rows in (key, value))
        whole = torch.cat((query, key, value))
        yield f"attn.c_attn.{kind}", whole.T if kind == "weight" else whole
    linears = ("attn.c_proj", layer.out), ("mlp.c_fc", layer.feed.project), ("mlp.c_proj", layer.feed.out)
    for name, linear in linears:
        yield f"{name}.weight", linear.weight.T
        yield f"{name}.bias", zeros_like_rows(linear.weight) if linear.bias is None else linear.bias
    for name, norm in (("ln_1", layer.mix_norm), ("ln_2", layer.feed_norm)):
        yield f"{name}.weight", norm.weight
        yield f"{name}.bias", norm.bias


def _llama(plan: Plan, parts: Parts) -> tuple[dict[str, Any], Iterator[tuple[str, Tensor]]]:
    config = {
        "model_type": "llama",
        "vocab_size": parts.embedding.size(0),
        "hidden_size": plan.width,
        "intermediate_size": parts.hidden,
        "num_hidden_layers": len(parts.layers),
        "num_attention_heads": parts.heads,
        "num_key_value_heads": parts.kv_heads,
        "head_dim": parts.key_width,
        "hidden_act": "silu",
        "max_position_embeddings": parts.context,
        "rms_norm_eps": parts.epsilon,
        "rope_theta": parts.base,
        "rope_parameters": {"rope_type": "default", "rope_theta": parts.base},
        "tie_word_embeddings": parts.head is None,
        "attention_bias": parts.layers[0].biases is not None,
        "mlp_bias": parts.layers[0].feed.out.bias is not None,
    }

    def named() -> Iterator[tuple[str, Tensor]]:
        yield "model.embed_tokens.weight", parts.embedding
        for i, layer in enumerate(parts.layers):
            for name, tensor in llama_layer(layer, LLAMA_NAMES):
                yield f"model.layers.{i}.{name}", tensor
        yield "model.norm.weight", parts.closing.weight
        if parts.head is not None:
            yield "lm_head.weight", parts.head

    return config, named()


LLAMA_NAMES = {
    "query": "self_attn.q_proj",
    "key": "self_attn.k_proj",
    "value": "self_attn.v_proj",
    "out": "self_attn.o_proj",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
    "mix_norm": "input_layernorm",
    "feed_norm": "post_attention_layernorm",
}


def llama_layer(layer: PublicLayer, names: Mapping[str, str]) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a layer under these names."""
    for i, what in enumerate(("query", "key", "value")):
        yield f"{names[what]}.weight", getattr(layer, what)
        if layer.biases is not None:
            yield f"{names[what]}.bias", layer.biases[i]
    yield f"{names['out']}.weight", layer.out.weight
    yield f"{names['down']}.weight", layer.feed.out.weight
    if layer.out.bias is not None:
        yield f"{names['out']}.bias", layer.out.bias
    for kind in ("weight", "bias"):
        if (whole := getattr(layer.feed.project, kind)) is not None:
            for what, tensor in zip(("gate", "up"), whole.chunk(2)):
                yield f"{names[what]}.{kind}", tensor
    if layer.feed.out.bias is not None:
        yield f"{names['down']}.bias", layer.feed.out.bias
    yield f"{names['mix_norm']}.weight", layer.mix_norm.weight
    yield f"{names['feed_norm']}.weight", layer.feed_norm.weight


def _write_tokeniser(vocabulary: Vocabulary, about: Mapping[str, Any], folder: Path, context: int, start: int) -> None:
    """Prompts begin with the start token where those of weft do."""
    tokenizer, starts = vocabulary.tokenizer, bool(about.get("starts"))
    if starts and tokenizer.encode("").ids[:1] != [start]:
        sign = (vocabulary.start, start)
        tokenizer.post_processor = processors.TemplateProcessing(f"{sign[0]} $A", special_tokens=[sign])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": vocabulary.start,
        "eos_token": vocabulary.end,
        "add_bos_token": starts,
        "model_max_length": context,
        "clean_up_tokenization_spaces": False,
        **({"pad_token": vocabulary.pad} if vocabulary.pad is not None else {}),
        **({"chat_template": about["chat_template"]} if isinstance(about.get("chat_template"), str) else {}),
    }
    _write_json(folder / "tokenizer_config.json", config)


def _write_json(file: Path, data: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


class Engine:
    """The exported folder, as transformers loads it."""

    def __init__(self, folder: Path):
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        self.model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        self.model.eval()  # type: ignore[no-untyped-call]
        self.tokeniser: Any = AutoTokenizer.from_pretrained(folder)
        self.library = Tokenizer.from_str(self.tokeniser.backend_tokenizer.to_str())
        self.library.encode_special_tokens = True

    def encode(self, text: str) -> list[int]:
        return list(self.library.encode(text, add_special_tokens=False).ids)

    @torch.inference_mode()
    def log_probs(self, ids: Sequence[int]) -> list[float]:
        row = torch.tensor([[*ids]])
        if len(ids) < 2:
            return []
        found: Tensor = self.model(row[:, :-1]).logits[0].log_softmax(-1)
        return found.gather(1, row[0, 1:, None])[:, 0].tolist()

    def continuation(self, ids: Sequence[int], count: int) -> list[int]:
        row = torch.tensor([[*ids]])
        found = self.model.generate(
            row, attention_mask=torch.ones_like(row), do_sample=False, max_new_tokens=count, pad_token_id=0
        )
        return found[0, len(ids) :].tolist()  # type: ignore[no-any-return]
