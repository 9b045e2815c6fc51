"""weft translate MODEL [FILE]"""

import json
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated

import typer

from weft.commands.options import BeamWidth, Device, File, Json, LengthPenalty, Model, one_line
from weft.defaults import BEAM_WIDTH, LENGTH_PENALTY

DRAWING = ("temperature", "top_k", "top_p", "seed")  # options of --sample
SEARCHING = ("beam",)  # and of the search whose place it takes


def translate(
    context: typer.Context,
    model: Model,
    file: File = None,
    beam: BeamWidth = BEAM_WIDTH,
    nbest: Annotated[int, typer.Option(min=1, help="Translations a line, best first, with tabs between.")] = 1,
    length_penalty: LengthPenalty = LENGTH_PENALTY,
    sample: Annotated[
        bool, typer.Option("--sample", help="Draw --nbest times at random instead of searching.")
    ] = False,
    temperature: Annotated[float, typer.Option(min=1e-6, help="With --sample: below 1 cautious, above 1 bold.")] = 1.0,
    top_k: Annotated[int, typer.Option(min=0, help="With --sample: only the k likeliest tokens; 0: all.")] = 0,
    top_p: Annotated[float, typer.Option(min=0.0, max=1.0, help="With --sample: this much of the mass.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="With --sample.")] = 1,
    split: Annotated[bool, typer.Option("--split", help="Split every line into sentences first.")] = False,
    too_long: Annotated[str, typer.Option(help="A line longer than the model allows: split it, or error.")] = "split",
    as_json: Json = False,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes that translate side by side, the cores divided among them.")
    ] = 1,
    device: Device = "cpu",
) -> None:
    """Translate line for line, from a file or standard input to standard output.

    echo "How are you?" | weft translate en-de

    --json prints an object a line, with the scores and the log-probability of every token.
    """
    from weft.data.reading import read_lines
    from weft.data.streaming import chunks
    from weft.decoding import Sample, best_first
    from weft.errors import WeftError
    from weft.tasks import load
    from weft.tasks.pool import TranslatorPool
    from weft.tasks.translator import AT_A_TIME

    if too_long not in ("split", "error"):
        raise WeftError(f"--too-long is split or error, not {too_long!r}.")
    if idle := _given(context, SEARCHING if sample else DRAWING):
        raise WeftError(f"{idle}: --sample draws and does not search." if sample else f"{idle}: only with --sample.")
    if not sample and nbest > beam:
        raise WeftError(f"--nbest {nbest} needs --beam {nbest} or more, not {beam}.")
    draw = Sample(temperature, top_k, top_p, nbest, seed, length_penalty)
    search = draw if sample else best_first(beam, length_penalty)
    if file is not None:
        deque(read_lines(file), maxlen=0)  # what is wrong with a file is said before anything is written
    done = 0
    with (
        nullcontext(load(model, device, "translate"))
        if workers == 1
        else TranslatorPool(model, workers, device) as translator
    ):
        for lines in chunks(read_lines(sys.stdin.buffer if file is None else file), AT_A_TIME * workers):
            answers = translator.search(lines, search, split=split, too_long=too_long, first=done + 1)
            for line, found in zip(lines, answers):
                if as_json:
                    row = {"source": line, "translations": [one.to_dict() for one in found[:nbest]]}
                    print(json.dumps(row, ensure_ascii=False), flush=True)
                else:
                    print("\t".join(one_line(one.text) for one in found[:nbest]), flush=True)
            done += len(lines)


def _given(context: typer.Context, names: Sequence[str]) -> str:
    """Which of these options were given, as a person types them."""
    sources = {name: context.get_parameter_source(name) for name in names}
    return ", ".join(
        f"--{name.replace('_', '-')}" for name, source in sources.items() if source and source.name != "DEFAULT"
    )
