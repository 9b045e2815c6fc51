"""The one kind of error a user can cause, and the sentence that names the nearest right word.

    WeftError            what was given, what is allowed, where: printed as it is, exit code 2
      Interrupted        the user stopped a run; what was saved is named, exit code 130
      NoRoom             the disk is full, or a quota is used up, exit code 1

Everything else that escapes is a bug of ours and keeps its traceback.
"""

from collections.abc import Iterable
from difflib import get_close_matches

FEW = 8  # names that are easier listed than looked up


class WeftError(ValueError):
    """A mistake in what was given to weft, said in words that help to mend it."""

    exit_code = 2


class Interrupted(WeftError):  # noqa: N818 (what happened, not what went wrong)
    """The user stopped a run in the middle."""

    exit_code = 130


class NoRoom(WeftError):  # noqa: N818
    """There is no room left to write to."""

    exit_code = 1


def install(extra: str) -> str:
    """How to get what weft can do without: it is on no index, and installed from its own folder.

    >>> install("view")
    'pip install -e ".[view]" in the folder of weft'
    """
    return f'pip install -e ".[{extra}]" in the folder of weft'


def unknown(kind: str, given: str, known: Iterable[str], see: str = "") -> str:
    """One sentence for a name that does not exist: the nearest right one, and all that do. Of more than a few, the
    nearest ones and the command to `see` all.

    >>> unknown("plan", "transfomer-base", ["transformer-base", "transformer-big"])
    "there is no plan 'transfomer-base'. Did you mean 'transformer-base'? Known: transformer-base, transformer-big."
    """
    names = sorted(known)
    # As it was written first: LSTM has no letter of lstm, but Mai is nearer to May than to may.
    near = next(filter(None, (get_close_matches(word, names, 4, 0.5) for word in (given, given.lower()))), [])
    guess = f" Did you mean {near[0]!r}?" if near else ""
    if see and len(names) > FEW:
        others = f" Near it: {', '.join(near[1:])}." if near[1:] else ""
        return f"there is no {kind} {given!r}.{guess}{others} `{see}` lists all."
    return f"there is no {kind} {given!r}.{guess} Known: {', '.join(names)}."
