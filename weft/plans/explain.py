"""Writing a plan as YAML with an explanation of every line, for `weft show PLAN` and `weft show PLAN --yaml`.

Settings and options are explained where they are declared (`weft.parts.options`), parts by the docstrings of their
makers.
"""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from weft.plans.catalogue import Catalogue
from weft.plans.notation import write_yaml
from weft.plans.part import Part
from weft.plans.plan import Plan, Slot
from weft.plans.resolved import resolved
from weft.plans.rules import every_part

LEFT = 32  # maximum columns for YAML: the explanation of a longer line goes above it
Row = tuple[str, str]  # a line of YAML, or several of a long text, and its meaning


def explained(plan: Plan, columns: int) -> str:
    """The plan with every option of every part, as YAML with a comment on each line, `columns` wide."""
    plan = resolved(plan)
    rows = list(_section(plan, "", {where: catalogue for where, catalogue, _ in every_part(plan)}))
    left = max(len(line) for line, _ in rows if len(line) < LEFT - 1) + 2
    return "".join(_commented(line, about, left, columns) for line, about in rows)


def _commented(line: str, about: str, left: int, columns: int) -> str:
    if len(line) >= LEFT - 1:
        return f"# {about}\n{line}\n"
    first, *rest = textwrap.wrap(about, columns - left, initial_indent="# ", subsequent_indent="#   ")
    return "".join([f"{line:{left}}{first}\n", *(f"{'':{left}}{more}\n" for more in rest)])


def _section(section: Any, where: str, catalogues: Mapping[str, Catalogue[Any]]) -> Iterator[Row]:
    for field in fields(section):
        if isinstance(section, Plan) and field.name in section.unused():
            continue
        path, value, about = f"{where}{field.name}", getattr(section, field.name), str(field.metadata["option"])
        if path in catalogues:
            yield from _slot(field.name, value, about, catalogues[path])
        elif isinstance(value, Part):
            yield _line(field.name, value.to_dict()), about
        elif hasattr(value, "__dataclass_fields__"):
            yield f"{field.name}:", about
            yield from _indented(_section(value, f"{path}.", catalogues))
        else:
            yield _line(field.name, value), about


def _slot(name: str, slot: Slot, about: str, catalogue: Catalogue[Any]) -> Iterator[Row]:
    if isinstance(slot, tuple):
        yield f"{name}:", f"{about}; these take turns from layer to layer"
        for part in slot:
            yield from _indented(_part(part, catalogue), "- ")
    elif slot.options:
        yield f"{name}:", about
        yield from _indented(_part(slot, catalogue))
    else:
        yield _line(name, slot.name), f"{about}: {catalogue.about(slot.name)}"


def _part(part: Part, catalogue: Catalogue[Any]) -> Iterator[Row]:
    yield _line("name", part.name), catalogue.about(part.name)
    for option, value in part.options.items():
        about = str(catalogue.declared(part.name, option))
        if option in catalogue.inner:
            yield from _slot(option, Part.read(value, option), about, catalogue.inner[option])
        else:
            yield _line(option, value), about


def _line(key: str, value: Any) -> str:
    return write_yaml({key: value}, width=60).rstrip("\n")  # one word more may follow


def _indented(rows: Iterable[Row], first: str = "  ") -> Iterator[Row]:
    for number, (line, about) in enumerate(rows):
        yield ("  " if number else first) + line, about
