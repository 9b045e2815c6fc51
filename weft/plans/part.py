"""A part of a plan, as plain data: a name and the options that differ from the maker's defaults.

In YAML a part is its name, or a mapping with a name and options, which may be parts themselves:

    feed_forward: swiglu
    mixer: {name: attention, heads: 4}
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.errors import WeftError


@dataclass(frozen=True)
class Part:
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, value: Any, where: str) -> "Part":
        """Read a part from a value in YAML or on the command line."""
        if isinstance(value, Part):
            return value
        if value is None or isinstance(value, bool):  # none, no and off in YAML
            value = {None: "none", True: "yes", False: "no"}[value]
        if isinstance(value, str | int | float):
            return cls(str(value))
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            return cls(value["name"], {k: v for k, v in value.items() if k != "name"})
        raise WeftError(f"{where}: a part is a name, or a mapping with a name and options, not {value!r}.")

    def to_dict(self) -> Any:
        """The part as plain data for YAML."""
        return {"name": self.name, **self.options} if self.options else self.name

    def with_option(self, key: str, value: Any) -> "Part":
        return Part(self.name, {**self.options, key: value})

    def __str__(self) -> str:
        options = ", ".join(f"{k}: {v}" for k, v in self.options.items())
        return f"{self.name} ({options})" if options else self.name
