"""weft train PLAN --train FILE... --valid FILE... --out RUN"""

from pathlib import Path
from typing import Annotated, Any

import typer


def train(
    plan: Annotated[
        list[str] | None,
        typer.Argument(metavar="PLAN", help="A preset (see `weft show plans`), a .yaml file, or a model."),
    ] = None,
    train: Annotated[list[Path] | None, typer.Option(help="Files to train on.")] = None,
    valid: Annotated[
        list[Path] | None, typer.Option(help="Files to validate on; without them, a language model holds out a tenth.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The run folder.")] = Path("run"),
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="key=value: any slot or training option of the plan.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False,
    start_from: Annotated[
        str | None, typer.Option("--from", help="Start from this model's vocabulary and weights (fine-tuning).")
    ] = None,
    languages: Annotated[str | None, typer.Option(help="Direction, such as en-de, if file names do not tell.")] = None,
    columns: Annotated[str | None, typer.Option(help="Columns of TSV files, such as 1,2.")] = None,
    documents: Annotated[
        str | None, typer.Option(help="What is a document in plain text: file (default), blank-line or line.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    workers: Annotated[int, typer.Option(min=1, help="Number of processes on this machine.")] = 1,
    shard: Annotated[
        bool,
        typer.Option("--shard", help="Shard the model over the workers (FSDP), if it is too large for one."),
    ] = False,
) -> None:
    """Train a model on your own data.

    weft train transformer-tiny --train train.en train.de --valid val.en val.de --out run

    weft train gpt-tiny --train text.txt --out run

    weft train transformer-small --train pairs.tsv --valid dev.tsv --languages en-de --out run --set steps=5000

    weft train --out run --resume
    """
    from rich.console import Console

    from weft.errors import WeftError
    from weft.plans.plan import Plan
    from weft.tasks import Task
    from weft.training.loop import Observer
    from weft.training.observers import Bar, GradientSpikes
    from weft.training.parallel import ReplicatedModel, ShardedModel
    from weft.training.run import train as run_training
    from weft.training.workers import init_workers, spawn_workers

    words, given = plan or [], [*(train or []), *(valid or [])]
    name = _only(words, given) if words or not resume else None
    with spawn_workers(workers), init_workers(device, ShardedModel if shard else ReplicatedModel) as team:
        if shard and team.size == 1:
            raise WeftError("--shard needs several workers: add --workers 2 or more, or use torchrun.")
        console = Console(stderr=True, highlight=False, soft_wrap=True, quiet=not team.is_first)

        def observers(task: "Task[Any]", plan: "Plan") -> "list[Observer]":
            return [Bar(plan.training.steps, task.metrics, console), GradientSpikes(console.print)]

        ended = run_training(
            name,
            train,
            valid,
            out,
            settings=settings or [],
            resume=resume,
            start_from=start_from,
            device=device,
            workers=team,
            observers=observers,
            tell=console.print,
            languages=languages,
            columns=columns,
            documents=documents,
        )
        for sentence in ended.remarks:
            console.print(sentence)
        shown = ", ".join(f"{metric.label} {metric.show(ended.scores[metric.name])}" for metric in ended.metrics)
        console.print(f"{out}/model.safetensors: validation {shown}")


def _only(words: list[str], files: list[Path]) -> str:
    """The plan, if it is the only word that belongs to no option."""
    from weft.errors import WeftError
    from weft.plans.presets import names

    if len(words) > 1:
        raise WeftError(
            f"expected one plan, got {' and '.join(map(repr, words))}: files go after --train and --valid, "
            "settings as key=value after --set."
        )
    if not words:
        swallowed = next((str(file) for file in files if str(file) in names()), "PLAN")
        raise WeftError(f"the plan goes first: weft train {swallowed} --train FILE... (`weft show plans` lists them)")
    return words[0]
