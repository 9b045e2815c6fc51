"""Check that any text survives encoding and decoding."""

import numpy as np

from weft.checking.model_under_test import Finding, ModelUnderTest
from weft.data.codecs import TextCodec

HARD = (
    "",
    " two  spaces, before and between and after ",
    "a\ttab\r\nand\u2028every\u0085kind\x0bof line",
    "e\u0301 is not é, and \ufb01 is not fi",  # combining, ligature
    "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽",  # joined, flags, skin
    "שלום عَرَبِيّ ‏العربية‎ mixed",  # right to left, with marks
    "ภาษาไทย 中文 日本語 한국어 ᄒ\u1161\u11ab हिन्दी ქართული",
    "Z̸̧̡̢͔͍̳̈́̃̾a̶̧͙̟̅l̷̰͐g̴o̵",
    "\ufeff\u200b\u00ad\u2060 invisible \U000e0041",
    "\x00\x01\x1b[31m\x7f control",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010ffff \ue000 \ufffd \ufffe",
    "</s> <pad> <unk> the end Ġ ▁ @@",  # special tokens of other tools
    "x" * 10_000,
)


def round_trip(subject: ModelUnderTest) -> Finding | str:
    """Encoded and decoded text = the text, as a whole and token by token."""
    codec = subject.codec
    if not isinstance(codec, TextCodec):
        return "its values are not texts"
    texts = HARD if codec.is_lossless else _own(codec)
    lost = [text for text in texts if codec.decode(codec.encode(text)) != text or _streamed(codec, text) != text]
    return Finding(len(lost), 0, f"of {len(texts)} texts")


def _streamed(codec: TextCodec, text: str) -> str:
    return "".join(codec.characters([codec.special.start, *codec.pieces_of([text])[0]]))


def _own(codec: TextCodec) -> list[str]:
    """Texts of all tokens that the codec has, in several orders."""
    ids, random = range(codec.first, len(codec)), np.random.default_rng(1)
    return ["", *(codec.decode(random.permutation(ids).tolist()) for _ in HARD[1:])]
