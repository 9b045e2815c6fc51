"""Vocabularies of public models as files of the `tokenizers` library: pieces with scores, as SentencePiece writes
them, and byte-level pieces with merges, as GPT-2 does.

SentencePiece merges the two neighbours whose union has the best score. The library merges the pair that stands first in
its list. So the list has every way to split each piece in two, those of better pieces first.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from weft.data.codecs.public import SPACE
from weft.errors import WeftError, unknown

UNKNOWN = "<unk>"
# How texts are cut before pieces are merged, by the names that GGUF has for them: how many digits stand together.
WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA_3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
LLAMA_3 += r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPLITS = {
    "gpt-2": WORDS,
    "default": WORDS,
    "llama-bpe": LLAMA_3,
    "qwen2": LLAMA_3.replace("{1,3}", ""),
    "smollm": WORDS,
}
SINGLE_DIGITS = ("smollm",)
WHOLE_WORDS = ("llama-bpe",)  # a word that is a piece is taken as it is, whatever the merges


@dataclass(frozen=True)
class Piece:
    """A piece of a vocabulary with its score; `kind` is that of GGUF's token types."""

    text: str
    score: float = 0.0
    kind: int = 1

    NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6


def from_scores(pieces: Sequence[Piece], begins_with_space: bool = True) -> Tokenizer:
    """A tokeniser of pieces that were learned by SentencePiece as byte pairs."""
    vocab = _ids(pieces)
    merges = _merges(pieces, vocab)
    unk = next((piece.text for piece in pieces if piece.kind == Piece.UNKNOWN), None)
    made = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token=unk, fuse_unk=True, byte_fallback=True))
    marks: list[Any] = [normalizers.Prepend(SPACE)] if begins_with_space else []
    made.normalizer = normalizers.Sequence([*marks, normalizers.Replace(" ", SPACE)])
    strips: list[Any] = [decoders.Strip(" ", 1, 0)] if begins_with_space else []
    made.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), *strips])
    return _with_special(made, pieces)


def from_merges(pieces: Sequence[Piece], merges: Sequence[tuple[str, str]], split: str = "gpt-2") -> Tokenizer:
    """A tokeniser of byte-level pieces and the pairs they were merged from, first ones first."""
    if split not in SPLITS:
        raise WeftError(f"how texts are cut into words: {unknown('split', split, SPLITS)}")
    vocab = _ids(pieces)
    strange = next((pair for pair in merges if not {*pair, "".join(pair)} <= vocab.keys()), None)
    if strange is not None:
        raise WeftError(f"the vocabulary lacks a piece of the merge {' '.join(strange)!r}.")
    whole = split in WHOLE_WORDS
    made = Tokenizer(models.BPE(vocab=vocab, merges=list(merges), ignore_merges=whole))
    made.pre_tokenizer = cut(split)
    made.decoder = decoders.ByteLevel()
    return _with_special(made, pieces)


def cut(split: str) -> Any:
    if SPLITS[split] is WORDS:
        words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(True), words]) if split in SINGLE_DIGITS else words
    cut = pre_tokenizers.Split(Regex(SPLITS[split]), "isolated")
    return pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def _ids(pieces: Sequence[Piece]) -> dict[str, int]:
    vocab = {piece.text: i for i, piece in enumerate(pieces)}
    if len(vocab) < len(pieces):
        twice = next(piece.text for i, piece in enumerate(pieces) if vocab[piece.text] != i)
        raise WeftError(f"the vocabulary has the token {twice!r} twice.")
    return vocab


def _merges(pieces: Sequence[Piece], vocab: dict[str, int]) -> list[tuple[str, str]]:
    found: list[tuple[float, int, int, tuple[str, str]]] = []
    for piece in pieces:
        if piece.kind not in (Piece.NORMAL, Piece.USER) or math.isnan(piece.score):
            continue
        for cut in range(1, len(piece.text)):
            left, right = piece.text[:cut], piece.text[cut:]
            if left in vocab and right in vocab:
                found.append((-piece.score, vocab[left], vocab[right], (left, right)))
    return [pair for *_, pair in sorted(found)]


def _with_special(made: Tokenizer, pieces: Sequence[Piece]) -> Tokenizer:
    """Control tokens are the library's special tokens, which a text is made without."""
    special = [piece.text for piece in pieces if piece.kind in (Piece.CONTROL, Piece.UNKNOWN)]
    made.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    made.add_tokens([AddedToken(p.text, special=False, normalized=False) for p in pieces if p.kind == Piece.USER])
    return made
