"""Options and output helpers that several commands share."""

import re
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[str, typer.Argument(help="A run folder or the name of a shipped model; A,B for an ensemble.")]
BeamWidth = Annotated[int, typer.Option("--beam", min=1, help="Beam width; 1 is greedy search.")]
LengthPenalty = Annotated[
    float, typer.Option("--length-penalty", help="α in log P / |Y|^α: a larger α prefers longer translations.")
]
Device = Annotated[str, typer.Option(help="cpu, cuda or mps.")]
Engine = Annotated[str, typer.Option(help="auto, torch or ctranslate2: what decodes translations.")]
Precision = Annotated[str, typer.Option(help="float32, or int8 with CTranslate2.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
File = Annotated[Path | None, typer.Argument(help="A text file; standard input by default.")]


def given(context: typer.Context, names: Sequence[str]) -> list[str]:
    """Those of these options that were given on the command line."""
    sources = {name: context.get_parameter_source(name) for name in names}
    return [name for name, source in sources.items() if source and source.name != "DEFAULT"]


def columns() -> int:
    """The width of the terminal within reason, or 120 where the output is a file or a pipe."""
    return max(60, min(120, shutil.get_terminal_size((120, 24)).columns))


def hanging(label: str, text: str) -> str:
    """A label with a text next to it, wrapped to the terminal and indented to where the text begins."""
    return textwrap.fill(label + text, columns(), subsequent_indent=" " * len(label), break_on_hyphens=False)


def one_line(text: str) -> str:
    """Replace control characters by spaces, so that a text stays on its line and in its column."""
    return re.sub(r"[\x00-\x1f\x7f]", " ", text)
