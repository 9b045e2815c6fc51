"""Subwords: byte-pair encoding over UTF-8 bytes, one joint vocabulary for both languages (arXiv:1508.07909).

The pieces are merged from bytes, so any Unicode text survives the round trip and nothing is ever unknown. Nothing in a
text is taken for a special token: `</s>` is four characters. The first ids are PAD, START and END, whose names have a
space inside, which no piece can have.
"""

import json
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any, Self

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from weft.data.codecs.codec import Special, TextCodec
from weft.data.codecs.visible import bytes_of, is_unicode, seen
from weft.errors import WeftError

PAD, START, END = 0, 1, 2
SPECIAL_TOKENS = ("the pad", "the start", "the end", "the unused")
SEEN = ("", "∅", "∎", "?")  # as displayed


class Subwords(TextCodec):
    """Pieces of words, merged from bytes: any text can be written (arXiv:1508.07909).

    `encode` ends in END; `decode` stops at it.
    """

    name = "subwords"
    least = len(SPECIAL_TOKENS) + 256  # the bytes
    special = Special(PAD, START, END)
    first = len(SPECIAL_TOKENS)

    def __init__(self, pieces: Tokenizer):
        self.pieces = pieces

    def __len__(self) -> int:
        return int(self.pieces.get_vocab_size())

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int) -> Self:
        learner = Tokenizer(models.BPE())
        learner.pre_tokenizer = _words()
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        size = vocabulary - len(SPECIAL_TOKENS)
        if size < len(alphabet):
            raise WeftError(f"vocabulary must be at least {len(alphabet) + len(SPECIAL_TOKENS)}, got {vocabulary}.")
        trainer = trainers.BpeTrainer(
            vocab_size=size, initial_alphabet=alphabet, special_tokens=[], show_progress=False, max_token_length=64
        )
        try:
            learner.train_from_iterator((" " + text for text in texts), trainer)
        except UnicodeEncodeError as error:
            raise not_unicode(error.object) from None
        learned = json.loads(learner.to_str())["model"]
        if len(learned["vocab"]) < size:
            most = len(learned["vocab"]) + len(SPECIAL_TOKENS)
            raise WeftError(f"this text yields only {most} subwords, got {vocabulary=}; set vocabulary={most}.")
        vocab = {token: i for i, token in enumerate(SPECIAL_TOKENS)}
        vocab |= {piece: i + len(SPECIAL_TOKENS) for piece, i in learned["vocab"].items()}
        return cls(_assembled(vocab, learned["merges"]))

    def to_dict(self) -> dict[str, Any]:
        """Pieces in the order of their ids, merges in the order they were learned."""
        learned = json.loads(self.pieces.to_str())["model"]
        return {"pieces": sorted(learned["vocab"], key=learned["vocab"].__getitem__), "merges": learned["merges"]}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        pieces, bytes_shown = data["pieces"], set(pre_tokenizers.ByteLevel.alphabet())
        if tuple(pieces[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS or len(set(pieces)) < len(pieces):
            raise ValueError("its pieces are not in order.")
        if not bytes_shown <= set(pieces) or not set().union(*pieces[len(SPECIAL_TOKENS) :]) <= bytes_shown:
            raise ValueError("its pieces do not cover all 256 bytes, or have other characters.")
        return cls(_assembled({piece: i for i, piece in enumerate(pieces)}, data["merges"]))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [[*ids, END] for ids in self.pieces_of([" " + text for text in texts])]

    def pieces_of(self, texts: Sequence[str]) -> list[list[int]]:
        try:
            return [encoded.ids for encoded in self.pieces.encode_batch_fast(list(texts))]
        except (TypeError, UnicodeEncodeError):
            raise not_unicode(next(text for text in texts if not is_unicode(text))) from None

    def decode(self, ids: Iterable[int]) -> str:
        words = [i for i in takewhile(lambda i: i != END, ids) if i >= len(SPECIAL_TOKENS)]
        return str(self.pieces.decode(words, skip_special_tokens=False)).removeprefix(" ")

    def words(self, ids: Sequence[int]) -> list[str]:
        """The words that these pieces form, in visible bytes. No piece or merge crosses words."""
        text = self.pieces.decode(ids, skip_special_tokens=False)
        return [word for word, _ in _words().pre_tokenize_str(text)]

    @cached_property
    def inner(self) -> frozenset[int]:
        """The pieces that continue a word."""
        pieces = enumerate(self.readable(range(len(self))))
        return frozenset(i for i, piece in pieces if i >= len(SPECIAL_TOKENS) and piece[0].isalnum())

    def stream(self) -> Callable[[int], str]:
        decoder = getincrementaldecoder("utf-8")("replace")
        return lambda i: decoder.decode(self._bytes(i))

    def readable(self, ids: Iterable[int]) -> list[str]:
        """The pieces for display: words begin with ·, END is ∎, half a character is its bytes."""
        return [SEEN[i] if i < len(SPECIAL_TOKENS) else seen(self._bytes(i)) for i in ids]

    def _bytes(self, i: int) -> bytes:
        """What a piece adds to a text; a special token adds nothing."""
        return b"" if i < len(SPECIAL_TOKENS) else bytes_of(str(self.pieces.id_to_token(i)))


class Bytes(Subwords):
    """The bytes of UTF-8: subwords without a single merge."""

    name = "bytes"

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int) -> Self:
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        return cls(_assembled({piece: i for i, piece in enumerate((*SPECIAL_TOKENS, *alphabet))}, []))

    def to_dict(self) -> dict[str, Any]:
        return {"codec": self.name, **super().to_dict()}


def _words() -> pre_tokenizers.PreTokenizer:
    """Words with the space before them, runs of digits, runs of punctuation; every byte as one visible character."""
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def _assembled(vocab: dict[str, int], merges: list[list[str]]) -> Tokenizer:
    pieces = Tokenizer(models.BPE(vocab=vocab, merges=[(left, right) for left, right in merges]))
    pieces.pre_tokenizer = _words()
    pieces.decoder = decoders.ByteLevel()
    return pieces


def not_unicode(text: str) -> WeftError:
    """The error for a text that no codec can read."""
    return WeftError(f"a text that is not Unicode (a lone surrogate): {text.removeprefix(' ')!r}.")
