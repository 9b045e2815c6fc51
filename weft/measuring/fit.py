"""What a cost grows with: measured points as a sum of a few terms, such as a · t·k² + b · t²·k.

The coefficients are not negative, and it is the relative error whose square is least: a sentence of 16 tokens counts as
much as one of a thousand.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

Point = tuple[int, int, float]  # t, the length; k, the width; and what it cost
TERMS: dict[str, Callable[[float, float], float]] = {
    "t·k²": lambda t, k: t * k * k,
    "t²·k": lambda t, k: t * t * k,
    "t²": lambda t, k: t * t,
    "t·k": lambda t, k: t * k,
    "t": lambda t, k: t,
    "k²": lambda t, k: k * k,
    "k": lambda t, k: k,
    "1": lambda t, k: 1,
}


@dataclass(frozen=True)
class Fit:
    coefficients: Mapping[str, float]  # by the names of the terms
    error: float  # relative, the root of the mean square

    def at(self, length: float, width: float) -> float:
        return sum(value * TERMS[name](length, width) for name, value in self.coefficients.items())

    def crossing(self, width: int) -> float | None:
        """The length from which on what grows with t² is more than what grows with t; None where there is no t².

        a · t·k² + b · t²·k alone cross at t = a · k / b.
        """
        linear, square = self._of("t", width), self._of("t²", width)
        return linear / square if square else None

    def _of(self, power: str, width: int) -> float:
        """What stands before this power of t."""
        return sum(v * TERMS[name](1, width) for name, v in self.coefficients.items() if name.split("·")[0] == power)


def fit(points: Sequence[Point], terms: Sequence[str]) -> Fit:
    """Non-negative least squares of the relative error.

    The best coefficients solve a plain least squares problem in the terms that are not zero. With so few terms, every
    choice of them can be tried.
    """
    columns = np.array([[TERMS[name](t, k) / cost for name in terms] for t, k, cost in points])  # (points, terms)
    tried = [_solved(columns, list(some)) for some in _choices(len(terms))]
    values, error = min((found for found in tried if found[0].min() >= 0), key=lambda found: found[1])
    return Fit({name: float(value) for name, value in zip(terms, values) if value}, error)


def _choices(count: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, count + 1):
        yield from combinations(range(count), size)


def _solved(columns: np.ndarray, chosen: list[int]) -> tuple[np.ndarray, float]:
    """The coefficients of all terms, zero but for the chosen, and the relative error."""
    scale = np.abs(columns).max(0)  # t²·k and 1 are many digits apart
    values = np.zeros(columns.shape[1])
    some = columns[:, chosen] / scale[chosen]
    values[chosen] = np.linalg.lstsq(some, np.ones(len(columns)), rcond=None)[0] / scale[chosen]
    return values, float(np.sqrt(np.mean((columns @ values - 1) ** 2)))
