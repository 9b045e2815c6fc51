"""weft cost PLAN... [--png FILE] [--html FILE] [--json]"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from weft.commands.options import Json


def cost(
    plans: Annotated[list[str], typer.Argument(help="One or more plans or models.")],
    lengths: Annotated[str | None, typer.Option(help="Lengths in tokens, such as 16,64,256.")] = None,
    widths: Annotated[str | None, typer.Option(help="Model widths, such as 64,128.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="key=value, applied to every plan.")] = None,
    png: Annotated[Path | None, typer.Option(help="Write the curves as a picture: .png, .svg or .pdf.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the curves as one self-contained page.")] = None,
    as_json: Json = False,
) -> None:
    """Measure the time and memory of plans on this machine, and how both grow with length and width.

    weft cost transformer-tiny seq2seq-rnn-tiny convs2s-tiny --png cost.png --html cost.html

    weft cost transformer-tiny --lengths 64,256,1024 --widths 128,256
    """
    import json
    from dataclasses import replace
    from importlib.util import find_spec

    from weft.disk import check_writable
    from weft.errors import WeftError, install
    from weft.folder import find_plan
    from weft.machine import facts
    from weft.viewing.formats import check_picture

    if not find_spec("scipy"):
        raise WeftError(f"weft cost needs scipy: {install('measure')}.")
    if png:
        check_picture(png)
    if png and not find_spec("matplotlib"):
        raise WeftError(f"pictures need matplotlib: {install('view')}.")
    from weft.measuring.report import lines, tables
    from weft.measuring.scaling import LENGTHS, WIDTHS, Grid
    from weft.measuring.scaling import cost as measure

    if png and png == html:
        raise WeftError(f"--png and --html must be different files, got {png} for both.")
    for file in filter(None, (png, html)):
        check_writable(file)
    grid = Grid(_numbers("--lengths", lengths) or LENGTHS, _numbers("--widths", widths) or WIDTHS)
    # Under the name as typed: several models may share one plan.
    found = [replace(find_plan(name).with_settings(settings or []), name=name) for name in dict.fromkeys(plans)]
    for plan in found:
        grid.check(plan)
    costs = [measure(plan, grid, _report) for plan in found]
    result = {"machine": facts(), "plans": [one.to_dict() for one in costs]}
    if png:
        from weft.measuring.picture import draw

        draw(costs, png)
    if html:
        from weft.measuring.page import page

        html.write_text(page(result, tables(costs)), encoding="utf-8")
    print(json.dumps(result) if as_json else "\n".join(lines(tables(costs))))


def _numbers(option: str, given: str | None) -> tuple[int, ...] | None:
    """16,64,256 → (16, 64, 256), sorted and without duplicates."""
    from weft.errors import WeftError

    if given is None:
        return None
    words = [word.strip() for word in given.split(",")]
    if wrong := [word for word in words if not word.isdecimal() or int(word) < 2]:
        raise WeftError(f"{option}: expected integers of at least 2, such as 16,64,256, got {wrong[0]!r}.")
    return tuple(sorted({int(word) for word in words}))


def _report(stage: str) -> None:
    print(stage, file=sys.stderr, flush=True)
