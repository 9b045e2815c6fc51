"""Files written completely or not at all, even in a power cut or on a full disk; checksums; and folders that only one
process may use at a time."""

import errno
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from weft.errors import NoRoom, WeftError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
SUMS = "SHA256SUMS"  # the checksums of a folder, in the format of `sha256sum -c`
MOST_SUMS = 10_000  # bytes in that file


def flush(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk itself."""
    if os.name != "posix":
        return  # Windows can flush neither folders nor files open for reading
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def draft_of(file: Path) -> Iterator[Path]:
    """A temporary file to write to, renamed to `file` at the end of the block, or removed if it fails."""
    draft = file.with_name(f".{file.name}.draft")
    try:
        with friendly_disk_errors(file):
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


def check_writable(file: Path) -> None:
    """Raise before the work, not after it, if a file cannot be written. Its contents are not changed."""
    if not file.parent.is_dir():
        raise WeftError(f"{file} could not be written: the folder {file.parent} does not exist.")
    is_new = not file.exists()
    try:
        file.open("ab").close()
    except OSError as error:
        raise WeftError(f"{file} could not be written: {error.strerror}.") from None
    if is_new:
        file.resolve().unlink()  # the target of a dangling link, not the link


def seal(folder: Path, names: Sequence[str]) -> None:
    """Write the checksums of these files."""
    write_text(folder / SUMS, "".join(f"{checksum(folder / name)}  {name}\n" for name in names))


def sums(folder: Path) -> dict[str, str]:
    """The checksums of a folder, by file; they may be wrong."""
    lines = read_text(path_inside(folder, SUMS), MOST_SUMS).splitlines()
    return {name: checksum for checksum, _, name in (line.partition("  ") for line in lines)}


def damage(folder: Path, names: Sequence[str]) -> str | None:
    """What is wrong with these files, in words; None if they match their checksums."""
    try:
        known = sums(folder)
    except FileNotFoundError:
        return f"its {SUMS} is missing"
    except (OSError, ValueError):
        return f"its {SUMS} cannot be read"
    for name in names:
        if not (folder / name).is_file():
            return f"its {name} is missing"
        if checksum(folder / name) != known.get(name):
            return f"its {name} does not match its checksum"
    return None


def checksum(file: Path) -> str:
    """The SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_text(file: Path, most: int) -> str:
    """The text of an untrusted file. Pipes, which may block, and more than `most` bytes are refused."""
    if file.exists() and not file.is_file():
        raise WeftError(f"{file} cannot be read: it is not a regular file.")
    with file.open("rb") as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise WeftError(f"{file} is larger than {most:,} bytes, the limit for such a file.")
    return data.decode("utf-8")


def path_inside(folder: Path, name: str) -> Path:
    """The path of a file in an untrusted folder, which must not be a link to somewhere outside it."""
    file = folder / name
    try:
        is_inside = file.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a link to itself
        is_inside = False
    if not is_inside:
        raise WeftError(f"{file} is a link that leads out of its folder; replace it by a copy if you trust it.")
    return file


@contextmanager
def friendly_disk_errors(place: Path) -> Iterator[None]:
    """Turn a full disk into an error for the user."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise NoRoom(f"{error.filename or place} could not be written: {error.strerror}.") from error


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes. The kernel releases the lock when the process ends, however it ends."""
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
        raise WeftError(f"{folder} is being trained by another process; wait for it or choose another --out.") from None
    except OSError:
        pass  # a file system without locks, such as some network drives
    try:
        yield
    finally:
        os.close(handle)
