"""Reading configuration files: values are requested by name and kind, and everything that does not fit is collected."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.disk import read_text
from weft.errors import WeftError

MOST_BYTES = 2**28  # of a JSON file; a tokenizer.json of 256,000 tokens has 30 MB
LARGEST = 2**31  # of a whole number
MOST_LAYERS = 1000


class Facts:
    """Values by name from an untrusted file. `wrong` has a sentence for each that does not fit."""

    def __init__(self, values: Mapping[str, Any], where: str):
        self.values = values
        self.where = where  # the name of the file in errors
        self.wrong: list[str] = []

    def whole(self, name: str, default: int | None = None) -> int:
        """A whole number of at least 1."""
        value = self._value(name, default)
        if type(value) is int and 0 < value < LARGEST:
            return value
        self._miss(name, value, "a whole number above 0")
        return 1

    def layers(self, name: str) -> int:
        """A number of layers; they are built one by one, so it is bounded before anything else."""
        count = self.whole(name)
        self.fit(count <= MOST_LAYERS, f"decoder.layers: expected at most {MOST_LAYERS}, got {count}.")
        return min(count, MOST_LAYERS)

    def real(self, name: str, default: float | None = None) -> float:
        value = self._value(name, default)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf"):
            return float(value)
        self._miss(name, value, "a number above 0")
        return 1.0

    def rate(self, name: str) -> float:
        """A dropout rate; 0 if the file has none."""
        value = self._value(name, 0.0)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1:
            return float(value)
        self._miss(name, value, "a rate, 0 ≤ p < 1")
        return 0.0

    def flag(self, name: str, default: bool) -> bool:
        value = self._value(name, default)
        if isinstance(value, bool):
            return value
        self._miss(name, value, "true or false")
        return default

    def one_of(self, name: str, known: Mapping[str, str], slot: str, default: str | None = None) -> str:
        """weft's name of the value; an unknown one is an error that names the slot of the plan."""
        value = self._value(name, default)
        if isinstance(value, str) and value in known:
            return known[value]
        self._miss(name, value, f"one of {', '.join(known)} ({slot} in a plan)")
        return next(iter(known.values()))

    def must_be(self, name: str, allowed: Sequence[Any], slot: str) -> None:
        """Require a switch that weft has in one position only, which is also the default."""
        value = self.values.get(name)
        if name in self.values and value not in allowed:
            shown = " or ".join(json.dumps(each) for each in allowed)
            self.wrong.append(f"{slot}: {self.where} has {name} = {_short(value)}, but weft supports only {shown}.")

    def fit(self, holds: bool, sentence: str) -> None:
        if not holds:
            self.wrong.append(sentence)

    def refuse(self) -> None:
        """Raise one error with everything that was collected."""
        if self.wrong:
            listed = "\n".join(f"  {line}" for line in dict.fromkeys(self.wrong))
            raise WeftError(f"{self.where} cannot be imported:\n{listed}")

    def _value(self, name: str, default: Any) -> Any:
        value = self.values.get(name)
        return default if value is None else value

    def _miss(self, name: str, value: Any, expected: str) -> None:
        given = "lacks it" if value is None else f"has {_short(value)}"
        self.wrong.append(f"{name}: expected {expected}, and {self.where} {given}.")


def read_json(file: Path) -> dict[str, Any]:
    """The mapping in a JSON file."""
    try:
        data = json.loads(read_text(file, MOST_BYTES))
    except FileNotFoundError:
        raise WeftError(f"{file} is missing.") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, WeftError):
            raise
        raise WeftError(f"{file} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise WeftError(f"{file}: expected a mapping of names to values, got {_short(data)}.")
    return data


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}…"
