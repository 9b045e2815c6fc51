"""One HTML file that works from disk, with scripts and numbers inside. Attention is drawn as by the service."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from weft.viewing.attention_heads import described

if TYPE_CHECKING:
    from weft.viewing.attention_maps import AttentionMaps

DRAWING = Path(__file__).parent / "drawing"
ELEMENTS = ("vendor/lit.js", "element.js", "colours.js", "words.js", "controls.js", "saving.js", "figure.js")
ATTENTION = ("store.js", "view.js", "bars.js", "grid.js", "lines.js", "matrix.js", "look.js", "standalone.js")
DIGITS = 5  # of a weight
FRAME = 640  # pixels, the height in a notebook

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


def standalone(seen: "AttentionMaps", kind: str | None = None, layer: int | None = None) -> str:
    """Return the page, which opens with this kind and layer (by default the last ones)."""
    data = {**seen.to_dict(), "kind": seen.kind(kind), "layer": layer, "kinds": described(seen.kinds)}
    data["attention"] = {each: {"maps": _rounded(seen.maps[each].tolist())} for each in seen.kinds}
    data["axes"] = {each: seen.axes[each] for each in seen.kinds}
    data["hash"] = seen.hash
    return document(seen.text, "attention", data, (*ELEMENTS, *ATTENTION), ("base.css", "standalone.css"))


def document(title: str, name: str, data: Mapping[str, Any], scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Return a page with the data embedded under this name. The last script draws it and imports the others."""
    return PAGE.substitute(
        title=escape(title),
        style="".join((DRAWING / style).read_text(encoding="utf-8") for style in styles),
        name=name,
        data=json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"),  # nothing in it ends the script
        modules=json.dumps({"imports": {f"weft/{script}": _url(DRAWING / script) for script in scripts}}),
        script=scripts[-1],
    )


def framed(seen: "AttentionMaps") -> str:
    """Return the page in a frame, for notebooks, or a sentence where the model has no attention."""
    if not seen.kinds:
        words = escape(f"{seen.model} has no attention.")
        return f"<p>{escape(seen.translation)}<br>{words}</p>"
    return f'<iframe srcdoc="{escape(standalone(seen))}" style="width: 100%; height: {FRAME}px; border: 0"></iframe>'


def _url(file: Path) -> str:
    """Return a script as a data URL, which needs no server."""
    return f"data:text/javascript;base64,{b64encode(file.read_bytes()).decode()}"


def _rounded(values: list[object] | float) -> object:
    return round(values, DIGITS) if isinstance(values, float) else [_rounded(each) for each in values]  # type: ignore[arg-type]
