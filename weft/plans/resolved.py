"""A plan that says everything: also what it leaves to the makers, and what they work out from the width."""

from typing import Any

import torch

from weft.plans.catalogue import Catalogue
from weft.plans.part import Part
from weft.plans.plan import Plan
from weft.plans.rules import every_part


def whole(plan: Plan) -> Plan:
    """The same model, with the value of every option of every part in it."""
    slots: dict[str, list[Part]] = {}
    for where, catalogue, part in every_part(plan):
        given = {"width": plan.width, "is_causal": where.startswith("decoder")}
        slots.setdefault(where, []).append(_whole(part, catalogue, given))
    return plan.with_settings({where: parts if parts[1:] else parts[0] for where, parts in slots.items()})


def _whole(part: Part, catalogue: Catalogue[Any], given: dict[str, Any]) -> Part:
    options = {name: catalogue.value(part, name) for name in catalogue.options(part.name)}
    if None in options.values():  # what the maker works out is known by what it made
        with torch.device("meta"):
            made = catalogue.build(part, *(given[name] for name in catalogue.given))
        for name in [name for name, value in options.items() if value is None]:
            options[name] = next(getattr(module, name) for module in made.modules() if hasattr(module, name))
    for name in options.keys() & catalogue.inner.keys():
        options[name] = _whole(Part.read(options[name], name), catalogue.inner[name], given).to_dict()
    return Part(part.name, options)
