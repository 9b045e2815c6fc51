"""weft translate MODEL [FILE]"""

import json
import sys
from collections import deque
from contextlib import nullcontext
from typing import Annotated, Any

import typer

from weft.commands.options import (
    BeamWidth,
    Device,
    Engine,
    File,
    Json,
    LengthPenalty,
    Model,
    Precision,
    given,
    one_line,
)
from weft.defaults import BEAM_WIDTH, LENGTH_PENALTY

DRAWING = ("temperature", "top_k", "top_p", "seed")  # options of --sample
SEARCHING = ("beam",)  # and of the search whose place it takes


def translate(
    context: typer.Context,
    model: Model,
    file: File = None,
    beam: BeamWidth = BEAM_WIDTH,
    nbest: Annotated[int, typer.Option(min=1, help="Translations per line, best first, separated by tabs.")] = 1,
    length_penalty: LengthPenalty = LENGTH_PENALTY,
    sample: Annotated[bool, typer.Option("--sample", help="Sample --nbest translations instead of searching.")] = False,
    temperature: Annotated[
        float, typer.Option(min=1e-6, help="With --sample: below 1 is more cautious, above 1 more diverse.")
    ] = 1.0,
    top_k: Annotated[int, typer.Option(min=0, help="With --sample: only the k likeliest tokens; 0 for all.")] = 0,
    top_p: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="With --sample: only the likeliest tokens with this total probability."),
    ] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="With --sample: random seed.")] = 1,
    split: Annotated[bool, typer.Option("--split", help="Split each line into sentences first.")] = False,
    too_long: Annotated[str, typer.Option(help="Lines longer than the model allows: split or error.")] = "split",
    as_json: Json = False,
    workers: Annotated[int, typer.Option(min=1, help="Number of parallel processes, which share the cores.")] = 1,
    device: Device = "cpu",
    engine: Engine = "auto",
    precision: Precision = "float32",
) -> None:
    """Translate line by line, from a file or standard input to standard output.

    echo "How are you?" | weft translate en-de

    --json prints one object per line, with scores and the log-probability of every token.
    """
    from weft.data.reading import read_lines
    from weft.data.streaming import chunks
    from weft.data.texts import AT_A_TIME
    from weft.engines.choosing import Choice, engine_of, is_worth
    from weft.engines.loading import Quick
    from weft.errors import WeftError
    from weft.folder import Folder

    if too_long not in ("split", "error"):
        raise WeftError(f"--too-long must be split or error, got {too_long!r}.")
    names = given(context, SEARCHING if sample else DRAWING)
    if idle := ", ".join(f"--{name.replace('_', '-')}" for name in names):
        raise WeftError(
            f"{idle} cannot be used with --sample." if sample else f"{idle} can only be used with --sample."
        )
    if not sample and nbest > beam:
        raise WeftError(f"--nbest {nbest} needs --beam {nbest} or more, got {beam}.")
    choice = Choice(engine, precision)
    if file is not None:
        deque(read_lines(file), maxlen=0)  # report a bad file before writing anything
    if sample:
        choice.refuse("it does not sample as weft does.")
    folders = [Folder.find(name) for name in model.split(",")]
    decoder = None if sample else engine_of(folders, choice, is_worth(file), device, workers)
    if decoder and not decoder.takes(beam, length_penalty):
        choice.refuse(f"it does not search as weft does with --beam {beam} --length-penalty {length_penalty:g}.")
        decoder = None
    opened: Any
    search: Any
    if decoder:
        opened, search = nullcontext(Quick(model, decoder)), (beam, length_penalty)
    else:  # only now, because these need torch
        from weft.decoding import Sample, best_first
        from weft.tasks import load
        from weft.tasks.pool import TranslatorPool

        draw = Sample(temperature, top_k, top_p, nbest, seed, length_penalty)
        search = draw if sample else best_first(beam, length_penalty)
        one = workers == 1
        opened = nullcontext(load(model, device, "translate")) if one else TranslatorPool(model, workers, device)
    done, rated = 0, nbest if as_json else 0
    with opened as translator:
        for lines in chunks(read_lines(sys.stdin.buffer if file is None else file), AT_A_TIME * workers):
            answers = translator.search(lines, search, split=split, too_long=too_long, first=done + 1, rated=rated)
            for line, found in zip(lines, answers):
                if as_json:
                    row = {"source": line, "translations": [one.to_dict() for one in found[:nbest]]}
                    print(json.dumps(row, ensure_ascii=False), flush=True)
                else:
                    print("\t".join(one_line(one.text) for one in found[:nbest]), flush=True)
            done += len(lines)
