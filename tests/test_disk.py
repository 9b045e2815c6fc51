"""Files as a whole or not at all, a full disk in words, and folders of one owner."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from weft.disk import check_writable, draft_of, friendly_disk_errors, owned, write_text
from weft.errors import NoRoom, WeftError

OWNER = """
import sys, time
from pathlib import Path
from weft.disk import owned
with owned(Path(sys.argv[1])):
    print("mine", flush=True)
    time.sleep(60)
"""


def test_a_file_that_goes_wrong_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_text(file, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(file, "half of the new one, then \ud800")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
    write_text(file, "new ü")
    assert file.read_text(encoding="utf-8") == "new ü"


def test_what_is_written_is_flushed_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file, then its name, then the folder that the name stands in."""
    seen: list[str] = []

    def fsync(handle: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        seen.append(f"{path.name}, renamed: {(tmp_path / 'a.txt').exists()}")

    monkeypatch.setattr(os, "fsync", fsync)
    write_text(tmp_path / "a.txt", "a")
    assert seen == [".a.txt.draft, renamed: False", f"{tmp_path.name}, renamed: True"]


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_a_sentence(tmp_path: Path, reason: int) -> None:
    with pytest.raises(NoRoom, match=r"a\.txt could not be written: ") as caught, draft_of(tmp_path / "a.txt"):
        raise OSError(reason, os.strerror(reason))
    assert caught.value.exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_what_else_may_go_wrong_stays_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), friendly_disk_errors(tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_a_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    with owned(tmp_path), pytest.raises(WeftError, match="is being trained by another process"), owned(tmp_path):
        pass
    with owned(tmp_path):
        pass


def test_an_owner_that_is_killed_owns_nothing(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout
    assert other.stdout.readline() == "mine\n"
    with pytest.raises(WeftError, match="another process"), owned(tmp_path):
        pass
    other.send_signal(signal.SIGKILL)
    other.communicate()
    with owned(tmp_path):
        pass


def test_unwritable_path_is_reported_and_writable_one_left_unchanged(tmp_path: Path) -> None:
    held, link = tmp_path / "held.txt", tmp_path / "link.txt"
    held.write_text("mine")
    link.symlink_to("nowhere.txt")
    for file in (held, link, tmp_path / "new.txt"):
        check_writable(file)
    assert held.read_text() == "mine"
    assert sorted(tmp_path.iterdir()) == [held, link]
    for file, said in (
        (tmp_path, "Is a directory"),
        (tmp_path / "no" / "a.txt", f"the folder {tmp_path}/no does not exist"),
    ):
        with pytest.raises(WeftError, match=said):
            check_writable(file)
