"""The codecs by name, and how one is loaded."""

from pathlib import Path

from weft.data.codecs.codec import Codec, Special, load_codec
from weft.data.codecs.subwords import Subwords

CODECS: dict[str, type[Codec]] = {"subwords": Subwords}


def load(file: Path) -> Codec:
    """The codec in a file; files that name no kind were written when subwords were the only one."""
    return load_codec(file, CODECS, "subwords")


__all__ = ["CODECS", "Codec", "Special", "Subwords", "load"]
