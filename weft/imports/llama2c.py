"""Importing a model of llama2.c (github.com/karpathy/llama2.c): a file of seven numbers and the weights as float32, and
its vocabulary in tokenizer.bin."""

import struct
from collections.abc import Iterator
from math import prod
from pathlib import Path

import numpy as np
import torch

from weft.data.codecs import PublicTokeniser
from weft.data.codecs.public import SPACE
from weft.errors import WeftError
from weft.imports.facts import MOST_LAYERS, Facts
from weft.imports.llama import GGUF, Sizes, llama
from weft.imports.shape import Found
from weft.imports.tensors import Tensors
from weft.imports.tokenisers import Piece, from_scores

HEADER = struct.Struct("<7i")
NUMBERS = ("width", "hidden", "layers", "heads", "kv_heads", "vocabulary", "context")
LATER = 0x616B3432  # how files of version 1 and later begin
UNKNOWN, START, END, BYTES = 0, 1, 2, 3  # the ids that every such vocabulary begins with; 256 bytes follow
NAMES = ("<unk>", "<s>", "</s>")
LONGEST_PIECE = 2**16  # bytes


def read_llama2c(file: Path, tokenizer: Path | None = None) -> Found:
    sizes, tensors = _weights(file)
    facts = Facts({}, str(file))
    shape = llama(facts, sizes, Tensors(tensors, str(file)), GGUF, are_neighbours=True)
    pieces = read_pieces(_vocabulary_of(file, sizes.vocabulary, tokenizer), sizes.vocabulary)
    codec = PublicTokeniser.made(from_scores(pieces), START, END, None, sizes.vocabulary)
    return Found(shape, codec, {"starts": True})


def _sizes(file: Path) -> tuple[Sizes, int]:
    with file.open("rb") as stream:
        head = stream.read(HEADER.size)
    if len(head) < HEADER.size:
        raise WeftError(
            f"{file} is not a llama2.c model: it has {len(head)} bytes, less than a header of {HEADER.size}."
        )
    numbers = dict(zip(NUMBERS, HEADER.unpack(head)))
    if numbers["width"] == LATER:
        raise WeftError(
            f"{file} is a model of llama2.c in format {numbers['hidden']}, but weft reads format 0, "
            "which `export.py --version 0` of llama2.c writes."
        )
    is_tied = numbers["vocabulary"] > 0
    numbers["vocabulary"] = abs(numbers["vocabulary"])
    wrong = [f"{name} = {value}" for name, value in numbers.items() if value < 1]
    if numbers["layers"] > MOST_LAYERS:
        wrong.append(f"layers = {numbers['layers']}")
    if not wrong and numbers["width"] % numbers["heads"]:
        wrong.append(f"heads = {numbers['heads']} in a width of {numbers['width']}")
    if wrong:
        raise WeftError(f"{file} is not a llama2.c model: its header declares {', '.join(wrong)}.")
    sizes = Sizes(key_width=numbers["width"] // numbers["heads"], is_tied=is_tied, **numbers)
    expected = HEADER.size + 4 * sum(prod(shape) for _, shape in _layout(sizes))
    if (size := file.stat().st_size) != expected:
        raise WeftError(
            f"{file} is damaged or not a llama2.c model: its header declares {expected:,} bytes, it has {size:,}."
        )
    return sizes, expected


def _layout(sizes: Sizes) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The tensors of the file, in order; each tensor of a layer is stored for all layers together."""
    L, D, queries, keys = sizes.layers, sizes.width, sizes.heads * sizes.key_width, sizes.kv_heads * sizes.key_width
    yield GGUF["embedding"], (sizes.vocabulary, D)
    yield GGUF["mix_norm"], (L, D)
    yield GGUF["query"], (L, queries, D)
    yield GGUF["key"], (L, keys, D)
    yield GGUF["value"], (L, keys, D)
    yield GGUF["out"], (L, D, queries)
    yield GGUF["feed_norm"], (L, D)
    yield GGUF["gate"], (L, sizes.hidden, D)
    yield GGUF["down"], (L, D, sizes.hidden)
    yield GGUF["up"], (L, sizes.hidden, D)
    yield GGUF["norm"], (D,)
    yield "", (2, sizes.context, sizes.key_width // 2)  # tables of cosines and sines, unused
    if not sizes.is_tied:
        yield GGUF["head"], (sizes.vocabulary, D)


def _weights(file: Path) -> tuple[Sizes, dict[str, torch.Tensor]]:
    sizes, _ = _sizes(file)
    numbers = np.fromfile(file, "<f4", offset=HEADER.size)
    found: dict[str, torch.Tensor] = {}
    place = 0
    for name, shape in _layout(sizes):
        tensor = torch.from_numpy(numbers[place : place + prod(shape)].reshape(shape))
        place += prod(shape)
        if "{}" in name:
            found |= {f"{name.format(i)}.weight": tensor[i] for i in range(sizes.layers)}
        elif name:
            found[f"{name}.weight"] = tensor
    return sizes, found


def _vocabulary_of(file: Path, size: int, given: Path | None) -> Path:
    if given is not None:
        return given
    names = ("tokenizer.bin", f"tok{size}.bin")
    for name in names:
        if (file.parent / name).is_file():
            return file.parent / name
    raise WeftError(f"there is no {' or '.join(names)} next to {file}; name one with --tokenizer FILE.")


def read_pieces(file: Path, size: int) -> list[Piece]:
    """Read the pieces of a tokenizer.bin, and check that they fit the vocabulary of the model."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise WeftError(f"{file} cannot be read: {error.strerror}.") from None
    pieces: list[Piece] = []
    place = 4  # behind the length of the longest piece
    while place < len(data):
        if len(data) < place + 8:
            raise WeftError(f"{file} is damaged: it ends within piece {len(pieces)}.")
        score, length = struct.unpack_from("<fi", data, place)
        place += 8
        if not 0 <= length <= LONGEST_PIECE or len(data) < place + length:
            raise WeftError(f"{file} is damaged: piece {len(pieces)} would be {length} bytes long.")
        try:
            text = data[place : place + length].decode("utf-8")
        except UnicodeDecodeError:
            raise WeftError(f"{file} is not a tokenizer.bin of llama2.c: piece {len(pieces)} is not UTF-8.") from None
        place += length
        pieces.append(_piece(len(pieces), text, score))
    if len(pieces) != size:
        raise WeftError(f"{file} has {len(pieces)} pieces, but the model has a vocabulary of {size}.")
    if any(piece.text != _byte(i) for i, piece in enumerate(pieces[BYTES : BYTES + 256])) or size < BYTES + 256:
        raise WeftError(
            f"{file} is not a tokenizer.bin of llama2.c: its pieces {BYTES} to {BYTES + 255} are not the bytes."
        )
    return pieces


def _piece(i: int, text: str, score: float) -> Piece:
    if i < len(NAMES):
        return Piece(NAMES[i], score, Piece.UNKNOWN if i == UNKNOWN else Piece.CONTROL)
    if i < BYTES + 256:
        is_raw = text == chr(i - BYTES)  # as in files of July 2023
        return Piece(_byte(i - BYTES) if is_raw else text, score, Piece.BYTE)
    return Piece(text.replace(" ", SPACE), score)


def _byte(value: int) -> str:
    return f"<0x{value:02X}>"
