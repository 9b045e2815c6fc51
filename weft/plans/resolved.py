"""A resolved plan has a value for every option, including those left to the makers.

If the default of an option is None, the maker derives it from its given arguments, and the built part has the value as
an attribute of the same name: `attention(width=512, heads=8)` has `key_width` 64.
"""

from typing import Any

import torch

from weft.plans.catalogue import Catalogue
from weft.plans.part import Part
from weft.plans.plan import Plan
from weft.plans.rules import every_part


def resolved(plan: Plan) -> Plan:
    """The plan of the same model, with the value of every option of every part."""
    slots: dict[str, list[Part]] = {}
    for where, catalogue, part in every_part(plan):
        side = plan.sides().get(where.partition(".")[0])
        given = {"width": plan.width, "is_causal": side and side.is_causal}
        slots.setdefault(where, []).append(_resolved(part, catalogue, given))
    return plan.with_settings({where: parts if parts[1:] else parts[0] for where, parts in slots.items()})


def _resolved(part: Part, catalogue: Catalogue[Any], given: dict[str, Any]) -> Part:
    options = {name: catalogue.value(part, name) for name in catalogue.options(part.name)}
    if None in options.values():
        with torch.device("meta"):
            made = catalogue.build(part, *(given[name] for name in catalogue.given))
        options = {name: getattr(made, name) if value is None else value for name, value in options.items()}
    for name in options.keys() & catalogue.inner.keys():
        options[name] = _resolved(Part.read(options[name], name), catalogue.inner[name], given).to_dict()
    return Part(part.name, options)
