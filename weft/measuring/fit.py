"""What a cost grows with: measured points as a sum of a few terms, such as a · t·k² + b · t²·k.

The coefficients are not negative, and it is the relative error whose square is least: a sentence of 16 tokens counts as
much as one of a thousand.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

Point = tuple[int, int, float]  # t, the length; k, the width; and what it cost
TERMS = {  # the powers of t and k
    "t·k²": (1, 2),
    "t²·k": (2, 1),
    "t·k": (1, 1),
    "t": (1, 0),
    "t²": (2, 0),
    "k²": (0, 2),
    "k": (0, 1),
    "1": (0, 0),
}
POINTS = 2  # at least so many for each term


@dataclass(frozen=True)
class Fit:
    coefficients: Mapping[str, float]  # of the terms that were fitted, by name
    error: float  # relative, the root of the mean square

    def at(self, length: float, width: float) -> float:
        return sum(value * _term(name, length, width) for name, value in self.coefficients.items())

    def shares(self, length: float, width: float) -> dict[str, float]:
        """What each term is of the whole."""
        whole = self.at(length, width)
        return {name: value * _term(name, length, width) / whole for name, value in self.coefficients.items()}

    def powers(self, length: float, width: float) -> tuple[float, float]:
        """Those of t and k that it grows with there: how steep it is where both axes are logarithmic."""
        shares = self.shares(length, width).items()
        t, k = (sum(share * TERMS[name][i] for name, share in shares) for i in (0, 1))
        return t, k

    def crossing(self, width: int) -> float | None:
        """The length from which on what grows with t² is more than what grows with t; None where there is no t².

        a · t·k² + b · t²·k alone cross at t = a · k / b.
        """
        linear, square = (self._before(power, width) for power in (1, 2))
        return linear / square if square else None

    def _before(self, power: int, width: int) -> float:
        """What stands before this power of t."""
        return sum(v * _term(name, 1, width) for name, v in self.coefficients.items() if TERMS[name][0] == power)


def fit(points: Sequence[Point], terms: Sequence[str]) -> Fit:
    """Non-negative least squares of the relative error, in as many of the terms, the first ones first, as the points
    can tell apart.

    The best coefficients solve a plain least squares problem in the terms that are not zero. With so few terms, every
    choice of them can be tried.
    """
    chosen = _told_apart(points, terms)
    columns = _columns(points, chosen)
    tried = [_solved(columns, list(some)) for some in _choices(len(chosen))]
    values, error = min((found for found in tried if found[0].min() >= 0), key=lambda found: found[1])
    return Fit(dict(zip(chosen, map(float, values))), error)


def _told_apart(points: Sequence[Point], terms: Sequence[str]) -> list[str]:
    """A term that others make up at these sizes is left out: in one width, t·k² and t are the same."""
    chosen: list[str] = []
    for name in terms:
        columns = _columns(points, [*chosen, name])
        if np.linalg.matrix_rank(columns / columns.max(0)) > len(chosen):
            chosen.append(name)
    return chosen[: max(1, len(points) // POINTS)]


def _columns(points: Sequence[Point], terms: Sequence[str]) -> np.ndarray:
    return np.array([[_term(name, t, k) / cost for name in terms] for t, k, cost in points])  # (points, terms)


def _term(name: str, length: float, width: float) -> float:
    of_t, of_k = TERMS[name]
    return length**of_t * width**of_k


def _choices(count: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, count + 1):
        yield from combinations(range(count), size)


def _solved(columns: np.ndarray, chosen: list[int]) -> tuple[np.ndarray, float]:
    """The coefficients of all terms, zero but for the chosen, and the relative error."""
    scale = columns.max(0)  # t²·k and 1 are many digits apart
    values = np.zeros(columns.shape[1])
    some = columns[:, chosen] / scale[chosen]
    values[chosen] = np.linalg.lstsq(some, np.ones(len(columns)), rcond=None)[0] / scale[chosen]
    return values, float(np.sqrt(np.mean((columns @ values - 1) ** 2)))
