"""weft train PLAN --train FILE... --valid FILE... --out RUN"""

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from weft.data.corpus import Corpus
    from weft.data.languages import Languages
    from weft.data.reading import Pairs
    from weft.errors import WeftError


def train(
    plan: Annotated[
        list[str] | None,
        typer.Argument(metavar="PLAN", help="A preset (see `weft show plans`), a .yaml file, or a model."),
    ] = None,
    train: Annotated[list[Path] | None, typer.Option(help="Pairs to learn from: one file or several.")] = None,
    valid: Annotated[list[Path] | None, typer.Option(help="Pairs to validate on.")] = None,
    out: Annotated[Path, typer.Option(help="The run folder.")] = Path("run"),
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="key=value: any slot or training option of the plan.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    start_from: Annotated[
        str | None, typer.Option("--from", help="Start from this model's subwords and weights (fine-tuning).")
    ] = None,
    languages: Annotated[str | None, typer.Option(help="Direction, such as en-de, where files do not name it.")] = None,
    columns: Annotated[str | None, typer.Option(help="Columns of TSV files, such as 1,2.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    workers: Annotated[int, typer.Option(min=1, help="Processes on this machine that train together.")] = 1,
    shard: Annotated[
        bool, typer.Option("--shard", help="Workers share out the model too: for one too large for each of them.")
    ] = False,
) -> None:
    """Train a model on pairs of sentences.

    weft train transformer-tiny --train train.en train.de --valid val.en val.de --out run

    weft train transformer-small --train pairs.tsv --valid dev.tsv --languages en-de --out run --set steps=5000

    weft train --out run --resume
    """
    from rich.console import Console

    from weft.data.corpus import Corpus
    from weft.errors import WeftError
    from weft.folder import Folder, find_plan, usable_device
    from weft.training.loop import Observer
    from weft.training.observers import Bar, GradientSpikes, readable
    from weft.training.parallel import ReplicatedModel, ShardedModel
    from weft.training.run import begin, check_beginning, resumed, trainer
    from weft.training.workers import hire, join
    from weft.translator import note_aligner

    if resume and start_from:
        raise WeftError("--from begins a run with a model's weights, and --resume goes on with a run: choose one.")
    usable_device(device)  # before hours of reading
    words, given = plan or [], [*(train or []), *(valid or [])]
    chosen = find_plan(_only(words, given)).with_settings(settings or []) if words or not resume else None
    with hire(workers), join(device, ShardedModel if shard else ReplicatedModel) as team:
        if shard and team.size == 1:
            raise WeftError("--shard shares a model out among workers: it needs --workers 2 or more, or torchrun.")
        console = Console(stderr=True, highlight=False, soft_wrap=True, quiet=not team.is_first)
        if resume and team.is_first:
            if not out.exists():
                raise WeftError(
                    f"there is no run folder {out} to go on with. --out names the one that a training began."
                )
            resumed(Folder.find(out), chosen.name if chosen else None, settings or [])
            if given or languages or columns:
                console.print("--resume goes on with the pairs that the run began with: no file is read again")
        elif team.is_first and chosen:
            if not train or not valid:
                raise WeftError("training needs --train FILE... and --valid FILE...")
            check_beginning(chosen, out)
            base = Folder.find(start_from) if start_from else None
            own = base.languages() if base else None
            pairs, held_out = _read(train, valid, languages or own, columns)
            if pairs.languages is None:
                console.print(
                    "these files do not name their languages, and the model will not know them: --languages en-de"
                )
            console.print("reading, learning subwords …")
            begin(chosen, pairs, held_out, out, pairs.languages, base)
            for purpose, name, files in (("learn from", "train", pairs), ("validate on", "valid", held_out)):
                console.print(_told(Corpus(out / "tokens" / name), purpose, files.passed_over))
        team.wait()
        folder = Folder.find(out)
        steps = folder.plan().training.steps
        listeners: list[Observer] = [Bar(steps, console), GradientSpikes(console.print)] if team.is_first else []
        job = trainer(folder, listeners, device, team)
        if resume:
            for sentence in job.resume():
                console.print(sentence)
            console.print(f"going on from step {job.progress.step}")
        scores = job.train()
        if team.is_first:
            note_aligner(folder)
        for sentence in job.remarks:
            console.print(sentence)
        console.print(
            f"{out}/model.safetensors: validation loss {scores['loss']:.3f}, "
            f"perplexity {readable(scores['perplexity'])}, BLEU {scores['bleu']:.1f} (greedy)"
        )


def _only(words: list[str], files: list[Path]) -> str:
    """The plan, if it is the only word that belongs to no option."""
    from weft.errors import WeftError
    from weft.plans.presets import names

    if len(words) > 1:
        raise WeftError(
            f"one plan is wanted, not {' and '.join(map(repr, words))}: files go after --train and --valid, "
            "settings as key=value after --set."
        )
    if not words:
        swallowed = next((str(file) for file in files if str(file) in names()), "PLAN")
        raise WeftError(f"the plan goes first: weft train {swallowed} --train FILE... (`weft show plans` lists them)")
    return words[0]


def _read(
    train: list[Path], valid: list[Path], languages: "str | Languages | None", columns: str | None
) -> "tuple[Pairs, Pairs]":
    """The pairs to learn from, and those to validate on, which are few and so are read through at once.

    Where something is wrong with the one, the other is looked at too: what is wrong is told in one report.
    """
    from weft.data.reading import has_tables, read_pairs
    from weft.errors import WeftError

    def read(files: list[Path], languages: "str | Languages | None") -> "Pairs":
        has_no_columns = has_tables([*train, *valid]) and not has_tables(files)  # but the others have
        return read_pairs(files, languages=languages, columns=None if has_no_columns else columns)

    try:
        pairs = read(train, languages)
    except WeftError as error:
        raise _also(error, lambda: read(valid, languages)) from None
    held_out = read(valid, pairs.languages)
    try:
        deque(held_out, maxlen=0)
    except WeftError as error:
        raise _also(error, lambda: deque(pairs, maxlen=0)) from None
    return pairs, held_out


def _also(error: "WeftError", look: Callable[[], object]) -> "WeftError":
    """The error, with what a further look finds; a line that both have is said once."""
    from weft.errors import WeftError

    try:
        look()
    except WeftError as other:
        return WeftError("\n".join(dict.fromkeys(f"{error}\n{other}".split("\n"))))
    return error


def _told(corpus: "Corpus", purpose: str, passed_over: dict[str, dict[str, int]]) -> str:
    """How many pairs there are, and what became of the rest: nothing is left out in silence."""
    lines = [f"{len(corpus):,} pairs to {purpose}"]
    lines += [f"  passed over in {file}: {_counted(entries)}" for file, entries in passed_over.items()]
    lines += [f"  pairs left out: {_counted(corpus.left_out)}"] if corpus.left_out else []
    return "\n".join(lines)


def _counted(reasons: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {why}" for why, count in reasons.items())
