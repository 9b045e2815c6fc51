"""The `weft` command: one file per verb. Errors become messages and exit codes here."""

import errno
import functools
import gc
import io
import keyword
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

import weft

# Errors of the file system that the user can solve, and the exit code: 2 for a mistake, 1 for a full disk.
UNUSABLE = {errno.ENOSPC: 1, errno.EDQUOT: 1, errno.EROFS: 1, errno.EACCES: 2, errno.ENOENT: 2, errno.ENOTDIR: 2}
UNUSABLE |= {errno.EISDIR: 2, errno.ENAMETOOLONG: 2}
VERBS = (
    "demo",
    "train",
    "translate",
    "generate",
    "evaluate",
    "attend",
    "serve",
    "show",
    "import",
    "export",
    "check",
    "cost",
    "doctor",
)

app = typer.Typer(
    name="weft",
    help="The whole Transformer: train it, see inside it, ship it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"weft {weft.__version__}")
        raise typer.Exit


@app.callback()
def _weft(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def _stoppable(verb: Callable[..., None]) -> Callable[..., None]:
    """Report Ctrl-C before typer catches it, which would exit without a message."""

    @functools.wraps(verb)
    def stoppable(*arguments: Any, **options: Any) -> None:
        try:
            verb(*arguments, **options)
        except KeyboardInterrupt:
            fail("stopped.", 130)

    return stoppable


for verb in VERBS:
    name = f"{verb}_" if keyword.iskeyword(verb) else verb  # `import` cannot be the name of a module
    app.command(verb)(_stoppable(getattr(import_module(f"weft.commands.{name}"), name)))


def run(arguments: Sequence[str] | None = None) -> None:
    from weft.errors import WeftError

    _speak_utf8()
    gc.set_threshold(10_000)  # torch makes many objects that stay: looking through them less often saves start-up time
    try:
        app(spread(sys.argv[1:] if arguments is None else arguments), prog_name="weft")
    except WeftError as error:
        fail(str(error), error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader closed the pipe
        sys.exit(141)
    except OSError as error:
        if error.errno not in UNUSABLE:
            raise
        fail(f"{error.filename or 'a file'} cannot be used: {error.strerror}.", UNUSABLE[error.errno])


def _speak_utf8() -> None:
    """Write UTF-8 whatever the locale, and end lines with a newline only, as weft reads them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def spread(arguments: Sequence[str]) -> list[str]:
    """`--train a b` as `--train a --train b`: these options take every word up to the next option.

    >>> spread(["train", "tiny", "--train", "a.en", "a.de", "--set", "x=1", "y=2", "--resume"])
    ['train', 'tiny', '--train', 'a.en', '--train', 'a.de', '--set', 'x=1', '--set', 'y=2', '--resume']
    """
    out: list[str] = []
    option, values = "", 0
    for word in arguments:
        if word.startswith("-"):
            option, values = word, 0
        elif option in ("--train", "--valid") or (option == "--set" and (values == 0 or "=" in word)):
            values += 1
            out += [option] if values > 1 else []
        out.append(word)
    return out


def fail(sentence: str, code: int) -> None:
    print(f"weft: {sentence}", file=sys.stderr)
    sys.exit(code)
