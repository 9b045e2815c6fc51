"""weft show [plans | parts [NAME] | MODEL or PLAN [--set key=value ...] [--yaml]]"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.commands.options import columns, hanging

if TYPE_CHECKING:
    from weft.folder import Folder

LISTS = ("plans", "parts")


def show(
    what: Annotated[
        str | None, typer.Argument(help="plans, parts, a plan or a model; without it, all plans and parts.")
    ] = None,
    name: Annotated[str | None, typer.Argument(help="With parts: a slot or a part.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Change settings first: key=value …")] = None,
    as_yaml: Annotated[bool, typer.Option("--yaml", help="Print only the plan, as a file for weft train.")] = False,
) -> None:
    """List plans and parts, or explain a plan or model.

    Of a plan: every setting, the parameters by part, and the cost of a training step. Of a model also its scores.

    weft show plans

    weft show parts feed_forward

    weft show transformer-base

    weft show transformer-tiny --set mixer=lstm

    weft show transformer-tiny --yaml > my.yaml
    """
    from weft.errors import WeftError

    if name is not None and what != "parts":
        raise WeftError(f"unexpected argument {name!r}: show takes one plan or model, or parts NAME.")
    if settings and what in (None, *LISTS):
        raise WeftError("--set needs a plan, as in weft show transformer-tiny --set mixer=lstm.")
    if as_yaml and what in (None, *LISTS):
        raise WeftError("--yaml needs a plan, as in weft show transformer-tiny --yaml.")
    if what in (None, "plans"):
        _plans()
    if what in (None, "parts"):
        _parts(name)
    if what not in (None, *LISTS):
        _one(str(what), settings or [], as_yaml)


def _plans() -> None:
    from weft.folder import Folder, shipped
    from weft.plans.presets import names, plan
    from weft.plans.size import outline
    from weft.tasks import task_of

    print("plans (weft train PLAN …)")
    for name in names():
        found = plan(name)
        size = _millions(sum(p.numel() for p in outline(found).parameters()))
        print(hanging(f"  {name:22} {size:>7}  ", found.about))
    print("\nmodels")
    for folder in map(Folder.find, shipped()):
        task = task_of(folder.plan())
        print(f"  {folder.name:22} {task.noted(folder)} (weft {task.verb} {folder.name} …)")


def _parts(wanted: str | None) -> None:
    from weft.data.codecs import CODECS
    from weft.errors import WeftError, unknown
    from weft.plans import catalogues
    from weft.plans.assemble import MODELS
    from weft.plans.catalogue import Catalogue
    from weft.tasks import TASKS

    codecs: Catalogue[Any] = Catalogue("codec", ("tokens",), CODECS)
    every: list[Catalogue[Any]] = [TASKS, MODELS, codecs, *catalogues.ALL]
    inner = {part: f"{outer.slot}.{option}" for outer in every for option, part in outer.inner.items()}
    known = {name for catalogue in every for name in (catalogue.slot, *catalogue)}
    if wanted is not None and wanted not in known:
        raise WeftError(unknown("slot or part", wanted, known, "weft show parts"))
    for catalogue in every:
        slot = inner.get(catalogue, catalogue.slot)
        names = [name for name in catalogue if wanted in (None, catalogue.slot, name)]
        if names:
            print(f"\n{slot} (--set {slot}=NAME)")
        for name in names:
            defaults = {key: option.default for key, option in catalogue.options(name).items()}
            options = ", ".join(key if value is None else f"{key}={value}" for key, value in defaults.items())
            print(hanging(f"  {name:19} ", catalogue.about(name)))
            if options:
                print(hanging(f"{'':22}", f"[{options}]"))


def _one(name: str, settings: list[str], as_yaml: bool) -> None:
    from weft.folder import Folder, find_plan, is_plan
    from weft.plans.explain import explained
    from weft.plans.rules import check
    from weft.plans.size import outline, parameters_by_part, step_cost
    from weft.tasks import task_of

    found = find_plan(name, also=LISTS).with_settings(settings)
    check(found)
    task_of(found).check(found)
    if as_yaml:
        print("# A plan for `weft train`. `weft show parts` lists what can take the place of each part.")
    print(explained(found, columns()), end="" if as_yaml else "\n")
    if as_yaml:
        return
    counts = parameters_by_part(outline(found))
    total = sum(counts.values())
    print(f"parameters: {total:,}")
    for part, count in counts.items():
        print(f"  {part:50} {count:>12,}  {count / total:5.1%}")
    cost = step_cost(found)
    print(
        f"\none step: {cost.tokens:,} tokens{' per side' * (len(found.sides()) > 1)}, {_flop(cost.operations)} "
        f"forward and backward\n(at {cost.length} tokens per {cost.unit})"
    )
    if not is_plan(name):
        _model(Folder.find(name))


def _model(folder: "Folder") -> None:
    """What a model folder has besides its plan: what its task noted, the latest scores of a run, a card."""
    from weft.disk import path_inside
    from weft.tasks import task_of
    from weft.training.observers import metrics_rows

    print(f"\n{task_of(folder.plan()).noted(folder)}")
    metrics = path_inside(folder.path, "metrics.jsonl")
    validations = [row for row in metrics_rows(metrics) if "valid" in row] if metrics.is_file() else []
    for row in validations[-1:]:
        scores = ", ".join(f"{name} {value:.2f}" for name, value in row["valid"].items() if isinstance(value, float))
        print(f"latest validation: step {row['step']}, {scores}")
    if card := folder.card():
        print(f"\n{card}", end="")


def _millions(count: int) -> str:
    return f"{count / 1e6:.1f}M"


def _flop(count: int) -> str:
    return f"{count / 1e9:,.0f} GFLOP" if count >= 1e10 else f"{count / 1e6:,.0f} MFLOP"
