"""The errors that users can cause, and the message for an unknown name, which suggests the nearest one.

    WeftError            what was given, what is allowed, where: printed without a traceback, exit code 2
      Interrupted        the user interrupted a run; the message names what was saved, exit code 130
      NoRoom             the disk or a quota is full, exit code 1

Every other exception is a bug in weft and keeps its traceback.
"""

from collections.abc import Iterable
from difflib import get_close_matches

FEW = 8  # up to this many names are listed in full


class WeftError(ValueError):
    """A mistake of the user, with a message that helps to correct it."""

    exit_code = 2


class Interrupted(WeftError):  # noqa: N818 (not a mistake)
    """The user interrupted a run."""

    exit_code = 130


class NoRoom(WeftError):  # noqa: N818
    """The disk or the quota is full."""

    exit_code = 1


def install(extra: str) -> str:
    """How to install an optional dependency: weft is not on PyPI, but installed from its own folder.

    >>> install("view")
    'pip install -e ".[view]" in the folder of weft'
    """
    return f'pip install -e ".[{extra}]" in the folder of weft'


def unknown(kind: str, given: str, known: Iterable[str], see: str = "") -> str:
    """The message for an unknown name: the nearest known one, and all known ones. Of more than a few, only similar ones
    are listed, with the command that lists all (`see`).

    >>> unknown("plan", "transfomer-base", ["transformer-base", "transformer-big"])
    "there is no plan 'transfomer-base'. Did you mean 'transformer-base'? Known: transformer-base, transformer-big."
    """
    names = sorted(known)
    near = nearest(given, names)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    if see and len(names) > FEW:
        others = f" Similar: {', '.join(near[1:])}." if near[1:] else ""
        return f"there is no {kind} {given!r}.{guess}{others} `{see}` lists all."
    return f"there is no {kind} {given!r}.{guess} Known: {', '.join(names)}."


def nearest(given: str, names: Iterable[str]) -> list[str]:
    """The names that are most like the given one."""
    # Case matters first (Mai is nearer to May than to may), then not (LSTM and lstm have no letter in common).
    found = (get_close_matches(word, [*names], 4, 0.5) for word in (given, given.lower()))
    return next(filter(None, found), [])
