"""Subwords: byte-pair encoding over UTF-8 bytes, one joint vocabulary for both languages (arXiv:1508.07909).

The pieces are merged from bytes, so any Unicode text survives the round trip and nothing is ever unknown. Nothing in a
text is taken for a special token: `</s>` is four characters. The first ids are PAD, START and END, whose names hold a
space, which no piece can.
"""

import json
from codecs import getincrementaldecoder
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from weft.data.codecs.codec import Codec, Special
from weft.errors import WeftError

PAD, START, END = 0, 1, 2
SPECIAL_TOKENS = ("the pad", "the start", "the end", "the unused")
SEEN = ("", "∅", "∎", "?")  # what a person sees of them


class Subwords(Codec):
    """text → ids and back. `encode` ends in END; `decode` stops at it."""

    name = "subwords"
    special = Special(PAD, START, END)

    def __init__(self, pieces: Tokenizer):
        self.pieces = pieces

    def __len__(self) -> int:
        return int(self.pieces.get_vocab_size())

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int) -> "Subwords":
        learner = Tokenizer(models.BPE())
        learner.pre_tokenizer = _words()
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        size = vocabulary - len(SPECIAL_TOKENS)
        if size < len(alphabet):
            raise WeftError(
                f"a vocabulary has at least {len(alphabet) + len(SPECIAL_TOKENS)} subwords, not {vocabulary}."
            )
        trainer = trainers.BpeTrainer(
            vocab_size=size, initial_alphabet=alphabet, special_tokens=[], show_progress=False, max_token_length=64
        )
        try:
            learner.train_from_iterator((" " + text for text in texts), trainer)
        except UnicodeEncodeError as error:
            raise _not_unicode(error.object) from None
        learned = json.loads(learner.to_str())["model"]
        if len(learned["vocab"]) < size:
            most = len(learned["vocab"]) + len(SPECIAL_TOKENS)
            raise WeftError(f"a vocabulary of {vocabulary} is more than this text has subwords; set vocabulary={most}.")
        vocab = {sign: i for i, sign in enumerate(SPECIAL_TOKENS)}
        vocab |= {piece: i + len(SPECIAL_TOKENS) for piece, i in learned["vocab"].items()}
        return cls(_assembled(vocab, learned["merges"]))

    def to_dict(self) -> dict[str, Any]:
        """Pieces in the order of their ids, merges in the order they were learned."""
        learned = json.loads(self.pieces.to_str())["model"]
        return {"pieces": sorted(learned["vocab"], key=learned["vocab"].__getitem__), "merges": learned["merges"]}

    @classmethod
    def from_dict(cls, data: Any) -> "Subwords":
        pieces, bytes_shown = data["pieces"], set(pre_tokenizers.ByteLevel.alphabet())
        if tuple(pieces[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS or len(set(pieces)) < len(pieces):
            raise ValueError("its pieces are not in order.")
        if not bytes_shown <= set(pieces) or not set().union(*pieces[len(SPECIAL_TOKENS) :]) <= bytes_shown:
            raise ValueError("its pieces are not made of bytes, of all of them.")
        return cls(_assembled({piece: i for i, piece in enumerate(pieces)}, data["merges"]))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        try:
            return [[*e.ids, END] for e in self.pieces.encode_batch_fast([" " + text for text in texts])]
        except (TypeError, UnicodeEncodeError):
            raise _not_unicode(next(text for text in texts if not _is_unicode(text))) from None

    def decode(self, ids: Iterable[int]) -> str:
        words = []
        for i in ids:
            if i == END:
                break
            if i >= len(SPECIAL_TOKENS):
                words.append(i)
        return str(self.pieces.decode(words, skip_special_tokens=False)).removeprefix(" ")

    def words(self, ids: Sequence[int]) -> list[str]:
        """The words that these pieces make, byte by visible byte. Pieces lie within words, and so do merges."""
        text = self.pieces.decode(ids, skip_special_tokens=False)
        return [word for word, _ in _words().pre_tokenize_str(text)]

    @cached_property
    def inner(self) -> frozenset[int]:
        """The pieces that go on with a word."""
        pieces = enumerate(self.readable(range(len(self))))
        return frozenset(i for i, piece in pieces if i >= len(SPECIAL_TOKENS) and piece[0].isalnum())

    def characters(self, ids: Iterable[int]) -> list[str]:
        """What each piece adds to the text: a character in several pieces comes with its last."""
        decoder = getincrementaldecoder("utf-8")("replace")
        return [decoder.decode(self._bytes(i)) for i in ids]

    def readable(self, ids: Iterable[int]) -> list[str]:
        """Each piece as a person may see it: words begin with ·, an end is ∎, half a character is its bytes."""
        return [SEEN[i] if i < len(SPECIAL_TOKENS) else _seen(self._bytes(i)) for i in ids]

    def _bytes(self, i: int) -> bytes:
        """What a piece adds to a text; a sign adds nothing."""
        return b"" if i < len(SPECIAL_TOKENS) else _bytes(str(self.pieces.id_to_token(i)))


def _words() -> pre_tokenizers.PreTokenizer:
    """Words with the space before them, runs of digits, runs of punctuation; every byte as one visible character."""
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def _assembled(vocab: dict[str, int], merges: list[list[str]]) -> Tokenizer:
    pieces = Tokenizer(models.BPE(vocab=vocab, merges=[(left, right) for left, right in merges]))
    pieces.pre_tokenizer = _words()
    pieces.decoder = decoders.ByteLevel()
    return pieces


@cache
def _bytes(piece: str) -> bytes:
    return bytes(map(_byte, piece))


@cache
def _seen(piece: bytes) -> str:
    text = piece.decode("utf-8", "surrogateescape").replace(" ", "·")
    return "".join(character if _is_unicode(character) else f"<{ord(character) & 0xFF:02X}>" for character in text)


HIDDEN = [*range(0x21), *range(0x7F, 0xA1), 0xAD]


def _byte(character: str) -> int:
    """The byte that the byte-level alphabet shows as this character: printable ones as they are, others from U+0100."""
    return HIDDEN[ord(character) - 256] if ord(character) >= 256 else ord(character)


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _not_unicode(text: str) -> WeftError:
    return WeftError(f"a text that is not Unicode (a lone surrogate): {text.removeprefix(' ')!r}.")
