"""weft export MODEL --to ctranslate2|huggingface|gguf --out DIR"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.commands.options import one_line

if TYPE_CHECKING:
    from weft.exports.agreement import Agreement

SHOWN = 3  # differences that are printed


def export(
    model: Annotated[str, typer.Argument(help="A run folder or the name of a shipped model.")],
    to: Annotated[str, typer.Option(help="Format: ctranslate2, huggingface or gguf.")],
    out: Annotated[Path, typer.Option(help="Output folder; must not exist yet.")],
    quantize: Annotated[
        str, typer.Option(help="Precision of the weights: float32, float16, int16, int8 …")
    ] = "float32",
    sample: Annotated[
        Path | None, typer.Option(help="Check the export on these lines instead of the validation set.")
    ] = None,
) -> None:
    """Export a model to another engine, and check that both give the same answers.

    weft export en-de --to ctranslate2 --out en-de-ct2

    weft export en-de --to ctranslate2 --out en-de-int8 --quantize int8

    weft export shakespeare --to huggingface --out shakespeare-hf
    """
    from weft.exports.export import export as write
    from weft.folder import Folder

    found = write(Folder.find(model), to, out, quantize, sample)
    print(f"{out}: {sum(file.stat().st_size for file in out.iterdir()) / 1e6:.1f} MB, weights as {quantize}")
    _report(found)
    print(f"how to use it: see {out / 'README.md'}")


def _report(found: "Agreement") -> None:
    print(f"checked on {found.texts} texts: token log-probabilities differ by at most {found.gap:.1g}")
    for searched in found.searched:
        name = "greedy search" if searched.beam == 1 else f"beam {searched.beam}"
        cut = f", {searched.cut} cut off by the length limit and not compared" if searched.cut else ""
        print(f"{name}: {searched.same} of {found.texts} {found.unit} are identical{cut}")
        for one in searched.different[:SHOWN]:
            print(f"  {one_line(one.text)}\n    weft    {one_line(one.ours)}\n    export  {one_line(one.theirs)}")
            print(
                f"    the export scores its own {abs(one.gain):.1g} {'better' if one.gain >= 0 else 'worse'} per token"
            )
