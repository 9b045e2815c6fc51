"""Writing a plan as YAML with an explanation of every line, for `weft show PLAN` and `weft show PLAN --yaml`.

Settings are explained where they are declared (`weft.plans.plan.setting`), parts by the docstrings of their makers, and
the options of parts here.
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

# Options of parts by name: the same name has the same meaning.
OPTIONS = {
    "activation": "nonlinearity",
    "base": "the larger, the slower the slowest features turn from position to position",
    "bias": "whether a constant is added after each matrix",
    "dilation": "distance between these positions",
    "direction": "reading direction: forward, backward or both, side by side",
    "dropout": "dropout on attention weights or hidden features",
    "epsilon": "added to the denominator",
    "factor": "target positions per source position",
    "features": "features that encode the position",
    "floor": "learning rate at the last step, as a fraction of the peak",
    "heads": "attention heads",
    "hidden": "width inside",
    "kernel": "positions that the convolution covers",
    "key_width": "width of queries and keys in each head",
    "kv_heads": "heads of keys and values, each shared by equally many attention heads",
    "momentum": "decay of the mean of the gradients",
    "length": "tokens in a block",
    "limit": "longest sequence, in tokens",
    "pattern": "which positions attend to which",
    "position": "how queries and keys know their positions",
    "qk_norm": "normalisation of queries and keys in each head",
    "smoothing": "label smoothing: probability spread over all tokens",
    "std": "standard deviation of the weights",
    "value_width": "width of values in each head",
    "warmup": "steps until the learning rate is at its peak",
    "width": "positions visible on each side",
}
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
        path, value, about = f"{where}{field.name}", getattr(section, field.name), field.metadata["about"]
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
        if option in catalogue.inner:
            yield from _slot(option, Part.read(value, option), OPTIONS[option], catalogue.inner[option])
        else:
            yield _line(option, value), OPTIONS[option]


def _line(key: str, value: Any) -> str:
    return write_yaml({key: value}, width=60).rstrip("\n")  # one word more may follow


def _indented(rows: Iterable[Row], first: str = "  ") -> Iterator[Row]:
    for number, (line, about) in enumerate(rows):
        yield ("  " if number else first) + line, about
