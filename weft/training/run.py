"""Training, from files to a model folder: `train` does all of it, `begin`, `resumed` and `trainer` one step each."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from weft.data.batches import Batches
from weft.data.corpus import Corpus
from weft.disk import damage, friendly_disk_errors, owned
from weft.errors import WeftError
from weft.evaluation.scores import Metric
from weft.folder import Folder, find_plan
from weft.parts.optimisers import Optimiser
from weft.plans.aliases import remarks
from weft.plans.catalogues import BATCHINGS, OPTIMISERS
from weft.plans.plan import Plan
from weft.plans.rules import check
from weft.plans.size import outline
from weft.tasks import Task, task_of
from weft.training.loop import Observer, Scores, Trainer
from weft.training.observers import Curves, EveryNSteps, MetricsFile, TensorBoard
from weft.training.precision import chosen_precision, supported
from weft.training.reading import read_examples
from weft.training.workers import ALONE, Workers
from weft.weights import load_weights, parameters, read_weights, save_weights, usable_device

ORDER = ("batch_tokens", "longest", "bpe_dropout", "seed", "batching")  # what the order of the data depends on
PURPOSES = {"train": "training", "valid": "validation"}
START = "start.safetensors"  # the weights that fine-tuning starts from
BEGINNING = ".beginning"  # marks a folder until its plan is written, which comes last

Examples = Iterable[Any] | Sequence[str | Path] | str | Path  # examples, or files of examples


@dataclass(frozen=True)
class Trained:
    """The result of a training."""

    folder: Folder
    scores: Scores  # of the finished model, by the name of the metric
    metrics: Sequence[Metric]
    remarks: list[str]


def train(
    plan: Plan | str | None,
    train: Examples | None = None,
    valid: Examples | None = None,
    out: str | Path = "run",
    *,
    settings: Sequence[str] | dict[str, Any] = (),
    resume: bool = False,
    start_from: str | Path | None = None,
    device: str = "cpu",
    workers: Workers = ALONE,
    observers: Callable[[Task[Any], Plan], Sequence[Observer]] = lambda task, plan: [],
    tell: Callable[[str], None] = lambda line: None,
    facts: dict[str, Any] | None = None,
    **options: Any,
) -> Trained:
    """Train a model from files or examples into the folder `out`; `weft train` does the same.

    `options` are those of the task's reader, such as languages="en-de". `tell` receives messages, `observers` build
    what receives the metrics; `facts` are recorded in the folder.
    """
    out = Path(out)
    if resume and start_from:
        raise WeftError("--from starts a run from a model's weights, --resume continues a run: choose one.")
    where = usable_device(device)  # before hours of reading
    chosen = (find_plan(plan) if isinstance(plan, str) else plan).with_settings(settings) if plan else None
    if workers.is_first:
        for remark in remarks(settings):
            tell(remark)
        if resume:
            if not out.exists():
                raise WeftError(f"no run folder {out} to resume; --out names the folder of an earlier run.")
            resumed(Folder.find(out), chosen.name if chosen else None, settings)
            if train or valid or any(options.values()):
                tell("--resume uses the run's own data; files given here are ignored")
        else:
            if chosen is None:
                raise WeftError("training needs a plan: weft train PLAN (`weft show plans` lists them).")
            if train is None:
                raise WeftError("training needs --train FILE... and --valid FILE...")
            check_beginning(chosen, out)
            check_precision(chosen, where)
            base = Folder.find(start_from) if start_from else None
            learned, held_out = read_examples(task_of(chosen), train, valid, base, tell, **options)
            tell("reading, learning the vocabulary …")
            begin(chosen, learned, held_out, out, base, **facts or {})
            for name, examples in (("train", learned), ("valid", held_out)):
                tell(_counts(Corpus(out / "tokens" / name), task_of(chosen), PURPOSES[name], examples))
    workers.wait()
    folder = Folder.find(out)
    task = task_of(folder.plan())
    job = trainer(folder, observers(task, folder.plan()) if workers.is_first else (), device, workers)
    if resume:
        for sentence in job.resume():
            tell(sentence)
        tell(f"resuming from step {job.progress.step}")
    job.precision = chosen_precision(job, folder, tell)
    scores = job.train()
    if workers.is_first:
        task.finish(folder)
    return Trained(folder, scores, task.metrics, job.remarks)


def begin(
    plan: Plan, train: Iterable[Any], valid: Iterable[Any], out: Path, start_from: Folder | None = None, **facts: Any
) -> Folder:
    """Make a run folder: plan, codecs and tokens. Codecs and initial weights are those of `start_from`, if given. If
    anything fails, `out` is left empty; what a killed process left there is removed."""
    check_beginning(plan, out)
    out.mkdir(parents=True, exist_ok=True)
    with owned(out), friendly_disk_errors(out):
        check_beginning(plan, out)  # another process may have begun in the meantime
        _empty(out)
        return _begun(plan, train, valid, out, start_from, facts)


def _begun(
    plan: Plan, train: Iterable[Any], valid: Iterable[Any], out: Path, start_from: Folder | None, facts: dict[str, Any]
) -> Folder:
    task = task_of(plan)
    codecs = task.learn(train, plan) if start_from is None else {name: start_from.codec(name) for name in task.codecs}
    vocabulary = len(codecs[task.codecs[0]])
    plan = plan.with_settings({"vocabulary": vocabulary})
    if start_from is not None and _shapes(plan) != _shapes(start_from.plan()):
        name = start_from.name
        raise WeftError(
            f"{name} was trained with the plan {start_from.plan().name!r}, and {plan.name!r} with these settings has a "
            f"different shape. Its own plan fits: weft train {name} --from {name} …"
        )
    folder = Folder(out)
    try:
        (out / BEGINNING).touch()
        block = BATCHINGS.value(plan.training.batching, "length")
        known = [limit for limit in (block, *outline(plan).limits.values()) if limit is not None]
        sets = (("valid", valid, min(known, default=None)), ("train", train, None if block else plan.training.longest))
        for name, examples, longest in sets:
            rows = task.encode(examples, codecs, longest)
            corpus = Corpus.write(out / "tokens" / name, task.columns, rows, vocabulary)
            if len(corpus) == 0:
                skipped = f" (skipped: {_counted(corpus.left_out)})" if corpus.left_out else ""
                raise WeftError(f"no {PURPOSES[name]} {task.unit} left{skipped}.")
        if start_from is not None:
            save_weights(read_weights(start_from.weights()), out / START)
        folder.describe(plan, codecs, **task.facts(train, start_from) | facts)
        (out / BEGINNING).unlink()
    except BaseException:
        _empty(out)
        raise
    return folder


def check_beginning(plan: Plan, out: Path) -> None:
    """Raise an error for a training that cannot begin, before anything is read."""
    check(plan)
    task_of(plan).check(plan)
    if "," in str(out):
        raise WeftError(f"{out} has a comma, which separates the models of an ensemble; choose another --out.")
    if (out / "plan.yaml").exists():
        raise WeftError(f"{out} already holds a run; continue it with --resume, or choose another --out.")
    begun = _unfinished(out) if (out / BEGINNING).is_file() else []
    if out.exists() and (not out.is_dir() or len(begun) < len(list(out.iterdir()))):
        raise WeftError(f"{out} is not an empty folder; choose another --out.")


def check_precision(plan: Plan, device: torch.device) -> None:
    """Raise an error if the training computes in a precision that this machine does not support."""
    if plan.training.precision != "auto" and not supported(plan.training.precision, device):
        raise WeftError("training.precision: needs bfloat16, which this machine does not support; see `weft doctor`.")
    needed = OPTIMISERS.makes(plan.training.optimiser.name).precision
    if not supported(needed, device):
        others = [name for name in OPTIMISERS if OPTIMISERS.makes(name).precision == Optimiser.precision]
        raise WeftError(
            f"training.optimiser: {plan.training.optimiser.name} needs {needed}, which this machine does not support; "
            f"set optimiser={' or '.join(others)}, or see `weft doctor`."
        )


def _shapes(plan: Plan) -> dict[str, torch.Size]:
    return {name: parameter.shape for name, parameter in parameters(outline(plan)).items()}


def _empty(folder: Path) -> None:
    """Remove what `begin` writes, and nothing else."""
    for thing in _unfinished(folder):
        if thing.is_dir():
            shutil.rmtree(thing)
        else:
            thing.unlink()


def _unfinished(folder: Path) -> list[Path]:
    """What an interrupted `begin` may have left, its mark last: it stays until the rest is removed."""
    written = (BEGINNING, "tokens", START, "plan.yaml")
    found = [thing for thing in folder.iterdir() if thing.name in written or thing.suffix in (".json", ".draft")]
    return sorted(found, key=lambda thing: thing.name == BEGINNING)


def resumed(folder: Folder, name: str | None, settings: Sequence[str] | dict[str, Any]) -> Folder:
    """The run folder with changed training options; the architecture is fixed. A plan, if named, must be its own."""
    with owned(folder.path):
        old = folder.plan()
        new = old.with_settings(settings)
        if name not in (None, old.name):
            raise WeftError(f"{folder.path} was started with the plan {old.name!r}, not {name!r}.")
        if replace(new, training=old.training) != old:
            raise WeftError("only training options can be changed on resume; the architecture is fixed.")
        if changed := [name for name in ORDER if getattr(new.training, name) != getattr(old.training, name)]:
            raise WeftError(f"{', '.join(changed)} cannot be changed on resume: the order of the data depends on it.")
        was, now = (one.training.optimiser.name for one in (old, new))
        if was != now:
            raise WeftError(f"the optimiser cannot be changed on resume: this run uses {was}, got {now}.")
        check(new)
        task_of(new).check(new)
        new.write(folder.path / "plan.yaml")
    return folder


def trainer(
    folder: Folder, observers: Iterable[Observer] = (), device: str = "cpu", workers: Workers = ALONE
) -> Trainer:
    """The trainer of a run folder, at its first step; only the first worker has observers."""
    plan, task = folder.plan(), task_of(folder.plan())
    codecs = {name: folder.codec(name) for name in task.codecs}
    train, valid = (_corpus(folder, name) for name in ("train", "valid"))
    check_precision(plan, usable_device(device))
    torch.manual_seed(plan.training.seed)
    try:
        model = plan.build().to(usable_device(device))
    except RuntimeError as error:
        if not isinstance(error, torch.OutOfMemoryError) and "allocate memory" not in str(error):
            raise
        raise WeftError(
            f"not enough memory for this model: {str(error).rpartition(': ')[2]} Choose a smaller width, fewer layers "
            f"or a smaller plan than {plan.name!r}; `weft show PLAN` shows the size of a plan."
        ) from error
    if (folder.path / START).exists():
        load_weights(model, folder.path / START)
    if not workers.is_first:
        torch.manual_seed(plan.training.seed + 2**32 * workers.rank)  # the same weights, but different dropout
    options, best_by = plan.training, task.metric(plan.training.best_by)
    return Trainer(
        model,
        options,
        Batches(
            train,
            BATCHINGS.build(options.batching),
            options.batch_tokens,
            options.seed,
            lambda rows, random: task.collate(rows, codecs, random),
            lambda rows, seed: task.augment(rows, codecs, options, seed),
        ),
        partial(task.validate, corpus=valid, codecs=codecs, workers=workers),
        best_by,
        folder,
        [*observers, *recorders(folder)] if workers.is_first else [],
        workers,
    )


def recorders(folder: Folder) -> Iterator[Observer]:
    """The observers that write to a run folder, as far as their packages are installed."""
    metrics, plan = folder.path / "metrics.jsonl", folder.plan()
    yield EveryNSteps(MetricsFile(metrics))
    if find_spec("tensorboard"):
        yield EveryNSteps(TensorBoard(folder.path / "tensorboard"))
    if find_spec("matplotlib"):
        yield Curves(metrics, folder.path / "curves.png", task_of(plan).metric(plan.training.best_by))


def _corpus(folder: Folder, name: str) -> Corpus:
    tokens, run = folder.path / "tokens" / name, folder.path
    try:
        if not Corpus.exists(tokens):
            raise WeftError(f"its tokens are gone ({tokens}).")
        if wrong := damage(tokens, Corpus.FILES):
            raise WeftError(f"{tokens} is damaged: {wrong}.")
        return Corpus(tokens)
    except WeftError as error:
        raise WeftError(
            f"{run} cannot be resumed: {error} If it has weights, they can start a new run on the same files: "
            f"weft train {run} --from {run} --train … --valid … --out NEW"
        ) from None


def _counts(corpus: Corpus, task: Task[Any], purpose: str, examples: Any) -> str:
    """Report how many examples there are and how many were skipped, so that none is dropped silently."""
    lines = [task.counted(corpus, purpose)]
    passed_over = getattr(examples, "passed_over", {})
    lines += [f"  skipped in {file}: {_counted(entries)}" for file, entries in passed_over.items()]
    lines += [f"  skipped {task.unit}: {_counted(corpus.left_out)}"] if corpus.left_out else []
    return "\n".join(lines)


def _counted(reasons: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {why}" for why, count in reasons.items())
