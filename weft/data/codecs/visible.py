"""The byte-level alphabet of GPT-2: the bytes of a text as visible characters, and back."""

from collections.abc import Mapping
from functools import cache

HIDDEN = [*range(0x21), *range(0x7F, 0xA1), 0xAD]  # bytes that are not printable are shown from U+0100 on
BYTES: Mapping[str, int] = {chr(256 + i): byte for i, byte in enumerate(HIDDEN)} | {
    chr(byte): byte for byte in range(256) if byte not in HIDDEN
}


@cache
def bytes_of(piece: str) -> bytes:
    """The bytes of a piece. A piece with other characters was added verbatim, and is its own text."""
    shown = [BYTES.get(character, -1) for character in piece]
    return piece.encode("utf-8") if -1 in shown else bytes(shown)


@cache
def seen(piece: bytes) -> str:
    """A piece for display: spaces are ·, half a character is its bytes."""
    text = piece.decode("utf-8", "surrogateescape").replace(" ", "·")
    return "".join(character if is_unicode(character) else f"<{ord(character) & 0xFF:02X}>" for character in text)


def is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
