"""GGUF (github.com/ggml-org/ggml/blob/master/docs/gguf.md): metadata, vocabulary and tensors of llama.cpp in one file.

The header is read here, each length measured against what is left of the file: the `gguf` package believes them, and a
file that lies could keep it busy for ever. Quantised tensors are made floats again by that package.
"""

import mmap
import struct
from collections.abc import Mapping
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.data.codecs import PublicTokeniser
from weft.errors import WeftError, install
from weft.imports.facts import Facts
from weft.imports.llama import GGUF, Sizes, llama
from weft.imports.shape import Found
from weft.imports.tensors import Tensors
from weft.imports.tokenisers import Piece, from_merges, from_scores

MAGIC = b"GGUF"
VERSIONS = (2, 3)
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
MOST_DIMENSIONS = 4
ROTARY_FACTORS = "rope_freqs.weight"


class Cursor:
    """A place in the header of a file. Whatever does not fit into the rest of the file is an error."""

    def __init__(self, data: mmap.mmap, where: str):
        self.data = data
        self.where = where
        self.place = 0

    def take(self, length: int) -> bytes:
        if not 0 <= length <= len(self.data) - self.place:
            raise WeftError(f"{self.where} is damaged: at byte {self.place:,} it declares {length:,} more bytes.")
        self.place += length
        return self.data[self.place - length : self.place]

    def number(self, kind: str) -> Any:
        return struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}")))[0]

    def text(self) -> str:
        found = self.take(self.number("Q"))
        try:
            return found.decode("utf-8")
        except UnicodeDecodeError:
            raise WeftError(f"{self.where} is damaged: a text before byte {self.place:,} is not UTF-8.") from None

    def value(self, kind: int) -> Any:
        if kind in SCALARS:
            return self.number(SCALARS[kind])
        if kind == STRING:
            return self.text()
        if kind != ARRAY:
            raise WeftError(
                f"{self.where} is damaged: at byte {self.place:,} it has a value of the unknown kind {kind}."
            )
        inner, count = self.number("I"), self.number("Q")
        if inner in SCALARS:
            return np.frombuffer(
                self.take(count * struct.calcsize(f"<{SCALARS[inner]}")), f"<{SCALARS[inner]}"
            ).tolist()
        if inner != STRING or count > len(self.data):  # each text takes eight bytes at least
            raise WeftError(f"{self.where} is damaged: at byte {self.place:,} it has {count:,} values of kind {inner}.")
        return [self.text() for _ in range(count)]


