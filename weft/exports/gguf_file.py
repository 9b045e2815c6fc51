"""Export of a decoder alone in the shape of Llama to GGUF, the file that llama.cpp and what is built on it read.

llama.cpp is not a Python package, so the check reads the file back as `weft import` would: numbers, order and
vocabulary are compared with the model, but by weft itself.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from weft.data.codecs import TextCodec
from weft.errors import WeftError
from weft.exports.continuations import likeliest, log_probs
from weft.exports.huggingface import llama_layer
from weft.exports.public_shapes import Parts, check_numbers, parts_of_decoder, shape_of
from weft.exports.vocabulary import Vocabulary, vocabulary_of
from weft.imports.gguf_file import read_gguf
from weft.imports.llama import GGUF
from weft.imports.shape import neighbours
from weft.imports.tokenisers import SPLITS, Piece, cut
from weft.models.base import Generative, Model
from weft.plans.plan import Plan
from weft.plans.size import outline
from weft.weights import parameters

QUANTISATIONS = ("float32", "float16")
FIRST_WORDS = None  # the file is read back here
FILE = "model.gguf"
README = """\
# {name} as GGUF

A model of weft in the shape of Llama, weights as {quantisation}. With llama.cpp:

```console
$ llama-cli -m model.gguf -p "Once upon a time" -n 50 -no-cnv
```

