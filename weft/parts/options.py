"""Options of parts and settings of plans: what they mean and which values they may have.

Declared with the option, `slope: Annotated[float, Number("slope below zero", most=10)] = 0.1`, and read by `weft show`,
by the rules of plans and by `weft cost`. Plans are untrusted: beyond `most`, one line could exhaust the memory or never
finish.
"""

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

LONGEST = 2**16  # tokens of a sequence


@dataclass(frozen=True)
class Option:
    """An option of any kind."""

    about: str
    _: KW_ONLY
    words: tuple[str, ...] = ()  # the only ones allowed; empty: any
    grows: bool = False  # in proportion to the width of the model

    def __str__(self) -> str:
        return f"{self.about}: {' or '.join(self.words)}" if self.words else self.about

    def problems(self, value: Any, where: str) -> Iterator[str]:
        """What is wrong with a value of the right type."""
        if value is not None and (expected := self.expected(value)):
            yield f"{where}: expected {expected}, got {value!r}."

    def expected(self, value: Any) -> str:
        """What was expected instead of this value; empty: nothing else."""
        return "" if not self.words or value in self.words else " or ".join(self.words)


@dataclass(frozen=True)
class Number(Option):
    """A number within bounds."""

    least: float | None = None  # None: any above 0
    most: float = math.inf

    def expected(self, value: Any) -> str:
        if not (value > 0 if self.least is None else value >= self.least):
            return "more than 0" if self.least is None else f"at least {self.least}"
        if value > self.most:
            return f"at most {self.most}"
        return "a finite number" if value == math.inf else ""


@dataclass(frozen=True)
class Rate(Option):
    """A fraction below 1."""

    def expected(self, value: Any) -> str:
        return "" if 0 <= value < 1 else "a rate, 0 ≤ p < 1"
