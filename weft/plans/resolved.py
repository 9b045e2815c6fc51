"""A resolved plan has a value for every option, including those left to the makers.

If the default of an option is None, the maker derives it from its given arguments, and the built part has the value as
an attribute of the same name: `attention(width=512, heads=8)` has `key_width` 64.
"""

from typing import Any

import torch

from weft.plans.catalogue import Catalogue
from weft.plans.part import Part
from weft.plans.plan import Plan
from weft.plans.rules import with_parts


def resolved(plan: Plan) -> Plan:
    """The plan of the same model, with the value of every option of every part."""

    def change(where: str, catalogue: Catalogue[Any], part: Part) -> Part:
        side = plan.sides().get(where.partition(".")[0])
        return _resolved(part, catalogue, {"width": plan.width, "is_causal": side and side.is_causal})

    return with_parts(plan, change)


def _resolved(part: Part, catalogue: Catalogue[Any], given: dict[str, Any]) -> Part:
    options = {name: catalogue.value(part, name) for name in catalogue.options(part.name)}
    if None in options.values():
        with torch.device("meta"):
            made = catalogue.build(part, *(given[name] for name in catalogue.given))
        options = {name: getattr(made, name) if value is None else value for name, value in options.items()}
    for name in options.keys() & catalogue.inner.keys():
        options[name] = _resolved(Part.read(options[name], name), catalogue.inner[name], given).to_dict()
    return Part(part.name, options)