The model sees at most {context} tokens at once.
"""


def refuse_inexpressible(plan: Plan) -> None:
    """Raise one error that names every slot of the plan that a Llama does not have."""
    shape_of(plan, "gguf", ("Llama",))


def write(
    plan: Plan, model: Model, codec: TextCodec, about: Mapping[str, Any], folder: Path, quantisation: str
) -> None:
    refuse_inexpressible(plan)
    parts, vocabulary = parts_of_decoder(plan, model), vocabulary_of(codec)
    writer = gguf.GGUFWriter(folder / FILE, "llama")
    writer.add_name(plan.name)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32 if quantisation == "float32" else gguf.LlamaFileType.MOSTLY_F16)
    _add_sizes(writer, plan, parts)
    _add_vocabulary(writer, codec, vocabulary)
    writer.add_add_bos_token(bool(about.get("starts")))
    if isinstance(template := about.get("chat_template"), str):
        writer.add_chat_template(template)
    tensors = {name: tensor.detach() for name, tensor in _tensors(parts)}
    check_numbers(quantisation, tensors)
    for name, tensor in tensors.items():
        kind = quantisation if tensor.dim() > 1 else "float32"  # norms and biases stay as they are, as llama.cpp does
        writer.add_tensor(name, np.ascontiguousarray(tensor.numpy().astype(kind)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    text = README.format(name=plan.name, quantisation=quantisation, context=parts.context)
    (folder / "README.md").write_text(text, encoding="utf-8")


def _add_sizes(writer: Any, plan: Plan, parts: Parts) -> None:
    writer.add_context_length(parts.context)
    writer.add_embedding_length(plan.width)
    writer.add_block_count(len(parts.layers))
    writer.add_feed_forward_length(parts.hidden)
    writer.add_head_count(parts.heads)
    writer.add_head_count_kv(parts.kv_heads)
    writer.add_key_length(parts.key_width)
    writer.add_value_length(parts.key_width)
    writer.add_rope_dimension_count(parts.key_width)
    writer.add_rope_freq_base(parts.base)
    writer.add_layer_norm_rms_eps(parts.epsilon)
    writer.add_vocab_size(parts.embedding.size(0))


def _tensors(parts: Parts) -> Iterator[tuple[str, Tensor]]:
    """Under the names of GGUF, the rotary pairs of queries and keys next to each other."""
    names = {what: name.removeprefix("blk.{}.") for what, name in GGUF.items()}
    heads = {names["query"]: parts.heads, names["key"]: parts.kv_heads}
    yield f"{GGUF['embedding']}.weight", parts.embedding
    for i, layer in enumerate(parts.layers):
        for name, tensor in llama_layer(layer, names):
            groups = heads.get(name.rpartition(".")[0])
            yield f"blk.{i}.{name}", neighbours(tensor, groups) if groups else tensor
    yield f"{GGUF['norm']}.weight", parts.closing.weight
    if parts.head is not None:
        yield f"{GGUF['head']}.weight", parts.head


def _add_vocabulary(writer: Any, codec: TextCodec, vocabulary: Vocabulary) -> None:
    file = json.loads(vocabulary.tokenizer.to_str())
    kinds = [Piece.NORMAL] * len(vocabulary.tokens)
    for i, token in enumerate(vocabulary.tokens):
        if vocabulary.tokenizer.token_to_id(token) != i:
            kinds[i] = Piece.UNUSED
    for added in file["added_tokens"]:
        kinds[added["id"]] = Piece.CONTROL if added["special"] else Piece.USER
    merges = [tuple(pair) for pair in file["model"].get("merges", ())]
    if file["model"].get("byte_fallback"):
        _add_scores(writer, vocabulary, merges, kinds, file)
    else:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(_split(vocabulary.tokenizer, codec))
        writer.add_token_list(list(vocabulary.tokens))
        writer.add_token_types(kinds)
        writer.add_token_merges([f"{left} {right}" for left, right in merges])
    writer.add_bos_token_id(codec.special.start)
    writer.add_eos_token_id(codec.special.end)
    if vocabulary.pad is not None:
        writer.add_pad_token_id(codec.special.pad)


def _add_scores(
    writer: Any, vocabulary: Vocabulary, merges: Sequence[tuple[str, ...]], kinds: list[int], file: Mapping[str, Any]
) -> None:
    """A piece scores the better, the earlier it is merged."""
    scores = [0.0] * len(vocabulary.tokens)
    ids = {token: i for i, token in enumerate(vocabulary.tokens)}
    for rank, pair in reversed(list(enumerate(merges))):
        scores[ids["".join(pair)]] = -float(rank)
    for token, i in ids.items():
        if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
            kinds[i] = Piece.BYTE
    if (unknown := file["model"].get("unk_token")) in ids:
        kinds[ids[unknown]] = Piece.UNKNOWN
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(list(vocabulary.tokens))
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_add_space_prefix('"Prepend"' in json.dumps(file.get("normalizer")))


def _split(tokenizer: Tokenizer, codec: TextCodec) -> str:
    """What GGUF calls the way in which texts are cut into words."""
    ours = _plain(json.loads(tokenizer.to_str())["pre_tokenizer"])
    for name in SPLITS:
        other = Tokenizer.from_str(tokenizer.to_str())
        other.pre_tokenizer = cut(name)
        if _plain(json.loads(other.to_str())["pre_tokenizer"]) == ours:
            return name
    raise WeftError(
        f"GGUF has no pre-tokeniser like that of codec {codec.name!r}; supported: "
        f"{', '.join(SPLITS)} and SentencePiece."
    )


def _plain(step: Any) -> Any:
    """A pre-tokeniser without what changes no ids."""
    if isinstance(step, dict):
        return {key: _plain(value) for key, value in step.items() if key != "trim_offsets"}
    return [_plain(value) for value in step] if isinstance(step, list) else step


class Engine:
    """The exported file, read back."""

    def __init__(self, folder: Path):
        found = read_gguf(folder / FILE)
        self.codec = found.codec
        model = outline(found.shape.plan, "cpu").eval()
        with torch.no_grad():
            for name, parameter in parameters(model).items():
                parameter.copy_(found.shape.weights[name])
        assert isinstance(model, Generative)
        self.model = model

    def encode(self, text: str) -> list[int]:
        return self.codec.encode(text)

    def log_probs(self, ids: Sequence[int]) -> list[float]:
        return log_probs(self.model, ids)

    def continuation(self, ids: Sequence[int], count: int) -> list[int]:
        return likeliest(self.model, ids, count, self.codec.special.end)
