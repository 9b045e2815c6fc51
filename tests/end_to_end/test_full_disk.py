"""A disk that is really full: a training on one of 400 KB stops in words, and goes on when there is room."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.test_kills import begin
from weft.disk import damage
from weft.folder import Folder
from weft.training import checkpoint

pytestmark = pytest.mark.torture
STEPS = 200


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", disk]).returncode:
        pytest.skip("only root may mount a small disk, and not everywhere")
    yield disk
    subprocess.run(["umount", disk], check=True)


def weft(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "weft", *words], capture_output=True, text=True, timeout=600)


def test_training_resumes_after_a_full_disk(small_disk: Path, tmp_path: Path) -> None:
    """All checkpoints are kept for the average, until the disk is full of them."""
    keep = ["average_of=100", "average=last"]
    run = small_disk / "run"
    done = weft(*begin(run, STEPS), *keep)
    assert done.returncode == 1, done.stderr
    assert "No space left on device" in done.stderr
    assert "The last good checkpoint is" in done.stderr
    assert "Traceback" not in done.stderr
    newest = checkpoint.newest(Folder(run))
    assert newest is not None
    assert damage(newest, checkpoint.FILES) is None
    subprocess.run(["mount", "-o", "remount,size=40m", small_disk], check=True)
    assert weft("train", "transformer-tiny", "--out", str(run), "--resume").returncode == 0
    assert weft(*begin(tmp_path / "roomy", STEPS), *keep).returncode == 0
    assert (run / "model.safetensors").read_bytes() == (tmp_path / "roomy/model.safetensors").read_bytes()
