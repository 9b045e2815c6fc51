"""A part of a plan, as plain data: a name and the options that differ from the maker's defaults.

In YAML a part is its name, or a mapping with a name and options, which may be parts themselves:

    feed_forward: swiglu
    mixer: {name: attention, heads: 4}
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.errors import WeftError


@dataclass(frozen=True)
class Part:
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, value: Any, where: str) -> "Part":
        """From what YAML or a command line gives."""
        if isinstance(value, Part):
            return value
        if value is None or isinstance(value, bool):  # YAML reads none, no and off so
            value = {None: "none", True: "yes", False: "no"}[value]
        if isinstance(value, str | int | float):
            return cls(str(value))
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            return cls(value["name"], {k: v for k, v in value.items() if k != "name"})
        raise WeftError(f"{where}: a part is a name, or a mapping with a name and options, not {value!r}.")

    def to_dict(self) -> Any:
        """As YAML writes it."""
        return {"name": self.name, **self.options} if self.options else self.name

    def leaves(self) -> Iterator[tuple[str, Any]]:
        """Every option by its path, those of parts within this one too: ("heads", 4), ("pattern.width", 128)."""
        for key, value in self.options.items():
            if isinstance(value, dict):
                yield from ((f"{key}.{name}", inner) for name, inner in Part(key, value).leaves() if name != "name")
            else:
                yield key, value

    def with_option(self, key: str, value: Any) -> "Part":
        return Part(self.name, {**self.options, key: value})

    def __str__(self) -> str:
        options = ", ".join(f"{k}: {v}" for k, v in self.options.items())
        return f"{self.name} ({options})" if options else self.name
