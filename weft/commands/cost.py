"""weft cost PLAN... [--png FILE] [--html FILE] [--json]"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from weft.commands.options import Json


def cost(
    plans: Annotated[list[str], typer.Argument(help="Plans or models, any number of them.")],
    lengths: Annotated[str | None, typer.Option(help="Tokens of a sentence, such as 16,64,256.")] = None,
    widths: Annotated[str | None, typer.Option(help="Widths of the model, such as 64,128.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="key=value, for all plans.")] = None,
    png: Annotated[Path | None, typer.Option(help="The curves as a picture.")] = None,
    html: Annotated[Path | None, typer.Option(help="The curves as one page that works from disk.")] = None,
    as_json: Json = False,
) -> None:
    """Measure what plans cost on this machine, against length and width, and what that grows with.

    weft cost transformer-tiny seq2seq-rnn-tiny convs2s-tiny --png cost.png --html cost.html

    weft cost transformer-tiny --lengths 64,256,1024 --widths 128,256
    """
    import json
    from dataclasses import replace
    from importlib.util import find_spec

    from weft.disk import check_writable
    from weft.errors import WeftError, install
    from weft.folder import find_plan
    from weft.measuring.report import lines, tables
    from weft.measuring.scaling import LENGTHS, WIDTHS, Grid, machine
    from weft.measuring.scaling import cost as measure

    if png and not find_spec("matplotlib"):
        raise WeftError(f"pictures need matplotlib: {install('view')}.")
    if png and png == html:
        raise WeftError(f"--png, --html: two files are wanted, not {png} twice.")
    for file in filter(None, (png, html)):
        check_writable(file)
    grid = Grid(_numbers("--lengths", lengths) or LENGTHS, _numbers("--widths", widths) or WIDTHS)
    # Under the name that was typed: several models may have one plan.
    found = [replace(find_plan(name).with_settings(settings or []), name=name) for name in dict.fromkeys(plans)]
    for plan in found:
        grid.check(plan)
    costs = [measure(plan, grid, _tell) for plan in found]
    told = {"machine": machine(), "plans": [one.to_dict() for one in costs]}
    if png:
        from weft.measuring.picture import draw

        draw(costs, png)
    if html:
        from weft.measuring.page import page

        html.write_text(page(told, tables(costs)), encoding="utf-8")
    print(json.dumps(told) if as_json else "\n".join(lines(tables(costs))))


def _numbers(option: str, given: str | None) -> tuple[int, ...] | None:
    """16,64,256 → (16, 64, 256): in order, each once."""
    from weft.errors import WeftError

    if given is None:
        return None
    words = [word.strip() for word in given.split(",")]
    if wrong := [word for word in words if not word.isdecimal() or int(word) < 2]:
        raise WeftError(f"{option}: numbers from 2 on are wanted, such as 16,64,256, not {wrong[0]!r}.")
    return tuple(sorted({int(word) for word in words}))


def _tell(what: str) -> None:
    print(what, file=sys.stderr, flush=True)
