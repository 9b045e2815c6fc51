"""weft attend MODEL "sentence" --png FILE | --grid FILE | --html FILE | --json FILE"""

from pathlib import Path
from sys import stderr
from typing import Annotated

import typer

from weft.commands.options import Model, one_line


def attend(
    model: Model,
    sentence: Annotated[str, typer.Argument(help="What to translate and look at.")],
    png: Annotated[Path | None, typer.Option(help="A picture of one map, with its tokens.")] = None,
    grid: Annotated[Path | None, typer.Option(help="A picture of every head, a row a layer.")] = None,
    html: Annotated[Path | None, typer.Option(help="One page that works from disk: lines and matrix.")] = None,
    json: Annotated[Path | None, typer.Option(help="The raw numbers.")] = None,
    target: Annotated[str | None, typer.Option(help="Look at this translation instead of the model's own.")] = None,
    kind: Annotated[str, typer.Option(help="encoder, decoder or cross: who looks at whom.")] = "cross",
    layer: Annotated[int | None, typer.Option(help="A layer, counted from 1; all of them by default.")] = None,
    head: Annotated[
        int | None, typer.Option(help="A head, counted from 1; in --png the mean of all by default.")
    ] = None,
) -> None:
    """Draw what a model looks at while it reads a sentence and writes its translation.

    weft attend en-de "The cat sleeps on the mat." --png cat.png

    weft attend en-de "The cat sleeps on the mat." --kind encoder --html cat.html
    """
    from importlib.util import find_spec

    from weft.errors import WeftError, install
    from weft.tasks import load

    if not (png or grid or html or json):
        raise WeftError("say where to write what is seen: --png FILE, --grid FILE, --html FILE or --json FILE.")
    if (png or grid) and not find_spec("matplotlib"):
        raise WeftError(f"pictures need matplotlib: {install('view')}.")
    seen = load(model).attention(sentence, target)
    seen.each(kind, layer, head)  # what is not there is said before anything is written
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
            told = " ".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in missing)
            print(f"No font of this machine has {told}: drawn as boxes.", file=stderr)
    print(one_line(seen.translation))
    queries, keys = seen.axes[kind]
    for file in filter(None, (png, grid, html, json)):
        print(f"{file}: {len(queries)} × {len(keys)} tokens")
