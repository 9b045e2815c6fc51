"""Public tokenisers: files of the `tokenizers` library that came with public weights, used unchanged.

The ids are those of the file, special tokens included. Most public vocabularies have no token for padding, and none is
added: then `special.pad` is 0, which pads the rows of a batch as everywhere in weft (`parts/frontend.PAD`) and is an
ordinary token within a text. That is safe, because only decoders alone have such a codec, and they need no `keep`:
padding is on the right, which no real position sees, and targets without a prediction are IGNORED, whatever their id.
Code that pads must know the lengths of rows.

A special token written out in a text is text: `</s>` is four characters. `encode_marked` reads it as the token, for
templates that weft fills in itself.
"""

import json
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Self

from tokenizers import Tokenizer

from weft.data.codecs.codec import Special, TextCodec
from weft.data.codecs.subwords import PAD, not_unicode
from weft.data.codecs.visible import bytes_of, is_unicode, seen
from weft.errors import WeftError

SPACE = "▁"  # a space in SentencePiece


class PublicTokeniser(TextCodec):
    """text → ids and back, without special tokens."""

    name = "public"
    is_lossless = False  # some normalise text, or have no token for some characters

    def __init__(self, tokenizer: Tokenizer, special: Special, vocabulary: int | None = None):
        self.special = special
        self.pieces = tokenizer
        self.pieces.no_padding()
        self.pieces.no_truncation()
        self.pieces.encode_special_tokens = True
        known = max(self.pieces.get_vocab(with_added_tokens=True).values(), default=-1) + 1
        self.vocabulary = known if vocabulary is None else vocabulary  # of the model, which may have spare rows
        if known > self.vocabulary:
            raise ValueError(f"its tokens have ids up to {known - 1}, and the vocabulary is {self.vocabulary}.")
        for name, i in vars(special).items():
            if not 0 <= i < self.vocabulary:
                raise ValueError(f"its {name} token is {i}, which is not below {self.vocabulary}.")

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int) -> Self:
        raise WeftError(
            "codec: a public tokeniser comes with imported weights and is not learned; choose another codec."
        )

    @classmethod
    def made(cls, tokenizer: Tokenizer, start: int, end: int, pad: int | None, vocabulary: int) -> "PublicTokeniser":
        """The special tokens; PAD is 0 if the vocabulary has none."""
        return cls(tokenizer, Special(PAD if pad is None else pad, start, end), vocabulary)

    def __len__(self) -> int:
        return self.vocabulary

    def to_dict(self) -> dict[str, Any]:
        special = vars(self.special)
        file = json.loads(self.pieces.to_str())
        return {"codec": self.name, "tokenizer": file, "special": special, "vocabulary": self.vocabulary}

    @classmethod
    def from_dict(cls, data: Any) -> "PublicTokeniser":
        special, size = data["special"], data["vocabulary"]
        ids = [special[name] for name in ("pad", "start", "end")]
        if not all(type(i) is int for i in (*ids, size)):
            raise ValueError("its special tokens and its vocabulary are not whole numbers.")
        return cls(tokenizer_from(json.dumps(data["tokenizer"])), Special(*ids), size)

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return self.pieces_of(texts)

    def pieces_of(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without special tokens. If the vocabulary begins every text with a space, as Llama's
        does, so do these, because models were trained on such texts."""
        return _encoded(self.pieces, texts)

    def encode_marked(self, text: str) -> list[int]:
        """The ids of a text in which special tokens are written out, such as a filled-in chat template."""
        return _encoded(self._marking, [text])[0]

    @cached_property
    def _marking(self) -> Tokenizer:
        copy = tokenizer_from(self.pieces.to_str())
        copy.encode_special_tokens = False
        return copy

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these tokens; special ones add nothing to it."""
        return str(self.pieces.decode([i for i in ids if self._is_known(i)], skip_special_tokens=True))

    def stream(self) -> Callable[[int], str]:
        """The text that each token adds. A leading space that is not part of the text is dropped after a start token
        only: a continuation of a prompt keeps its space."""
        if self._kind == "joined":
            return self._joining()
        decoder = getincrementaldecoder("utf-8")("replace")
        is_first, drops = True, False

        def add(i: int) -> str:
            nonlocal is_first, drops
            if i in self.specials or not self._is_known(i):
                drops, is_first = is_first and self._drops_space, False
                return ""
            piece = self._bytes(i)
            piece = piece[1:] if drops and piece[:1] == b" " else piece
            is_first = drops = False
            return decoder.decode(piece)

        return add

    def readable(self, ids: Iterable[int]) -> list[str]:
        """The tokens for display: a space is ·, half a character is its bytes, a special token its name."""
        return [
            "?" if not self._is_known(i) else self._name(i) if i in self.specials else seen(self._bytes(i)) for i in ids
        ]

    def _is_known(self, i: int) -> bool:
        return self.pieces.id_to_token(i) is not None

    def _name(self, i: int) -> str:
        return str(self.pieces.id_to_token(i))

    @cached_property
    def specials(self) -> frozenset[int]:
        """The special tokens: they add nothing to a text."""
        return frozenset(i for i, token in self.pieces.get_added_tokens_decoder().items() if token.special)

    @cached_property
    def _decoders(self) -> list[dict[str, Any]]:
        """The steps of the file's decoder."""
        return list(_steps(json.loads(self.pieces.to_str())["decoder"]))

    @cached_property
    def _kind(self) -> str:
        """How tokens are written: in the byte-level alphabet, like SentencePiece, or in another way."""
        kinds = {step.get("type") for step in self._decoders}
        if "ByteLevel" in kinds:
            return "bytes"
        return "pieces" if kinds & {"ByteFallback", "Metaspace"} else "joined"

    @cached_property
    def _drops_space(self) -> bool:
        """Whether the tokeniser adds a space to the beginning of a text."""
        return any(
            (step.get("type") == "Strip" and step.get("content") == " " and step.get("start", 0) > 0)
            or (step.get("type") == "Metaspace" and step.get("prepend_scheme", "always") != "never")
            for step in self._decoders
        )

    def _bytes(self, i: int) -> bytes:
        """The bytes that a token adds to a text."""
        piece = self._name(i)
        if self._kind == "bytes":
            return bytes_of(piece)
        if self._kind == "joined":
            return piece.encode("utf-8")
        if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            return bytes.fromhex(piece[3:5])
        return piece.replace(SPACE, " ").encode("utf-8")

    def _joining(self) -> Callable[[int], str]:
        """A function from each next token to the text that it adds."""
        ids: list[int] = []
        told = ""

        def add(i: int) -> str:
            nonlocal told
            ids.append(i)
            text = self.decode(ids)
            if text.endswith("\ufffd"):  # half a character, perhaps
                return ""
            new, told = text[len(told) :], text
            return new

        return add


def tokenizer_from(text: str) -> Tokenizer:
    """Load the tokeniser of a file; any exception means that the file is not valid."""
    try:
        return Tokenizer.from_str(text)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a panic of the library is not an Exception
            raise
        raise ValueError(f"the tokenizers library cannot read it: {error}") from None


def _steps(decoder: Any) -> Iterator[dict[str, Any]]:
    if isinstance(decoder, dict):
        yield decoder
        for inner in decoder.get("decoders", ()):
            yield from _steps(inner)


def _encoded(pieces: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    try:
        return [found.ids for found in pieces.encode_batch_fast(list(texts), add_special_tokens=False)]
    except (TypeError, UnicodeEncodeError):
        strange = next((text for text in texts if not is_unicode(text)), None)
        if strange is None:
            raise
        raise not_unicode(strange) from None
