"""A training from pairs of sentences to a model folder: tokenise, build, train, average."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import torch

from weft.data.batches import Batches
from weft.data.corpus import Corpus
from weft.data.languages import Languages
from weft.data.tokeniser import Tokeniser
from weft.disk import damage, friendly_disk_errors, owned
from weft.errors import WeftError
from weft.folder import Folder, load_weights, parameters, read_weights, save_weights, usable_device
from weft.plans.catalogues import POSITIONS
from weft.plans.plan import Plan
from weft.plans.rules import check
from weft.plans.size import outline
from weft.training.loop import Observer, Trainer
from weft.training.observers import Curves, EveryNSteps, MetricsFile, TensorBoard
from weft.training.validation import Validation
from weft.training.workers import ALONE, Workers

Pairs = Iterable[tuple[str, str]]
LEARN_FROM = 2_000_000  # pairs that subwords are learned from; more would only cost time and memory

ORDER = ("batch_tokens", "longest", "bpe_dropout", "seed")  # what the order of the data hangs on
START = "start.safetensors"  # the weights a fine-tuning begins with
BEGINNING = ".beginning"  # stands in a folder until its plan does, which is written last
WRITTEN = (BEGINNING, "tokens", START, "about.json", "tokeniser.json", "plan.yaml")


def begin(
    plan: Plan,
    train: Pairs,
    valid: Pairs,
    out: Path,
    languages: Languages | None = None,
    start_from: Folder | None = None,
) -> Folder:
    """Make a run folder: the plan, the subwords and the tokens. `start_from` lends its subwords and its weights.

    Where anything is wrong, `out` is left empty; what a killed process left there is cleared up.
    """
    check_beginning(plan, out)
    out.mkdir(parents=True, exist_ok=True)
    with owned(out), friendly_disk_errors(out):
        check_beginning(plan, out)  # nobody else has begun in the meantime
        _empty(out)
        return _begun(plan, train, valid, out, languages, start_from)


def _begun(
    plan: Plan, train: Pairs, valid: Pairs, out: Path, languages: Languages | None, start_from: Folder | None
) -> Folder:
    if start_from is None:
        tokeniser = Tokeniser.train(_texts(train), plan.vocabulary)
    else:
        tokeniser = start_from.tokeniser()
        languages = languages or start_from.languages()
        if _shapes(plan, len(tokeniser)) != _shapes(start_from.plan(), len(tokeniser)):
            name = start_from.name
            raise WeftError(
                f"{name} was made with the plan {start_from.plan().name!r} as it was set then, and {plan.name!r} as it "
                f"is set now has another shape. Its own plan fits: weft train {name} --from {name} …"
            )
    folder = Folder(out)
    try:
        (out / BEGINNING).touch()
        known = POSITIONS.build(plan.position, plan.width).limit
        _write_tokens(out / "tokens" / "valid", "validate", valid, tokeniser, known)
        _write_tokens(out / "tokens" / "train", "train", train, tokeniser, plan.training.longest)
        if start_from is not None:
            save_weights(read_weights(start_from.weights()), out / START)
        folder.describe(plan.with_settings({"vocabulary": len(tokeniser)}), tokeniser, languages)
        (out / BEGINNING).unlink()
    except BaseException:
        _empty(out)
        raise
    return folder


def check_beginning(plan: Plan, out: Path) -> None:
    """Refuse what cannot be begun, before anything is read."""
    check(plan)
    if "," in str(out):
        raise WeftError(f"{out} has a comma, which stands between models (weft translate A,B); choose another --out.")
    if (out / "plan.yaml").exists():
        raise WeftError(f"{out} already holds a training. --resume continues it; or choose another --out.")
    begun = _unfinished(out) if (out / BEGINNING).is_file() else []
    if out.exists() and (not out.is_dir() or len(begun) < len(list(out.iterdir()))):
        raise WeftError(f"{out} is not an empty folder; choose another --out.")


def _shapes(plan: Plan, vocabulary: int) -> dict[str, torch.Size]:
    model = outline(plan.with_settings({"vocabulary": vocabulary}))
    return {name: parameter.shape for name, parameter in parameters(model).items()}


def _write_tokens(folder: Path, purpose: str, pairs: Pairs, tokeniser: Tokeniser, longest: int | None) -> None:
    corpus = Corpus.write(folder, pairs, tokeniser, longest)
    if len(corpus) == 0:
        left_out = ", ".join(f"{count} {why}" for why, count in corpus.left_out.items()) or "none was given"
        raise WeftError(f"there is no pair to {purpose} with: {left_out}.")


def _empty(folder: Path) -> None:
    """Of what a beginning writes, and of nothing else."""
    for thing in _unfinished(folder):
        if thing.is_dir():
            shutil.rmtree(thing)
        else:
            thing.unlink()


def _unfinished(folder: Path) -> list[Path]:
    """What says that it is one comes last: it stays until the rest is gone."""
    found = [thing for thing in folder.iterdir() if thing.name in WRITTEN or thing.name.endswith(".draft")]
    return sorted(found, key=lambda thing: thing.name == BEGINNING)


def resumed(folder: Folder, name: str | None, settings: Sequence[str]) -> Folder:
    """The same run folder, with other training options where they are set; what the model is made of stays.

    Whoever names a plan means a run of that plan.
    """
    with owned(folder.path):
        old = folder.plan()
        new = old.with_settings(settings)
        if name not in (None, old.name):
            raise WeftError(f"{folder.path} was begun with the plan {old.name!r}, not {name!r}.")
        if replace(new, training=old.training) != old:
            raise WeftError("only training options can be set anew when a run is resumed: the model is what it is.")
        if changed := [name for name in ORDER if getattr(new.training, name) != getattr(old.training, name)]:
            raise WeftError(
                f"{', '.join(changed)} cannot be set anew when a run is resumed: the order of the data hangs on it."
            )
        check(new)
        new.write(folder.path / "plan.yaml")
    return folder


def trainer(
    folder: Folder, observers: Iterable[Observer] = (), device: str = "cpu", workers: Workers = ALONE
) -> Trainer:
    """The training of a run folder, at its beginning; only the first worker tells others how it goes."""
    plan, tokeniser = folder.plan(), folder.tokeniser()
    train, valid = (_corpus(folder, name) for name in ("train", "valid"))
    torch.manual_seed(plan.training.seed)
    with _friendly_memory_errors(plan):
        model = plan.build(vocabulary=len(tokeniser)).to(usable_device(device))
    if (folder.path / START).exists():
        load_weights(model, folder.path / START)
    if not workers.is_first:
        torch.manual_seed(plan.training.seed + 2**32 * workers.rank)  # the same weights, but dropout of one's own
    options = plan.training
    return Trainer(
        model,
        options,
        Batches(train, options.batch_tokens, options.seed, tokeniser, options.bpe_dropout, options.longest),
        Validation([(s.tolist(), t.tolist()) for s, t in valid], tokeniser, workers=workers),
        folder,
        [*observers, *recorders(folder)] if workers.is_first else [],
        workers,
    )


@contextmanager
def _friendly_memory_errors(plan: Plan) -> Iterator[None]:
    """Within this context a model too large for the machine is an error for the user to read."""
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, torch.OutOfMemoryError) and "allocate memory" not in str(error):
            raise
        raise WeftError(
            f"there is no memory for this model: {str(error).rpartition(': ')[2]} Choose a smaller width, fewer layers "
            f"or a smaller plan than {plan.name!r}; `weft show PLAN` says how large one is."
        ) from error


def recorders(folder: Folder) -> Iterator[Observer]:
    """What a run folder keeps of its training, as far as the packages for it are installed."""
    metrics = folder.path / "metrics.jsonl"
    yield EveryNSteps(MetricsFile(metrics))
    if find_spec("tensorboard"):
        yield EveryNSteps(TensorBoard(folder.path / "tensorboard"))
    if find_spec("matplotlib"):
        yield Curves(metrics, folder.path / "curves.png")


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
            f"{run} cannot be resumed: {error} Where it has weights, they can start a new run on the same files: "
            f"weft train {run} --from {run} --train … --valid … --out NEW"
        ) from None


def _texts(pairs: Pairs) -> Iterator[str]:
    given = whole = 0
    for source, target in islice(pairs, LEARN_FROM):
        given += 1
        whole += bool(source.strip() and target.strip())
        yield source
        yield target
    if given and not whole:
        raise WeftError(f"there is no pair to train with: {given} with an empty side.")
