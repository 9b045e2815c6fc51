"""weft attend MODEL "text" --png FILE | --grid FILE | --html FILE | --json FILE"""

from pathlib import Path
from sys import stderr
from typing import Annotated

import typer

from weft.commands.options import Model, one_line


def attend(
    model: Model,
    text: Annotated[
        str, typer.Argument(help="What the model is to read: a sentence to translate, a text to continue.")
    ],
    png: Annotated[Path | None, typer.Option(help="Write one map as a picture.")] = None,
    grid: Annotated[Path | None, typer.Option(help="Write all heads as a picture, one row per layer.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page that works from disk: lines and matrix.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the raw numbers.")] = None,
    target: Annotated[
        str | None, typer.Option(help="Use this translation or continuation instead of the model's own.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="encoder, decoder or cross; by default the last that the model has.")
    ] = None,
    layer: Annotated[int | None, typer.Option(help="Layer, counted from 1 (default: all).")] = None,
    head: Annotated[
        int | None, typer.Option(help="Head, counted from 1 (default: all; --png draws their mean).")
    ] = None,
) -> None:
    """Draw the attention of a model while it translates or continues a text.

    weft attend en-de "The cat sleeps on the mat." --png cat.png

    weft attend en-de "The cat sleeps on the mat." --kind encoder --html cat.html

    weft attend shakespeare "ROMEO:" --grid romeo.png
    """
    from importlib.util import find_spec

    from weft.errors import WeftError, install
    from weft.tasks import load

    if not (png or grid or html or json):
        raise WeftError("choose an output: --png, --grid, --html or --json.")
    if (png or grid) and not find_spec("matplotlib"):
        raise WeftError(f"pictures need matplotlib: {install('view')}.")
    seen = load(model).attention(text, target)
    kind = seen.kind(kind)
    seen.each(kind, layer, head)  # an error comes before anything is written
    if png:
        seen.save_png(png, kind=kind, layer=layer, head=head)
    if grid:
        seen.save_grid(grid, kind=kind, layer=layer)
    if html:
        seen.save_html(html, kind=kind, layer=layer)
    if json:
        seen.save_json(json, kind=kind, layer=layer, head=head)
    if png or grid:
        from weft.viewing.fonts import fonts_for

        if missing := fonts_for(seen.characters)[1]:
            shown = " ".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in missing)
            print(f"No installed font has {shown}; drawn as boxes.", file=stderr)
    print(one_line(seen.translation))
    queries, keys = seen.axes[kind]
    for file in filter(None, (png, grid, html, json)):
        print(f"{file}: {len(queries)} × {len(keys)} tokens")
