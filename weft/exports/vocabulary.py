"""A text codec as a file of the `tokenizers` library: the vocabulary of the model, for programs without weft."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tokenizers import AddedToken, Tokenizer, decoders, models

from weft.data.codecs import PublicTokeniser, Subwords, TextCodec
from weft.data.codecs.symbols import SEEN, Characters
from weft.errors import WeftError

# What other programs call weft's special tokens: names with a space in them would be found in texts.
SPECIAL_TOKENS = ("<|pad|>", "<|start|>", "<|end|>", "<|unused|>")


@dataclass(frozen=True)
class Vocabulary:
    """A tokeniser, and every token by its id."""

    tokenizer: Tokenizer
    tokens: Sequence[str]
    start: str
    end: str
    pad: str | None = None


def vocabulary_of(codec: TextCodec) -> Vocabulary:
    for kind, made in MAKERS.items():
        if isinstance(codec, kind):
            return made(codec)
    known = ", ".join(kind.name for kind in MAKERS)
    raise WeftError(f"codec {codec.name!r} has no equivalent in the tokenizers library; supported: {known}.")


def _public(codec: PublicTokeniser) -> Vocabulary:
    tokenizer = Tokenizer.from_str(codec.pieces.to_str())
    tokens = [tokenizer.id_to_token(i) or f"<|{i}|>" for i in range(len(codec))]
    special = codec.special
    pad = None if special.pad == 0 and 0 not in codec.specials else tokens[special.pad]
    return Vocabulary(tokenizer, tokens, tokens[special.start], tokens[special.end], pad)


def _subwords(codec: Subwords) -> Vocabulary:
    file = json.loads(codec.pieces.to_str())
    pieces = sorted(file["model"]["vocab"], key=file["model"]["vocab"].__getitem__)
    file["model"]["vocab"] = {piece: i for i, piece in enumerate([*SPECIAL_TOKENS, *pieces[len(SPECIAL_TOKENS) :]])}
    return _with_special(Tokenizer.from_str(json.dumps(file)), SPECIAL_TOKENS, len(codec))


def _characters(codec: Characters) -> Vocabulary:
    """Byte pairs without a single merge are characters."""
    special = SPECIAL_TOKENS[: len(SEEN)]
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate([*special, *codec.symbols])}, merges=[]))
    tokenizer.decoder = decoders.Fuse()
    return _with_special(tokenizer, special, len(codec))


def _with_special(tokenizer: Tokenizer, special: Sequence[str], size: int) -> Vocabulary:
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokens = [str(tokenizer.id_to_token(i)) for i in range(size)]
    pad, start, end = special[:3]
    return Vocabulary(tokenizer, tokens, start, end, pad)


MAKERS: dict[type[TextCodec], Callable[..., Vocabulary]] = {
    PublicTokeniser: _public,
    Subwords: _subwords,
    Characters: _characters,
}
