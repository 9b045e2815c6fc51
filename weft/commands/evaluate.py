"""weft evaluate MODEL --source FILE --reference FILE; weft evaluate MODEL --text FILE"""

import json
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated

import typer

from weft.commands.options import BeamWidth, Device, Engine, Json, LengthPenalty, Model, Precision, given, one_line
from weft.defaults import BEAM_WIDTH, LENGTH_PENALTY

GENERAL = ("model", "output", "as_json", "device", "engine", "precision")  # options for every model


def evaluate(
    context: typer.Context,
    model: Model,
    source: Annotated[
        Path | None, typer.Option(help="Source sentences, one per line; or a file of pairs (.tsv …).")
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(help="Reference translations, unless --source is a file of pairs.")
    ] = None,
    text: Annotated[
        list[Path] | None, typer.Option(help="Of a language model: files or folders of text (repeatable).")
    ] = None,
    documents: Annotated[str, typer.Option(help="What is a document in --text: file, blank-line or line.")] = "file",
    stride: Annotated[
        int | None, typer.Option(help="With --text: tokens by which the window moves; by default all of it.")
    ] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    tokenize: Annotated[
        str, typer.Option(help="Tokeniser of the metric (13a, intl, zh …); none for text that is already tokenised.")
    ] = "13a",
    beam: BeamWidth = BEAM_WIDTH,
    length_penalty: LengthPenalty = LENGTH_PENALTY,
    columns: Annotated[str | None, typer.Option(help="Columns of TSV files, such as 1,2.")] = None,
    languages: Annotated[str | None, typer.Option(help="Direction, such as en-de; by default the model's.")] = None,
    output: Annotated[Path | None, typer.Option(help="Write the translations to this file.")] = None,
    as_json: Json = False,
    device: Device = "cpu",
    engine: Engine = "auto",
    precision: Precision = "float32",
) -> None:
    """Score a model on a test set with the metrics of its task, each with its signature.

    weft evaluate run --source test.en --reference test.de

    weft evaluate shakespeare --text held-out.txt --stride 64
    """
    from weft.engines.choosing import Choice, equip, is_worth
    from weft.errors import WeftError

    choice = Choice(engine, precision)  # before torch is imported
    from weft.tasks import load

    if output is not None:
        output.open("a").close()  # an error comes before anything is computed
    predictor = load(model, device)
    own = signature(predictor.score_files).parameters
    options = {name: context.params[name] for name in given(context, [*context.params]) if name not in GENERAL}
    if foreign := [f"--{name.replace('_', '-')}" for name in options if name not in own]:
        raise WeftError(f"{', '.join(foreign)} cannot be used with {model}, a model for weft {predictor.verb}.")
    if missing := [name for name, each in own.items() if each.default is Parameter.empty and name not in options]:
        raise WeftError(f"{model} needs --{missing[0]} FILE.")
    equip([predictor], choice, source is not None and is_worth(source))
    found = predictor.score_files(**options)
    if output is not None:
        output.write_text("".join(f"{one_line(line)}\n" for line in found.predictions), encoding="utf-8", newline="\n")
    if as_json:
        print(json.dumps(found.to_dict()))
        return
    for score in found.scores:
        print(f"{score.metric.label:10}  {score.metric.show(score.value):>6}   {score.signature}".rstrip())
    for note in found.notes:
        print(note)
    unit = found.unit.removesuffix("s") if found.examples == 1 else found.unit
    print(f"{found.examples:,} {unit} in {found.seconds:.1f} s")
