"""Training and validation examples, given directly or read from files; all faults of both in one report."""

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
    """Read both sets. Validation files are small, so they are checked right away."""
    train_files, valid_files = (_files(given) for given in (train, valid))
    options = {name: value for name, value in options.items() if value is not None}
    for name in options:
        if name not in signature(task.read).parameters:
            raise WeftError(f"{name} is not an option of {task.name}.")
    if not train_files and not valid_files:
        if options:
            raise WeftError(f"{', '.join(options)} is for files, and these are examples.")
        return (train, valid) if valid is not None else _split(task, train, tell)
    if not train_files or not (valid_files or valid is None):
        raise WeftError("training and validation data must be both files, or both examples.")
    try:
        learned = task.read(train_files, beside=valid_files, base=base, **options)
    except WeftError as error:
        raise _with(error, lambda: task.read(valid_files, beside=train_files, base=base, **options)) from None
    for line in task.remarks(learned):
        tell(line)
    if valid is None:
        return _split(task, learned, tell)
    held_out = task.read(valid_files, beside=train_files, like=learned, base=base, **options)
    try:
        deque(held_out, maxlen=0)
    except WeftError as error:
        raise _with(error, lambda: deque(learned, maxlen=0)) from None
    return learned, held_out


def _split(task: Task[Any], examples: Any, tell: Callable[[str], None]) -> tuple[Iterable[Any], Iterable[Any]]:
    learned, held_out, remark = task.hold_out(examples)
    tell(remark)
    return learned, held_out


def _files(given: Any) -> list[Path]:
    """The files that were given, one or a list; none if examples were given."""
    if isinstance(given, str | Path):
        return [Path(given)]
    is_files = isinstance(given, Sequence) and all(isinstance(each, str | Path) for each in given)
    return [Path(file) for file in given] if is_files else []


def _with(error: WeftError, look: Callable[[], object]) -> WeftError:
    """The error, extended by what `look` finds, without repeating lines."""
    try:
        look()
    except WeftError as other:
        return WeftError("\n".join(dict.fromkeys(f"{error}\n{other}".split("\n"))))
    return error
