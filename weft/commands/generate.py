"""weft generate MODEL [PROMPT]"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.commands.options import Device, Json, Model, given
from weft.defaults import TEMPERATURE

if TYPE_CHECKING:
    from weft.decoding.sampling import Sampling
    from weft.tasks.generator import Generator


OF_SAMPLING = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "stop", "seed", "alternatives")


def generate(
    context: typer.Context,
    model: Model,
    prompt: Annotated[
        str | None, typer.Argument(help="The text to continue; by default standard input, if it is not a terminal.")
    ] = None,
    prompts: Annotated[Path | None, typer.Option(help="Continue each line of this file.")] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="How many tokens to write at most.")] = 200,
    temperature: Annotated[
        float,
        typer.Option(min=0.0, help="Below 1 is more cautious, above 1 more diverse; 0 is greedy."),
    ] = TEMPERATURE,
    top_k: Annotated[int, typer.Option(min=0, help="Only the k likeliest tokens; 0 for all.")] = 0,
    top_p: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Only the likeliest tokens with this total probability.")
    ] = 1.0,
    min_p: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Only tokens with this fraction of the highest probability.")
    ] = 0.0,
    repetition_penalty: Annotated[float, typer.Option(help="Above 1, repeated tokens are less likely.")] = 1.0,
    stop: Annotated[list[str] | None, typer.Option(help="End before this text (repeatable).")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    n: Annotated[int, typer.Option("-n", "--n", min=1, help="Number of continuations.")] = 1,
    beam: Annotated[int | None, typer.Option(min=1, help="Use beam search of this width instead of sampling.")] = None,
    as_json: Json = False,
    alternatives: Annotated[int, typer.Option(min=0, help="With --json: the likeliest tokens of each step.")] = 5,
    device: Device = "cpu",
) -> None:
    """Continue a text with a language model.

    weft generate shakespeare "ROMEO:"

    echo "Once upon a time" | weft generate run --temperature 0.5 --stop "."

    --json prints one object per continuation, with the log-probability of every token and its alternatives.
    """
    from weft.data.reading import read_lines
    from weft.decoding.sampling import Sampling
    from weft.errors import WeftError
    from weft.tasks import load

    if beam is not None and (unused := given(context, OF_SAMPLING)):
        raise WeftError(f"--{unused[0].replace('_', '-')} is for sampling and has no effect with --beam.")
    if prompt is not None and prompts is not None:
        raise WeftError("give a prompt or --prompts FILE, not both.")
    if not as_json and "alternatives" in given(context, ("alternatives",)):
        raise WeftError("--alternatives has no effect without --json.")
    if prompts is not None:
        texts = list(read_lines(prompts))
        if not texts:
            raise WeftError(f"{prompts} is empty.")
    else:
        piped = prompt is None and not sys.stdin.isatty()
        texts = ["\n".join(read_lines(sys.stdin.buffer)) if piped else prompt or ""]
    generator = load(model, device, "generate")
    _refuse_unreadable(generator, texts, prompts)
    if beam is not None and n > beam:
        raise WeftError(f"--n {n} needs --beam {n} or more, got {beam}.")
    sampling = Sampling(temperature, top_k, top_p, min_p, repetition_penalty)
    options: dict[str, Any] = {"max_tokens": max_tokens, "seed": seed, "stop": stop or ()}
    if not as_json and beam is None and len(texts) == n == 1:
        _stream(generator, texts[0], sampling, options)
        return
    if beam is None:
        found = generator.complete(texts, sampling, n=n, alternatives=alternatives * as_json, **options)
    else:
        found = [generator.likeliest(text, beam, max_tokens)[:n] for text in texts]
    for text, some in zip(texts, found):
        for one in some:
            print(json.dumps({"prompt": text, **one.to_dict()}, ensure_ascii=False) if as_json else text + one.text)
            if n > 1 and not as_json:
                print()  # a continuation may have several lines
    if any(one.has_slid for some in found for one in some):
        _say_that_it_slid(generator)


def _refuse_unreadable(generator: "Generator", texts: list[str], file: Path | None) -> None:
    """Raise one error that lists all prompts with unknown characters."""
    from weft.errors import WeftError

    wrong = []
    for number, text in enumerate(texts, 1):
        try:
            generator.prompt(text)
        except WeftError as error:
            wrong.append(f"{file}:{number}: {error}" if file else str(error))
    if wrong:
        raise WeftError("\n".join(wrong))


def _stream(generator: "Generator", text: str, sampling: "Sampling", options: dict[str, Any]) -> None:
    """Print the prompt and its continuation as it is written."""
    writer = generator.writer(generator.prompt(text), sampling, **options)
    print(text, end="", flush=True)
    for _, piece in generator.write([writer]):
        print(piece, end="", flush=True)
    print(flush=True)
    if writer.continuation.has_slid:
        _say_that_it_slid(generator)


def _say_that_it_slid(generator: "Generator") -> None:
    print(
        f"longer than the context of {generator.context} tokens: whenever it was full, the model went on from the last "
        "half",
        file=sys.stderr,
    )
