"""weft attend MODEL "text" --map FILE | --lines FILE | --grid FILE | …; weft attend MODEL --heads FILE"""

import shlex
from pathlib import Path
from sys import stderr
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.commands.options import Device, Model, one_line

if TYPE_CHECKING:
    from weft.viewing.attention_maps import AttentionMaps
    from weft.viewing.head_scores import HeadScores

FIRST = 1000  # examples that heads are ranked on
SHOWN = ("layer", "head", "query", "kind", "target")  # options that a caption repeats
PLACES = {-1: "previous", 0: "same", 1: "next"}


def attend(
    context: typer.Context,
    model: Model,
    text: Annotated[
        str | None, typer.Argument(help="What the model is to read: a sentence to translate, a text to continue.")
    ] = None,
    map: Annotated[
        list[Path] | None,
        typer.Option("--map", "--png", "--svg", "--pdf", help="Write one map as a picture: .png, .svg or .pdf."),
    ] = None,
    lines: Annotated[Path | None, typer.Option(help="Write lines between tokens as a picture.")] = None,
    grid: Annotated[Path | None, typer.Option(help="Write all heads as a picture, one row per layer.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write one map as a table.")] = None,
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
        int | None, typer.Option(help="Head, counted from 1 (default: all; --map draws their mean).")
    ] = None,
    query: Annotated[
        int | None, typer.Option(help="Token that looks, counted from 1: --lines of it alone, --csv of each step.")
    ] = None,
    heads: Annotated[
        Path | None, typer.Option(help="Rank the heads on a file: pairs (.tsv), or text for a language model.")
    ] = None,
    first: Annotated[int, typer.Option(help="With --heads: the number of examples.")] = FIRST,
    alignments: Annotated[
        Path | None, typer.Option(help="With --heads: links of words, such as 0-0 1-2, for each pair.")
    ] = None,
    device: Device = "cpu",
) -> None:
    """Draw the attention of a model while it translates or continues a text, or rank its heads on many texts.

    weft attend en-de "The cat sleeps on the mat." --map cat.svg

    weft attend en-de "The cat sleeps on the mat." --layer 2 --lines cat.pdf

    weft attend shakespeare "ROMEO:" --grid romeo.png

    weft attend en-de --heads dev.tsv --grid heads.pdf
    """
    from importlib.util import find_spec

    from weft.commands.options import given
    from weft.disk import check_writable
    from weft.errors import WeftError, install
    from weft.tasks import load
    from weft.viewing.formats import check_picture, check_table

    pictures = [*(map or []), *filter(None, (lines, grid))]
    files = [*pictures, *filter(None, (csv, html, json))]
    for file in pictures:
        check_picture(file)
    for option, table in {"csv": csv, "html": html, "json": json}.items():
        check_table(table, option)
    if (text is None) == (heads is None):
        raise WeftError("give a text to look at, or a file to rank the heads on: --heads FILE.")
    of_other = ("first", "alignments") if heads is None else ("map", "lines", "csv", "html", "target", *SHOWN[:4])
    if wrong := given(context, of_other):
        without = "can only be used with --heads" if heads is None else "cannot be used with --heads"
        raise WeftError(f"{', '.join(f'--{name}' for name in wrong)} {without}.")
    if text is not None and not files:
        raise WeftError("choose an output: --map, --lines, --grid, --csv, --html or --json.")
    if query is not None and (map or grid or html or json or (csv and not (layer and head))):
        raise WeftError("--query is for --lines, and with --layer and --head for --csv.")
    if pictures and not find_spec("matplotlib"):
        raise WeftError(f"pictures need matplotlib: {install('view')}.")
    if twice := [file for file in files if files.count(file) > 1]:
        raise WeftError(f"{twice[0]} cannot be written twice: give each output a file of its own.")
    for file in files:
        check_writable(file)
    if heads is not None:
        _rank(load(model, device), heads, first, alignments, json, grid)
        return
    seen = load(model, device).attention(text, target)
    kind = seen.kind(kind)
    seen.each(kind, layer, head)  # an error comes before anything is written
    which = {"kind": kind, "layer": layer, "head": head}
    seen.query(kind, query)
    for file in map or []:
        seen.save_map(file, **which, command=_command(context, "map", file))
    if lines:
        seen.save_lines(lines, **which, query=query, command=_command(context, "lines", lines))
    if grid:
        seen.save_grid(grid, kind=kind, layer=layer, command=_command(context, "grid", grid))
    if csv:
        seen.save_csv(csv, **which, query=query)
    if html:
        seen.save_html(html, kind=kind, layer=layer)
    if json:
        seen.save_json(json, **which)
    if pictures:
        _tell_missing(seen)
    print(one_line(seen.translation))
    queries, keys = seen.axes[kind]
    for file in files:
        print(f"{file}: {len(queries)} × {len(keys)} tokens")