def read_gguf(file: Path) -> Found:
    if find_spec("gguf") is None:
        raise WeftError(f"reading {file} needs gguf: {install('export')}.")
    values, tensors = read_file(file)
    facts = Facts(values, str(file))
    kind = values.get("general.architecture")
    if kind != "llama":
        raise WeftError(f"model: {file} has general.architecture = {kind!r}, but weft imports only 'llama'.")
    facts.must_be("llama.rope.scaling.type", [None, "none"], "mixer.position")
    facts.fit(ROTARY_FACTORS not in tensors, f"mixer.position: {file} scales its rotary positions ({ROTARY_FACTORS}).")
    facts.must_be("llama.expert_count", [None, 0], "feed_forward")
    heads, width = facts.whole("llama.attention.head_count"), facts.whole("llama.embedding_length")
    key_width = facts.whole("llama.attention.key_length", max(1, width // heads))
    facts.must_be("llama.rope.dimension_count", [None, key_width], "mixer.position")
    pieces = _pieces(facts)
    sizes = Sizes(
        width,
        facts.layers("llama.block_count"),
        heads,
        facts.whole("llama.attention.head_count_kv", heads),
        key_width,
        facts.whole("llama.feed_forward_length"),
        len(pieces),
        facts.whole("llama.context_length"),
        base=facts.real("llama.rope.freq_base", 10000.0),
        epsilon=facts.real("llama.attention.layer_norm_rms_epsilon"),
        is_tied="output.weight" not in tensors,
        mixer_bias="blk.0.attn_q.bias" in tensors,
        feed_bias="blk.0.ffn_up.bias" in tensors,
    )
    shape = llama(facts, sizes, Tensors(tensors, str(file)), GGUF, are_neighbours=True)
    template = values.get("tokenizer.chat_template")
    codec, starts = _codec(facts, pieces)
    noted = {"chat_template": template} if isinstance(template, str) else {}
    return Found(shape, codec, {"starts": starts, **noted})


def read_file(file: Path) -> tuple[dict[str, Any], Mapping[str, Tensor]]:
    """Metadata by name, and tensors by name as floats."""
    with file.open("rb") as stream:
        try:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
        except ValueError:  # nothing in it
            raise WeftError(f"{file} is empty.") from None
    cursor = Cursor(data, str(file))
    cursor.take(len(MAGIC))
    if (version := cursor.number("I")) not in VERSIONS:
        raise WeftError(f"{file} is GGUF of version {version}, but weft reads versions 2 and 3.")
    tensors, count = cursor.number("Q"), cursor.number("Q")
    values: dict[str, Any] = {}
    for _ in range(count):
        name = cursor.text()
        values[name] = cursor.value(cursor.number("I"))
    places = [_place(cursor) for _ in range(tensors)]
    alignment = values.get("general.alignment", 32)
    if type(alignment) is not int or not 0 < alignment <= 2**16:
        raise WeftError(f"{file} is damaged: its alignment is {alignment!r}.")
    begin = -(-cursor.place // alignment) * alignment
    return values, {
        name: _tensor(data, name, begin + offset, shape, kind, str(file)) for name, shape, kind, offset in places
    }


def _place(cursor: Cursor) -> tuple[str, tuple[int, ...], int, int]:
    """Name, shape, kind and offset of a tensor. The file has the fastest dimension first, torch last."""
    name, dimensions = cursor.text(), cursor.number("I")
    if not 0 < dimensions <= MOST_DIMENSIONS:
        raise WeftError(f"{cursor.where} is damaged: {name!r} has {dimensions} dimensions.")
    shape = tuple(cursor.number("Q") for _ in range(dimensions))
    return name, shape[::-1], cursor.number("I"), cursor.number("Q")


def _tensor(data: mmap.mmap, name: str, begin: int, shape: tuple[int, ...], kind: int, where: str) -> Tensor:
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
    from gguf.quants import dequantize

    try:
        quantised = GGMLQuantizationType(kind)
    except ValueError:
        raise WeftError(f"{where}: quantisation {kind} of {name} is not supported by the installed gguf.") from None
    block, size = GGML_QUANT_SIZES[quantised]
    if shape[-1] % block:
        raise WeftError(
            f"{where} is damaged: the rows of {name} have {shape[-1]:,} numbers, not a multiple of {block}."
        )
    length = prod(shape) // block * size
    if not 0 < length <= len(data) - begin:
        raise WeftError(
            f"{where} is damaged: {name} would end {begin + length - len(data):,} bytes past the end of the file."
        )
    numbers = np.frombuffer(data, np.uint8, length, begin).reshape(*shape[:-1], -1)
    if quantised.name in FLOATS:
        # Copied: a file may give two tensors the same bytes, or bytes that are not aligned.
        return torch.from_numpy(numbers.copy().view(FLOATS[quantised.name]).reshape(shape))
    try:
        return torch.from_numpy(np.ascontiguousarray(dequantize(numbers, quantised)).reshape(shape))
    except NotImplementedError:
        raise WeftError(f"{where}: {name} is {quantised.name}, which gguf cannot dequantise.") from None


FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}


def _pieces(facts: Facts) -> list[Piece]:
    """The vocabulary; scores and kinds where they are told."""
    tokens = facts.values.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, list) or not tokens or not all(isinstance(token, str) for token in tokens):
        raise WeftError(f"{facts.where} has no vocabulary (tokenizer.ggml.tokens).")
    scores = facts.values.get("tokenizer.ggml.scores") or [0.0] * len(tokens)
    kinds = facts.values.get("tokenizer.ggml.token_type") or [Piece.NORMAL] * len(tokens)
    if not (isinstance(scores, list) and isinstance(kinds, list) and len(scores) == len(kinds) == len(tokens)):
        raise WeftError(f"{facts.where} has {len(tokens):,} tokens, but a different number of scores or types.")
    return [Piece(*piece) for piece in zip(tokens, scores, kinds)]


def _codec(facts: Facts, pieces: list[Piece]) -> tuple[PublicTokeniser, bool]:
    """The tokeniser, and whether a prompt begins with its start token."""
    values, kind = facts.values, facts.values.get("tokenizer.ggml.model")
    try:
        match kind:
            case "llama":
                has_space = values.get("tokenizer.ggml.add_space_prefix", True)
                made, starts = from_scores(pieces, begins_with_space=has_space is not False), True
            case "gpt2":
                made = from_merges(pieces, _merges(values), str(values.get("tokenizer.ggml.pre", "default")))
                starts = False
            case _:
                raise WeftError(f"tokenizer.ggml.model is {kind!r}, but weft reads 'llama' and 'gpt2'.")
        end = _special(values, "eos", len(pieces))
        if end is None:
            raise WeftError("it names no end token (tokenizer.ggml.eos_token_id).")
        start, pad = _special(values, "bos", len(pieces)), _special(values, "padding", len(pieces))
        codec = PublicTokeniser.made(made, end if start is None else start, end, pad, len(pieces))
    except ValueError as error:
        raise WeftError(f"the vocabulary of {facts.where} cannot be used: {error}") from None
    told = values.get("tokenizer.ggml.add_bos_token")
    return codec, told if isinstance(told, bool) else starts and start is not None


def _merges(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    lines = values.get("tokenizer.ggml.merges")
    if not isinstance(lines, list):
        raise WeftError("it has no tokenizer.ggml.merges.")
    pairs = [str(line).partition(" ")[::2] for line in lines]
    return [(left, right) for left, right in pairs]


def _special(values: Mapping[str, Any], name: str, size: int) -> int | None:
    found = values.get(f"tokenizer.ggml.{name}_token_id")
    return found if type(found) is int and 0 <= found < size else None
