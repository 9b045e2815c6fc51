"""Examples to train and to validate on, from files or as they are; all faults of both in one report."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.folder import Folder
from weft.tasks import Task


def read_examples(
    task: Task[Any], train: Any, valid: Any, base: Folder | None, tell: Callable[[str], None], **options: Any
) -> tuple[Iterable[Any], Iterable[Any]]:
    """Examples of both sets. Files for validation are small, and so are read through at once."""
    files = [_files(given) for given in (train, valid)]
    if not any(files):
        return train, valid
    if not all(files):
        raise WeftError("training and validation data are both files, or both examples.")
    options = {name: value for name, value in options.items() if value is not None}
    for name in options:
        if name not in signature(task.read).parameters:
            raise WeftError(f"--{name} is not an option of {type(task).__name__.lower()}.")
    train_files, valid_files = files
    try:
        learned = task.read(train_files, beside=valid_files, base=base, **options)
    except WeftError as error:
        raise _with(error, lambda: task.read(valid_files, beside=train_files, base=base, **options)) from None
    for line in task.remarks(learned):
        tell(line)
    held_out = task.read(valid_files, beside=train_files, like=learned, base=base, **options)
    try:
        deque(held_out, maxlen=0)
    except WeftError as error:
        raise _with(error, lambda: deque(learned, maxlen=0)) from None
    return learned, held_out


def _files(given: Any) -> list[Path]:
    """The files among what was given: one, or a list of them; none where it is examples."""
    if isinstance(given, str | Path):
        return [Path(given)]
    is_files = isinstance(given, Sequence) and all(isinstance(each, str | Path) for each in given)
    return [Path(file) for file in given] if is_files else []


def _with(error: WeftError, look: Callable[[], object]) -> WeftError:
    """The error, with what a further look finds; a line that both have is said once."""
    try:
        look()
    except WeftError as other:
        return WeftError("\n".join(dict.fromkeys(f"{error}\n{other}".split("\n"))))
    return error
