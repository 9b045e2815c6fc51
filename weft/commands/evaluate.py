"""weft evaluate MODEL --source FILE --reference FILE"""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from weft.commands.options import BeamWidth, Device, Json, LengthPenalty, Model, one_line
from weft.defaults import BEAM_WIDTH, LENGTH_PENALTY


def evaluate(
    model: Model,
    source: Annotated[Path, typer.Option(help="What to translate, a sentence a line; or a file of pairs (.tsv …).")],
    reference: Annotated[Path | None, typer.Option(help="What it should become; not with a file of pairs.")] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Compare without case.")] = False,
    tokenize: Annotated[str, typer.Option(help="Tokeniser of the metric (13a, intl, zh, none …).")] = "13a",
    beam: BeamWidth = BEAM_WIDTH,
    length_penalty: LengthPenalty = LENGTH_PENALTY,
    columns: Annotated[str | None, typer.Option(help="Columns of TSV files, such as 1,2.")] = None,
    languages: Annotated[str | None, typer.Option(help="Direction, such as en-de; the model's own by default.")] = None,
    output: Annotated[Path | None, typer.Option(help="Write the translations here.")] = None,
    as_json: Json = False,
    device: Device = "cpu",
) -> None:
    """Score a model on a test set with the metrics of its task, each with its signature.

    weft evaluate run --source test.en --reference test.de

    weft evaluate run --source test.en --reference test.de --lowercase --tokenize none
    """
    from weft.data.reading import read_pairs
    from weft.decoding import best_first
    from weft.tasks import load

    if output is not None:
        output.open("a").close()  # where nothing can be written is said before anything is translated
    files = [source] if reference in (None, source) else [source, reference]
    translator = load(model, device, "translate")
    reading = read_pairs(files, columns=columns, languages=languages or translator.languages)
    if reading.languages and reading.sources[0].languages == reading.languages[::-1] and reference:
        print(f"read as {' → '.join(reading.languages)}: {source} has the references", file=sys.stderr)
    pairs = list(reading)
    found = translator.evaluate(pairs, best_first(beam, length_penalty), lowercase=lowercase, tokenize=tokenize)
    if output is not None:
        output.write_text("".join(f"{one_line(line)}\n" for line in found.predictions), encoding="utf-8", newline="\n")
    if as_json:
        print(json.dumps(found.to_dict()))
        return
    for score in found.scores:
        print(f"{score.metric.label:10}  {score.value:6.2f}   {score.signature}".rstrip())
    for note in found.notes:
        print(note)
    print(f"{found.examples} sentences in {found.seconds:.1f} s")
