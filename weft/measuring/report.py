"""The measured costs as tables of text, for the terminal and for the page."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from weft.measuring.fit import TERMS, Fit
from weft.measuring.scaling import Cost, Declared, Growth, Token

TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps"))
SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
NAMES = {"layer": "mixer layer", "reference": "mixer layer, unfused", "step": "training step"}
SHARE = 0.1  # terms below this fraction of the memory at the largest size are left out
FAR = 0.25  # no powers are given for fits with a larger error
NO_SQUARE = "no t² term"

COLUMNS = ("training time", "training memory", "test time", "test memory", "steps", "path")
LECTURES = {
    "RNN": ("t·k²·d", "t·k·d", "t·k²·d", "k·d", "t", "t"),
    "RNN with attention": ("t²·k²·d", "t²·k·d", "t²·k²·d", "t·k·d", "t", "1"),
    "Transformer": ("t²·k·d", "t·k·d", "t²·k·d", "t·k·d", "d", "1"),
}


@dataclass(frozen=True)
class Table:
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def tables(costs: Sequence[Cost]) -> list[Table]:
    return [
        Table(
            "A mixer layer, forward and backward, on t tokens, width k",
            ("plan", "mixer", "lectures", "operations", "fitted time", "error"),
            [
                (
                    one.plan,
                    one.mixer,
                    one.complexity,
                    _operations(one, "layer"),
                    *_fitted(one.growth["layer"].time, time),
                )
                for one in costs
            ],
        ),
        Table(
            "A training step, on one example with t tokens on each side; operations at the plan's own width",
            ("plan", "width", "operations", "fitted time", "error"),
            [
                (one.plan, f"{one.width}", _operations(one, "step"), *_fitted(one.growth["step"].time, time))
                for one in costs
            ],
        ),
        Table(
            "The length from which terms in t² cost more than terms in t",
            ("plan", "width", "layer: operations", "time", "step: operations", "time"),
            [
                (one.plan, f"{one.width}", *(cell for name in ("layer", "step") for cell in _crossings(one, name)))
                for one in costs
            ],
        ),
        Table(
            "Sequential steps of a layer, and the longest path between two of its tokens",
            ("plan", "tokens", "sequential steps", "path"),
            [
                (one.plan, f"{said.length:,}", f"{said.sequential_steps:,}", _path(one, said))
                for one in costs
                for said in one.declared[-1:]
            ],
        ),
        Table(
            "A model of depth d: what the lectures say, and below it the measured powers",
            ("family", "plan", "tokens", *COLUMNS),
            [row for family in {one.family: None for one in costs} for row in _family(family, costs)],
        ),
        Table(
            "Peak memory, without the weights",
            ("plan", "workload", "tokens", "width", "memory", "fitted memory", "error"),
            [(one.plan, NAMES[name], *_most(grown)) for one in costs for name, grown in one.growth.items()],
        ),
        Table(
            "One more token that is written: with cached state, and recomputed",
            ("plan", "width", "tokens", "cached", "recomputed", "ratio", "cached state"),
            [
                (
                    *(one.plan, f"{one.width}", f"{token.length:,}", time(token.cached), time(token.recomputed)),
                    *(f"{token.recomputed / token.cached:.1f}", memory(token.bytes)),
                )
                for one in costs
                for token in one.decoding[:: max(1, len(one.decoding) - 1)]  # the shortest and the longest
            ],
        ),
    ]


def lines(found: Sequence[Table]) -> Iterator[str]:
    for table in found:
        wide = [max(map(len, column)) for column in zip(table.head, *table.rows)]
        yield f"{table.title}\n"
        for row in (table.head, *table.rows):
            yield ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, wide))).rstrip()
        yield ""


def time(seconds: float) -> str:
    """0.00123 → 1.23 ms"""
    return _in_units(seconds, TIMES)


def memory(count: float) -> str:
    """1230000 → 1.23 MB"""
    return _in_units(count, SIZES)


def _in_units(value: float, units: Sequence[tuple[float, str]]) -> str:
    size, unit = next((one for one in units if value >= one[0]), units[-1])
    return f"{value / size:.3g} {unit}"


def _operations(found: Cost, name: str) -> str:
    return _sum(found.counted[name], lambda value: f"{value:,.1f}".removesuffix(".0"))


def _fitted(found: Fit, words: Callable[[float], str]) -> tuple[str, str]:
    """The formula and its relative error."""
    return _sum(found.coefficients, words), f"{found.error * 100:.0f} %"


def _sum(coefficients: Mapping[str, float], words: Callable[[float], str]) -> str:
    told = [name for name in TERMS if coefficients.get(name)]
    return " + ".join(words(coefficients[name]) + f"·{name}" * (name != "1") for name in told)


def _crossings(found: Cost, name: str) -> tuple[str, str]:
    """By operations and by time, where the length was measured."""
    grown, (a, b) = found.growth[name], found.counted[name].values()
    if not b:
        return NO_SQUARE, NO_SQUARE
    counted = f"{a / b:.3g}·k = {a / b * found.width:,.0f}" if name == "layer" else f"{a / b:,.0f}"
    first, last, at = grown.points[0], grown.points[-1], grown.time.crossing(found.width)
    if not first.width <= found.width <= last.width:
        return counted, f"width {found.width} not measured"
    if not any(TERMS[term][0] == 2 for term in grown.time.coefficients):
        return counted, "too few sizes"
    if at is None or at > last.length:
        return counted, f"beyond {last.length:,}"
    return counted, f"{at:,.0f}" if at >= first.length else f"before {first.length:,}"


def _path(found: Cost, said: Declared) -> str:
    if said.path_length is None:
        return "none"
    layers = said.path_length // said.sequential_steps
    return f"{said.path_length:,}" + f" layers (the plan has {found.layers})" * (layers > found.layers)


def _family(family: str | None, costs: Sequence[Cost]) -> Iterator[tuple[str, ...]]:
    """The lectures' row, and below it the plans of that family."""
    yield (family, "", "t", *LECTURES[family]) if family else ("not in the lectures", "", "", *[""] * len(COLUMNS))
    for one in costs:
        if one.family == family:
            yield ("", one.plan, *_model(one))


def _model(found: Cost) -> tuple[str, ...]:
    step, tokens = found.growth["step"], found.decoding
    last = step.points[-1]
    said = next(said for said in found.declared if said.length == last.length)
    return (
        f"{last.length:,}",
        *(_powers(of, last.length, last.width) for of in (step.time, step.memory)),
        _power(tokens, lambda token: token.length * token.cached),
        _power(tokens, lambda token: token.bytes),
        f"{said.model_steps:,}",
        "none" if said.model_path is None else f"{said.model_path:,}",
    )


def _powers(fitted: Fit, length: int, width: int) -> str:
    return "too few sizes" if fitted.error > FAR else "t^{:.1f}·k^{:.1f}".format(*fitted.powers(length, width))


def _power(tokens: Sequence[Token], cost: Callable[[Token], float]) -> str:
    """The power of t, from the last two lengths."""
    if len(tokens) < 2:
        return "?"
    a, b = tokens[-2:]
    return f"t^{math.log(cost(b) / cost(a)) / math.log(b.length / a.length):.1f}"


def _most(found: Growth) -> tuple[str, ...]:
    last, fitted = found.points[-1], found.memory
    shares = fitted.shares(last.length, last.width)
    told = {name: value for name, value in fitted.coefficients.items() if shares[name] >= SHARE}
    formula, off = _fitted(Fit(told, fitted.error), memory)
    return f"{last.length:,}", f"{last.width}", memory(last.bytes), formula, off
