"""weft evaluate MODEL --source FILE --reference FILE"""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from weft.commands.options import BeamWidth, Device, Json, LengthPenalty, Model, one_line


def evaluate(
    model: Model,
    source: Annotated[Path, typer.Option(help="Source sentences, one per line; or a file of pairs (.tsv …).")],
    reference: Annotated[
        Path | None, typer.Option(help="Reference translations, unless --source is a file of pairs.")
    ] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    tokenize: Annotated[
        str, typer.Option(help="sacreBLEU's tokeniser; none for text that is already tokenised.")
    ] = "13a",
    beam: BeamWidth = 5,
    length_penalty: LengthPenalty = 1.0,
    columns: Annotated[str | None, typer.Option(help="Columns of TSV files, such as 1,2.")] = None,
    languages: Annotated[str | None, typer.Option(help="Direction, such as en-de; by default the model's.")] = None,
    output: Annotated[Path | None, typer.Option(help="Write the translations to this file.")] = None,
    as_json: Json = False,
    device: Device = "cpu",
) -> None:
    """Translate a test set and score it.

    BLEU and chrF come from sacreBLEU, with their signatures; perplexity from the model.

    weft evaluate run --source test.en --reference test.de

    weft evaluate run --source test.en --reference test.de --lowercase --tokenize none
    """
    from weft.data.reading import read_pairs
    from weft.decoding import best_first
    from weft.evaluation.report import report
    from weft.translator import load

    if output is not None:
        output.open("a").close()  # where nothing can be written is said before anything is translated
    files = [source] if reference in (None, source) else [source, reference]
    translator = load(model, device)
    reading = read_pairs(files, columns=columns, languages=languages or translator.languages)
    if reading.languages and reading.sources[0].languages == reading.languages[::-1] and reference:
        print(f"read as {' → '.join(reading.languages)}: {source} has the references", file=sys.stderr)
    pairs = list(reading)
    found = report(translator, pairs, best_first(beam, length_penalty), lowercase=lowercase, tokenize=tokenize)
    if output is not None:
        output.write_text("".join(f"{one_line(line)}\n" for line in found.translations), encoding="utf-8", newline="\n")
    if as_json:
        print(json.dumps(found.to_dict()))
        return
    print(f"BLEU        {found.bleu.score:6.2f}   {found.bleu.signature}")
    print(f"chrF        {found.chrf.score:6.2f}   {found.chrf.signature}")
    if found.perplexity is not None:
        print(f"perplexity  {found.perplexity:6.2f}   per subword token, END counted, no smoothing")
    if found.left_out:
        print(f"perplexity leaves out {found.left_out} of {found.sentences} pairs: longer than the model's positions")
    print(f"{found.sentences} sentences in {found.seconds:.1f} s")
