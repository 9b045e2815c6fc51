"""Files that are there as a whole or not at all, also after a power cut or on a full disk; and folders of one owner."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.errors import NoRoom, WeftError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def flush(path: Path) -> None:
    """Down to the disk itself: what a file holds, or the names in a folder."""
    if os.name != "posix":
        return  # Windows flushes neither folders nor what is open for reading
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def draft_of(file: Path) -> Iterator[Path]:
    """A temporary name to write under, which is renamed at the end of the block, or removed where it goes wrong."""
    draft = file.with_name(f".{file.name}.draft")
    try:
        with room_in_words(file):
            yield draft
            flush(draft)
        draft.replace(file)
        flush(file.parent)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_text(file: Path, text: str) -> None:
    with draft_of(file) as draft:
        draft.write_text(text, encoding="utf-8")


@contextmanager
def room_in_words(place: Path) -> Iterator[None]:
    """Within this context a full disk is an error for the user to read."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise NoRoom(f"{error.filename or place} could not be written: {error.strerror}.") from error


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Within this context no other process owns this folder. The kernel ends it with the process, however that ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise WeftError(
            f"{folder} is being trained by another process: wait for it, or choose another --out."
        ) from None
    except OSError:
        pass  # a file system without locks, as some networks have
    try:
        yield
    finally:
        os.close(handle)
