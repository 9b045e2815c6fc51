"""weft show [plans | parts | MODEL or PLAN]"""

from typing import Annotated

import typer


def show(
    what: Annotated[str | None, typer.Argument(help="plans, parts, a plan or a model.")] = None,
) -> None:
    """List plans and parts, or print one plan with its parameters and the cost of a step.

    weft show plans

    weft show transformer-base
    """
    if what in (None, "plans"):
        _plans()
    if what in (None, "parts"):
        _parts()
    if what not in (None, "plans", "parts"):
        _one(str(what))


def _plans() -> None:
    from weft.folder import Folder, shipped
    from weft.plans.cost import outline
    from weft.plans.presets import names, plan

    print("plans (weft train PLAN …)")
    for name in names():
        found = plan(name)
        print(f"  {name:22} {_millions(sum(p.numel() for p in outline(found).parameters())):>7}  {found.about}")
    print("\nmodels (weft translate MODEL …)")
    for name in shipped():
        languages = Folder.find(name).languages()
        print(f"  {name:22} {' → '.join(languages or ())}")


def _parts() -> None:
    from weft.plans.catalogues import ALL

    for catalogue in ALL:
        print(f"\n{catalogue.slot} (--set {catalogue.slot}=NAME)")
        for name in catalogue:
            options = ", ".join(catalogue.options(name))
            print(f"  {name:14} {catalogue.about(name)}" + (f"   [{options}]" if options else ""))


def _one(name: str) -> None:
    import yaml

    from weft.folder import find_plan
    from weft.plans.cost import outline, parameters_by_part, step_cost

    found = find_plan(name)
    print(yaml.safe_dump(found.plain(), sort_keys=False, allow_unicode=True))
    counts = parameters_by_part(outline(found))
    total = sum(counts.values())
    print(f"parameters: {total:,}")
    for part, count in counts.items():
        print(f"  {part:34} {count:>12,}  {count / total:5.1%}")
    cost = step_cost(found)
    print(
        f"\na step: {cost.tokens:,} tokens on each side, {cost.operations / 1e9:,.0f} GFLOP forward and back "
        f"(sentences of {cost.length} tokens)"
    )


def _millions(count: int) -> str:
    return f"{count / 1e6:.1f}M"
