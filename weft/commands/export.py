"""weft export MODEL --to ctranslate2 --out DIR"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.commands.options import one_line

if TYPE_CHECKING:
    from weft.exports.agreement import Agreement

SHOWN = 3  # differences that are printed


def export(
    model: Annotated[str, typer.Argument(help="A run folder or the name of a shipped model.")],
    to: Annotated[str, typer.Option(help="The engine to write for: ctranslate2.")],
    out: Annotated[Path, typer.Option(help="A new folder.")],
    quantize: Annotated[str, typer.Option(help="How weights are kept: float32, float16, int16, int8 …")] = "float32",
    sample: Annotated[Path | None, typer.Option(help="Lines to check the export on, instead of our own.")] = None,
) -> None:
    """Write a model for another engine, and check there and then that both translate alike.

    weft export en-de --to ctranslate2 --out en-de-ct2

    weft export en-de --to ctranslate2 --out en-de-int8 --quantize int8
    """
    from weft.exports.export import export as write
    from weft.folder import Folder

    found = write(Folder.find(model), to, out, quantize, sample)
    print(f"{out}: {sum(file.stat().st_size for file in out.iterdir()) / 1e6:.1f} MB, weights as {quantize}")
    _report(found)
    print(f"how to use it: {out / 'README.md'}")


def _report(found: "Agreement") -> None:
    print(f"checked on {found.texts} texts: log-probabilities of a token differ by {found.gap:.1g} at most")
    for searched in found.searched:
        name = "greedy search" if searched.beam == 1 else f"beam {searched.beam}"
        cut = f", {searched.cut} cut by the limit on length and not compared" if searched.cut else ""
        print(f"{name}: {searched.same} of {found.texts} translations are the same{cut}")
        for one in searched.different[:SHOWN]:
            print(f"  {one_line(one.text)}\n    weft    {one_line(one.ours)}\n    export  {one_line(one.theirs)}")
            print(f"    the export rates its own {abs(one.gain):.1g} {'better' if one.gain >= 0 else 'worse'} a token")
