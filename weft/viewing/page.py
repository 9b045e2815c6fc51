"""Attention as one HTML file that works from disk: the drawings of the service's page, and the numbers, inside it."""

import json
from base64 import b64encode
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.viewing.attention import Attention

DRAWING = Path(__file__).parent / "drawing"
DIGITS = 5  # of a weight
FRAME = 640  # pixels that a notebook gives to it

PAGE = Template("""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
<header></header>
<main></main>
<script type="application/json" id="attention">$data</script>
<script type="importmap">$modules</script>
<script type="module">import "weft/standalone.js";</script>
</html>
""")


def standalone(seen: "Attention", kind: str = "cross", layer: int | None = None) -> str:
    """The page; it opens with this kind and layer (the last one where none is said)."""
    data = {**seen.plain(), "kind": kind, "layer": layer}
    data["attention"] = {
        each: {"maps": maps}
        for each in ("encoder", "decoder", "cross")
        if (maps := _rounded(getattr(seen, each).tolist()))
    }
    return PAGE.substitute(
        title=escape(seen.text),
        style="".join((DRAWING / name).read_text(encoding="utf-8") for name in ("base.css", "standalone.css")),
        data=json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"),  # nothing in it ends the script
        modules=json.dumps({"imports": {f"weft/{file.name}": _url(file) for file in sorted(DRAWING.glob("*.js"))}}),
    )


def framed(seen: "Attention") -> str:
    """The page in a frame of its own, as a notebook shows it."""
    return f'<iframe srcdoc="{escape(standalone(seen))}" style="width: 100%; height: {FRAME}px; border: 0"></iframe>'


def _url(file: Path) -> str:
    """A module that needs no server: its text in its address."""
    return f"data:text/javascript;base64,{b64encode(file.read_bytes()).decode()}"


def _rounded(values: list[object] | float) -> object:
    return round(values, DIGITS) if isinstance(values, float) else [_rounded(each) for each in values]  # type: ignore[arg-type]
