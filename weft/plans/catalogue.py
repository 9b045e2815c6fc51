"""A catalogue per slot: one visible dictionary from name to maker.

It is the only dispatch in the package, and the source of help, documentation, contract tests and "did you mean"
suggestions. A maker is a class or a function: its *given* arguments come first; the *options* that a plan may set are
keyword-only or have a default, which is written there and nowhere else.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin

from weft.errors import WeftError, unknown
from weft.parts.options import Option
from weft.plans.part import Part

Made = TypeVar("Made")
_SIMPLE: dict[Any, tuple[type, ...]] = {int: (int,), float: (int, float), str: (str,), bool: (bool,)}


class Catalogue(Generic[Made]):
    """The parts that a slot may hold, by name."""

    def __init__(
        self,
        slot: str,
        given: tuple[str, ...],
        makers: Mapping[str, Callable[..., Made]],
        inner: Mapping[str, "Catalogue[Any]"] | None = None,
    ):
        self.slot = slot
        self.given = given  # names of the arguments that the assembler supplies
        self.makers = dict(makers)
        self.inner = dict(inner or {})  # options that are parts themselves, with their catalogues

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def about(self, name: str) -> str:
        """The description of a part: the first line of its maker's docstring."""
        lines = (inspect.getdoc(self.makers[name]) or "").strip().splitlines()
        return lines[0].rstrip(".") if lines else ""

    def options(self, name: str) -> dict[str, inspect.Parameter]:
        """The options that a plan may set."""
        parameters = list(inspect.signature(self.makers[name]).parameters.values())[len(self.given) :]
        return {p.name: p for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}

    def declared(self, name: str, option: str) -> Option:
        """The meaning and the bounds of an option."""
        annotation = self.options(name)[option].annotation
        return next((each for each in get_args(annotation) if isinstance(each, Option)), Option(""))

    def makes(self, name: str) -> Any:
        """The class of a part, by its maker's annotation, so that its declarations are known before it is built."""
        maker = self.makers[name]
        return maker if isinstance(maker, type) else inspect.signature(maker).return_annotation

    def value(self, part: Part, option: str) -> Any:
        """The value of an option: the plan's, else the maker's default; None if the part has no such option."""
        if option in part.options or part.name not in self.makers:
            return part.options.get(option)
        known = self.options(part.name)
        return known[option].default if option in known else None

    def problems(self, choice: Any, where: str) -> list[str]:
        """Everything wrong with a choice (a part, or its YAML value), as sentences."""
        try:
            part = Part.read(choice, where)
        except WeftError as error:
            return [str(error)]
        if part.name not in self.makers:
            return [f"{where}: {unknown(self.slot, part.name, self.makers, 'weft show parts')}"]
        found = []
        options = self.options(part.name)
        for key, value in part.options.items():
            if key not in options:
                allowed = unknown(f"option of {self.slot} {part.name!r} named", key, options)
                found.append(f"{where}: {allowed if options else f'{self.slot} {part.name!r} has no options.'}")
            elif key in self.inner:
                found += self.inner[key].problems(value, f"{where}.{key}")
            elif (expected := _plain_type(options[key])) and not _fits(value, expected, options[key]):
                found.append(f"{where}.{key}: expected {expected.__name__}, got {value!r}.")
            else:
                found += self.declared(part.name, key).problems(value, f"{where}.{key}")
        return found

    def build(self, choice: Any, *given: Any) -> Made:
        """Build the part that a choice (a part, or its YAML value) names, from the given arguments."""
        assert len(given) == len(self.given), f"{self.slot} is given {self.given}"
        if wrong := self.problems(choice, self.slot):
            raise WeftError("\n".join(wrong))
        part = Part.read(choice, self.slot)
        return self.makers[part.name](*given, **part.options)


def _plain_type(option: inspect.Parameter) -> type | None:
    """int, float, str or bool if the annotation is one of them, or one of them and None."""
    given = get_args(option.annotation)[0] if get_origin(option.annotation) is Annotated else option.annotation
    kinds = [kind for kind in _SIMPLE if given in (kind, kind | None)]
    return kinds[0] if kinds else None


def _fits(value: Any, expected: type, option: inspect.Parameter) -> bool:
    if value is None:
        return option.default is None
    return isinstance(value, _SIMPLE[expected]) and isinstance(value, bool) == (expected is bool)
