"""The codecs by name, and how one is loaded."""

from pathlib import Path

from weft.data.codecs.codec import Codec, Special, TextCodec, load_codec
from weft.data.codecs.public import PublicTokeniser
from weft.data.codecs.subwords import Bytes, Subwords
from weft.data.codecs.symbols import Characters, Words

CODECS: dict[str, type[Codec]] = {each.name: each for each in (Subwords, Bytes, Characters, Words, PublicTokeniser)}


def load(file: Path) -> Codec:
    """Load the codec in a file; files without a kind are older, and have subwords."""
    return load_codec(file, CODECS, "subwords")


__all__ = ["CODECS", "Codec", "PublicTokeniser", "Special", "Subwords", "TextCodec", "load"]
