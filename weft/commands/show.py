"""weft show [plans | parts [NAME] | MODEL or PLAN [--set key=value ...]]"""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from weft.folder import Folder

LISTS = ("plans", "parts")


def show(
    what: Annotated[str | None, typer.Argument(help="plans, parts, a plan or a model.")] = None,
    name: Annotated[str | None, typer.Argument(help="With parts: one slot, or one part.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="key=value: what another plan would be, before it is trained.")
    ] = None,
) -> None:
    """List plans and parts, or print one plan with its parameters and the cost of a step, or a model with its card.

    weft show plans

    weft show parts feed_forward

    weft show transformer-base

    weft show transformer-tiny --set mixer=lstm
    """
    from weft.errors import WeftError

    if name is not None and what != "parts":
        raise WeftError(f"only parts are shown by name, as in weft show parts {name}; one thing at a time otherwise.")
    if settings and what in (None, *LISTS):
        raise WeftError("--set changes one plan, as in weft show transformer-tiny --set mixer=lstm.")
    if what in (None, "plans"):
        _plans()
    if what in (None, "parts"):
        _parts(name)
    if what not in (None, *LISTS):
        _one(str(what), settings or [])


def _plans() -> None:
    from weft.folder import Folder, shipped
    from weft.plans.presets import names, plan
    from weft.plans.size import outline

    print("plans (weft train PLAN …)")
    for name in names():
        found = plan(name)
        print(f"  {name:22} {_millions(sum(p.numel() for p in outline(found).parameters())):>7}  {found.about}")
    print("\nmodels (weft translate MODEL …)")
    for name in shipped():
        print(f"  {name:22} {_direction(Folder.find(name))}")


def _parts(wanted: str | None) -> None:
    from weft.errors import WeftError, unknown
    from weft.plans.catalogues import ALL

    inner = {part: f"{outer.slot}.{option}" for outer in ALL for option, part in outer.inner.items()}
    known = {name for catalogue in ALL for name in (catalogue.slot, *catalogue)}
    if wanted is not None and wanted not in known:
        raise WeftError(unknown("slot or part", wanted, known, "weft show parts"))
    for catalogue in ALL:
        slot = inner.get(catalogue, catalogue.slot)
        names = [name for name in catalogue if wanted in (None, catalogue.slot, name)]
        if names:
            print(f"\n{slot} (--set {slot}=NAME)")
        for name in names:
            defaults = {key: option.default for key, option in catalogue.options(name).items()}
            options = ", ".join(key if value is None else f"{key}={value}" for key, value in defaults.items())
            print(f"  {name:17} {catalogue.about(name)}" + (f"   [{options}]" if options else ""))


def _one(name: str, settings: list[str]) -> None:
    from weft.folder import Folder, find_plan, is_plan
    from weft.plans.notation import write_yaml
    from weft.plans.resolved import resolved
    from weft.plans.size import outline, parameters_by_part, step_cost

    found = find_plan(name, also=LISTS).with_settings(settings)
    print(write_yaml(resolved(found).to_dict()))
    counts = parameters_by_part(outline(found))
    total = sum(counts.values())
    print(f"parameters: {total:,}")
    for part, count in counts.items():
        print(f"  {part:50} {count:>12,}  {count / total:5.1%}")
    cost = step_cost(found)
    print(
        f"\na step: {cost.tokens:,} tokens on each side, {_flop(cost.operations)} forward and back "
        f"(sentences of {cost.length} tokens)"
    )
    if not is_plan(name):
        _model(Folder.find(name))


def _model(folder: "Folder") -> None:
    """What a folder tells beside its plan: languages, the newest scores of a run, the card of a shipped model."""
    from weft.disk import within
    from weft.training.observers import metrics_rows

    print(f"\nlanguages: {_direction(folder)}")
    metrics = within(folder.path, "metrics.jsonl")
    validations = [row for row in metrics_rows(metrics) if "valid" in row] if metrics.is_file() else []
    for row in validations[-1:]:
        scores = ", ".join(f"{name} {value:.2f}" for name, value in row["valid"].items() if isinstance(value, float))
        print(f"newest validation: step {row['step']}, {scores}")
    if card := folder.card():
        print(f"\n{card}", end="")


def _direction(folder: "Folder") -> str:
    return " → ".join(folder.languages() or ("unknown",))


def _millions(count: int) -> str:
    return f"{count / 1e6:.1f}M"


def _flop(count: int) -> str:
    return f"{count / 1e9:,.0f} GFLOP" if count >= 1e10 else f"{count / 1e6:,.0f} MFLOP"
