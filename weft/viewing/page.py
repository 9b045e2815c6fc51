"""One HTML file that works from disk: drawings and numbers lie inside it. Attention has those of the service's page."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from weft.viewing.attention_heads import KINDS

if TYPE_CHECKING:
    from weft.viewing.attention_maps import Attention

DRAWING = Path(__file__).parent / "drawing"
SCRIPTS = ("dom.js", "lines.js", "matrix.js", "overview.js", "panel.js", "standalone.js")
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
<script type="application/json" id="$name">$data</script>
<script type="importmap">$modules</script>
<script type="module">import "weft/$script";</script>
</html>
""")


def standalone(seen: "Attention", kind: str = "cross", layer: int | None = None) -> str:
    """The page; it opens with this kind and layer (the last one where none is said)."""
    data = {**seen.to_dict(), "kind": kind, "layer": layer}
    data["attention"] = {each: {"maps": maps} for each in KINDS if (maps := _rounded(getattr(seen, each).tolist()))}
    return document(seen.text, "attention", data, SCRIPTS, ("base.css", "standalone.css"))


def document(title: str, name: str, data: Mapping[str, Any], scripts: Sequence[str], styles: Sequence[str]) -> str:
    """A page around the data that lies in it under this name. The last script draws it, with the help of the others."""
    return PAGE.substitute(
        title=escape(title),
        style="".join((DRAWING / style).read_text(encoding="utf-8") for style in styles),
        name=name,
        data=json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"),  # nothing in it ends the script
        modules=json.dumps({"imports": {f"weft/{script}": _url(DRAWING / script) for script in scripts}}),
        script=scripts[-1],
    )


def framed(seen: "Attention") -> str:
    """The page in a frame of its own, as a notebook shows it; in words where there is nothing to see."""
    if not any(getattr(seen, kind).size(0) for kind in KINDS):
        words = escape(f"{seen.model} has no attention: there is nothing to look at.")
        return f"<p>{escape(seen.translation)}<br>{words}</p>"
    return f'<iframe srcdoc="{escape(standalone(seen))}" style="width: 100%; height: {FRAME}px; border: 0"></iframe>'


def _url(file: Path) -> str:
    """A module that needs no server: its text in its address."""
    return f"data:text/javascript;base64,{b64encode(file.read_bytes()).decode()}"


def _rounded(values: list[object] | float) -> object:
    return round(values, DIGITS) if isinstance(values, float) else [_rounded(each) for each in values]  # type: ignore[arg-type]