def _command(context: typer.Context, option: str, file: Path) -> str:
    """The command that draws this file alone."""
    chosen = {name: context.params[name] for name in SHOWN if context.params[name] is not None}
    options = [word for name, value in chosen.items() for word in (f"--{name}", str(value))]
    return _shell("attend", context.params["model"], context.params["text"], *options, f"--{option}", file.name)


def _shell(*words: str) -> str:
    """A command as people write it: in double quotes where a shell would not change what is in them."""
    quoted = (
        f'"{word}"' if shlex.quote(word) != word and not set(word) & set('"$`\\!') else shlex.quote(word)
        for word in words
    )
    return " ".join(("weft", *quoted))


def _tell_missing(seen: "AttentionMaps") -> None:
    from weft.viewing.fonts import fonts_for

    if missing := fonts_for(seen.characters)[1]:
        shown = " ".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in missing)
        print(f"No installed font has {shown}; drawn as boxes.", file=stderr)


def _rank(
    predictor: Any, file: Path, first: int, alignments: Path | None, json: Path | None, grid: Path | None
) -> None:
    """Rank the heads; the numbers are kept in the folder of the model, where the page finds them."""
    from weft.folder import SHIPPED

    found = predictor.head_scores(file, first=first, alignments=alignments, tell=_say)
    _say("")
    folder = predictor.folders[0].path
    if json is None and folder.parent != SHIPPED:
        json = folder / "heads.json"
    if json:
        found.save_json(json)
    if grid:
        counted = () if first == FIRST else ("--first", str(first))
        found.save_grid(grid, _shell("attend", found.model, "--heads", file.name, *counted, "--grid", grid.name))
    _print_table(found)
    for written in filter(None, (json, grid)):
        print(f"{written}: {len(found.heads)} heads")


def _say(stage: str) -> None:
    if stderr.isatty():
        print(f"\r\x1b[K{stage}", end="", file=stderr, flush=True)


def _print_table(found: "HeadScores") -> None:
    from rich.console import Console
    from rich.table import Table

    columns = ("previous", "same", "next", "first", "end", "alignment")
    told = [name for name in columns if any(getattr(head, name) is not None for head in found.heads)]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("head", "loss", "95 %", "entropy", "distance", *told, "looks most at"):
        table.add_column(name, justify="left" if name in ("head", "looks most at") else "right", no_wrap=True)
    for one in found.heads:
        table.add_row(
            f"{one.kind} {one.layer}.{one.head}",
            f"{one.loss:+.4f}",
            f"{one.low:+.4f} … {one.high:+.4f}",
            f"{one.entropy:.2f}",
            f"{one.distance:.1f}",
            *("" if (value := getattr(one, name)) is None else f"{value:.2f}" for name in told),
            "" if one.offset is None else f"{one.position:.0%} {PLACES.get(one.offset, f'{one.offset:+d}')}",
        )
    Console(highlight=False, width=None if stderr.isatty() else 140).print(table)
    print(f"Ranked by {found.by}. With all heads it is {found.loss:.3f}.")
    if found.aligned:
        print(f"alignment: 1 − alignment error rate against {found.aligned}.")
