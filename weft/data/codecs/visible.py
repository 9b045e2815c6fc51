"""The byte-level alphabet of GPT-2: the bytes of a text as visible characters, and back."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

HIDDEN = [*range(0x21), *range(0x7F, 0xA1), 0xAD]  # bytes that are not printable are shown from U+0100 on
BYTES: Mapping[str, int] = {chr(256 + i): byte for i, byte in enumerate(HIDDEN)} | {
    chr(byte): byte for byte in range(256) if byte not in HIDDEN
}

BYTE = re.compile("(<[89A-F][0-9A-F]>)")  # half a character, as it is shown


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


def merged(tokens: Sequence[str]) -> list[str]:
    """Tokens of one text as they are shown, with each character whole. One whose bytes are several tokens is in the
    first of them; a token that has nothing else is ‥.

    >>> merged(["·", "<D9>", "<85>", "a"])
    ['·', 'م', '‥', 'a']
    """
    pieces = [b"".join(map(_bytes, BYTE.split(token))) for token in tokens]
    whole = [""] * len(pieces)
    owners = [n for n, piece in enumerate(pieces) for _ in piece]
    at = 0
    for character in b"".join(pieces).decode("utf-8", "surrogateescape"):
        whole[owners[at]] += character if is_unicode(character) else f"<{ord(character) & 0xFF:02X}>"
        at += len(character.encode("utf-8", "surrogateescape"))
    return [text or "‥" * bool(piece) for text, piece in zip(whole, pieces)]


def _bytes(part: str) -> bytes:
    return bytes.fromhex(part[1:3]) if BYTE.fullmatch(part) else part.encode("utf-8")


def is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
