"""What an engine can express: a table of the parts that it has in each slot, held against a plan."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from weft.errors import WeftError
from weft.plans.catalogue import Catalogue
from weft.plans.part import Part
from weft.plans.plan import Plan, parts_of
from weft.plans.rules import every_part

BEHIND = ("init", "training.optimiser", "training.schedule", "training.batching")  # no longer matter to a trained model

# The parts of each slot, and of each its options that are converted or matter only in training.
Table = Mapping[str, Mapping[str, set[str]]]


def faults(plan: Plan, table: Table, engine: str) -> list[str]:
    """A sentence for every slot of the plan that the engine cannot express."""
    parts = [found for found in every_part(plan) if found[0] not in BEHIND]
    found = chain.from_iterable(_foreign(where, catalogue, part, table, engine) for where, catalogue, part in parts)
    return list(dict.fromkeys(found))  # without repetitions


def mixtures(plan: Plan, engine: str) -> list[str]:
    """A sentence for every slot in which layers differ, for an engine whose layers are all alike."""
    found = []
    for side, slots in plan.sides().items():
        for slot in ("mixer", "feed_forward", "norm", "join", "wiring"):
            parts = list({str(part.to_dict()): part for part in parts_of(getattr(slots, slot))}.values())
            if len(parts) > 1:
                shown = " and ".join(str(part.to_dict()) for part in parts)
                found.append(f"{side}.{slot} is {shown}, but {engine} requires identical layers.")
    return found


def refuse(plan: Plan, to: str, wrong: list[str]) -> None:
    """One error with all that is wrong."""
    if wrong:
        listed = "\n".join(f"  {line}" for line in wrong)
        raise WeftError(f"plan {plan.name!r} cannot be exported to {to}:\n{listed}")


def _foreign(where: str, catalogue: Catalogue[Any], part: Part, table: Table, engine: str) -> Iterator[str]:
    known = table.get(catalogue.slot, {})
    if part.name not in known:
        allowed = ", ".join(map(repr, known)) or f"no {catalogue.slot}"
        yield f"{where} is {part.name!r}; {engine} supports only {allowed}."
        return
    for option, value in part.options.items():
        if option not in known[part.name]:
            if value == catalogue.value(Part(part.name), option):
                continue  # it says what goes without saying
            yield f"{where} sets {option}, but {engine} has no such option."
        elif option in catalogue.inner:
            yield from _foreign(f"{where}.{option}", catalogue.inner[option], Part.read(value, where), table, engine)
