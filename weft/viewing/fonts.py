"""Fonts for the text of a picture, in any script."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib
from matplotlib.font_manager import fontManager, get_font

USUAL = "DejaVu Sans"  # comes with matplotlib
BOXES = "Last Resort"  # comes with it too, and draws a box for every character


def fonts_for(text: str) -> tuple[list[str], str]:
    """Return the default font, the installed fonts that cover the rest of a text, and what no font has."""
    fonts, missing = [USUAL], _without(text, fontManager.findfont(USUAL))
    for font in fontManager.ttflist:
        if missing and not font.name.startswith(BOXES) and (rest := _without(missing, font.fname)) != missing:
            fonts, missing = [*fonts, font.name], rest
    return fonts, missing


@contextmanager
def with_fonts_for(text: str) -> Iterator[None]:
    """Draw with fonts for this text. Characters that no font has become boxes; the caller may warn about them."""
    with matplotlib.rc_context({"font.family": fonts_for(text)[0]}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def _without(text: str, file: str) -> str:
    """Return the characters that a font does not have, each once."""
    known = get_font(file).get_charmap()
    return "".join(c for c in dict.fromkeys(text) if ord(c) not in known and not c.isspace())
