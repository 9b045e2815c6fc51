"""What was found, as tables of words: for the screen, and for the page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from weft.measuring.cost import Cost, Declared, Growth
from weft.measuring.fit import TERMS

TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps"))
SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
NAMES = {"layer": "mixer layer", "clear": "mixer layer, clear", "step": "training step"}
SHARE = 0.1  # of the memory at the largest size: a term with less is not told


@dataclass(frozen=True)
class Table:
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def tables(costs: Sequence[Cost]) -> list[Table]:
    return [
        Table(
            "A mixer layer, forward and back, on one sentence: t tokens, k wide",
            ("plan", "mixer", "lectures", "operations", "time, fitted", "off by"),
            [
                (one.plan, one.mixer, one.says, _operations(one), _fitted(grown), _percent(grown.time.error))
                for one in costs
                for grown in [one.growth["layer"]]
            ],
        ),
        Table(
            "From this length on, what grows with t² costs more than what grows with t",
            ("plan", "wide", "by operations", "by time, mixer layer", "by time, training step"),
            [
                (one.plan, f"{one.width}", _counted(one), *(_crossing(one, n) for n in ("layer", "step")))
                for one in costs
            ],
        ),
        Table(
            "Steps of a layer that wait for each other, and the longest path between two tokens",
            ("plan", "tokens", "steps", "path"),
            [
                (one.plan, f"{said.length:,}", f"{said.sequential_steps:,}", _path(one, said))
                for one in costs
                for said in one.declared[-1:]
            ],
        ),
        Table(
            "The most memory held at one time, beyond the weights",
            ("plan", "of", "tokens", "wide", "memory", "grows with"),
            [(one.plan, NAMES[name], *_most(grown)) for one in costs for name, grown in one.growth.items()],
        ),
        Table(
            "One more token of a translation: with what is remembered, and anew",
            ("plan", "wide", "tokens", "cached", "anew", "times"),
            [
                (one.plan, f"{one.width}", f"{t.length:,}", time(t.cached), time(t.anew), f"{t.anew / t.cached:.1f}")
                for one in costs
                for t in one.decoding[:: max(1, len(one.decoding) - 1)]  # the shortest and the longest
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


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _operations(found: Cost) -> str:
    return " + ".join(f"{value:.3g}·{name}" for name, value in found.counted.items() if value)


def _fitted(found: Growth) -> str:
    coefficients = found.time.coefficients
    return " + ".join(time(coefficients[name]) + f"·{name}" * (name != "1") for name in TERMS if name in coefficients)


def _counted(found: Cost) -> str:
    a, b = found.counted["t·k²"], found.counted["t²·k"]
    return f"{a / b:.3g}·k = {a / b * found.width:,.0f}" if b else "never"


def _crossing(found: Cost, name: str) -> str:
    grown = found.growth[name]
    longest, at = grown.points[-1].length, grown.time.crossing(found.width)
    if at is None:
        return "never"
    return f"{at:,.0f}" if at <= longest else f"beyond {longest:,}"  # what was not measured is not told


def _path(found: Cost, said: Declared) -> str:
    if said.path_length is None:
        return "none"
    layers = said.path_length // said.sequential_steps
    return f"{said.path_length:,}" + f" layers, and it has {found.layers}" * (layers > found.layers)


def _most(found: Growth) -> tuple[str, str, str, str]:
    last, growing = found.points[-1], found.memory.coefficients
    shares: Mapping[str, float] = {
        name: value * TERMS[name](last.length, last.width) / last.bytes for name, value in growing.items()
    }
    told = [name for name in TERMS if shares.get(name, 0.0) >= SHARE]
    formula = " + ".join(memory(growing[name]) + f"·{name}" * (name != "1") for name in told)
    return f"{last.length:,}", f"{last.width}", memory(last.bytes), formula
