"""The colours that the page, pictures and plots share, from `palette.json`: a list for light and one for dark paper.

`ramp` is attention from 0 to 1, `diverging` a difference from −1 to 1, `heads` tell heads apart, also by lightness, and
a family of models has one colour everywhere: attention blue, recurrence red to purple, convolution green.
"""

import json
from collections.abc import Sequence
from pathlib import Path

PALETTE = json.loads((Path(__file__).parent / "palette.json").read_text(encoding="utf-8"))
RAMP: Sequence[str] = PALETTE["ramp"]["light"]
DIVERGING: Sequence[str] = PALETTE["diverging"]["light"]
HEADS: Sequence[str] = PALETTE["heads"]["light"]
FAMILIES: dict[str, str] = PALETTE["families"]["light"]
INK, GREY, FAINT = "#1d1c1a", "#65625b", "#b9b5ac"  # of text, of captions, of axes
TINTS = (0.0, 0.45, 0.7)  # of plans of one family: how far towards white
ALSO = {"dates": "transformer", "llama": "gpt"}  # presets that are not named after their family


def family(plan: str) -> str | None:
    """The family of a preset, or of a model that is named after one.

    >>> family("convs2s-tiny"), family("gpt-2"), family("runs/bahdanau-tiny-1"), family("mine")
    ('convs2s', 'gpt', 'bahdanau', None)
    """
    name = Path(plan).name
    known = {**{each: each for each in FAMILIES}, **ALSO}
    return next((each for start, each in known.items() if name == start or name.startswith(f"{start}-")), None)


def colours(plans: Sequence[str]) -> list[str]:
    """A colour for each plan: that of its family, tinted for further plans of one; for others, one that is left."""
    left = [colour for each, colour in FAMILIES.items() if each not in set(map(family, plans))] or list(HEADS)
    seen: dict[str, int] = {}
    found = []
    for plan in plans:
        own = family(plan)
        colour = FAMILIES[own] if own else left[seen.get("", 0) % len(left)]
        key = own or ""
        found.append(tinted(colour, TINTS[seen.get(key, 0) % len(TINTS)] if own else 0.0))
        seen[key] = seen.get(key, 0) + 1
    return found


def tinted(colour: str, part: float) -> str:
    """A colour mixed with white: all of it for a part of 0.

    >>> tinted("#000000", 0.5)
    '#808080'
    """
    return "#" + "".join(f"{round(c + (255 - c) * part):02x}" for c in bytes.fromhex(colour[1:]))
