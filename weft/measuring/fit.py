"""Fits measured costs as a sum of a few terms, such as a · t·k² + b · t²·k.

Coefficients are non-negative, and the relative error is minimised: a sentence of 16 tokens counts as much as one of a
thousand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

Point = tuple[int, int, float]  # length t, width k, cost
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
POINTS = 2  # at least this many for each term


@dataclass(frozen=True)
class Fit:
    """A fitted sum of terms."""

    coefficients: Mapping[str, float]  # of the fitted terms, by name
    error: float  # relative, root mean square

    def at(self, length: float, width: float) -> float:
        return sum(value * _term(name, length, width) for name, value in self.coefficients.items())

    def shares(self, length: float, width: float) -> dict[str, float]:
        """The fraction of the total that each term contributes."""
        total = self.at(length, width)
        return {name: value * _term(name, length, width) / total for name, value in self.coefficients.items()}

    def powers(self, length: float, width: float) -> tuple[float, float]:
        """The local powers of t and k: the slopes of the cost on logarithmic axes."""
        shares = self.shares(length, width).items()
        t, k = (sum(share * TERMS[name][i] for name, share in shares) for i in (0, 1))
        return t, k

    def crossing(self, width: int) -> float | None:
        """The length beyond which the terms in t² exceed those in t; None without a t² term.

        a · t·k² + b · t²·k alone cross at t = a · k / b.
        """
        linear, square = (self._coefficient(power, width) for power in (1, 2))
        return linear / square if square else None

    def _coefficient(self, power: int, width: int) -> float:
        """The coefficient of this power of t at a given width."""
        return sum(v * _term(name, 1, width) for name, v in self.coefficients.items() if TERMS[name][0] == power)


def fit(points: Sequence[Point], terms: Sequence[str]) -> Fit:
    """Non-negative least squares of the relative error, over as many of the terms, in order, as the points can
    distinguish: minimise Σ (Σ_j c_j · term_j / cost - 1)² with c_j ≥ 0."""
    chosen = _distinguishable(points, terms)
    columns = _columns(points, chosen)
    scale = columns.max(0)  # t²·k and 1 differ by many orders of magnitude
    values, residual = nnls(columns / scale, np.ones(len(columns)))
    return Fit(dict(zip(chosen, map(float, values / scale))), float(residual / np.sqrt(len(columns))))


def _distinguishable(points: Sequence[Point], terms: Sequence[str]) -> list[str]:
    """Leaves out terms that are a combination of others at these sizes: at one width, t·k² and t are the same."""
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
