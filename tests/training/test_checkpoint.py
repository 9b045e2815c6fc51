"""What was saved is never lost: checksums, the checkpoint before the newest, kills between two renames, full disks."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.test_resuming import assert_same_end, resumed
from tests.training.tiny import Scripted, Told, are_equal, tiny_run, tiny_trainer
from weft import weights as weights_module
from weft.disk import owned
from weft.errors import Interrupted, NoRoom, WeftError
from weft.folder import Folder
from weft.training import checkpoint
from weft.training.run import begin
from weft.training.run import resumed as longer
from weft.weights import read_weights

SETTINGS: dict[str, Any] = {"steps": 8, "validate_every": 2, "dropout": 0.2, "average_of": 1}


@pytest.fixture
def stopped(tmp_path: Path) -> Folder:
    """With checkpoints at steps 2, 4 and, by Ctrl-C, 5."""
    folder = tiny_run(tmp_path / "run", **SETTINGS)
    with pytest.raises(Interrupted):
        tiny_trainer(folder, Told(KeyboardInterrupt(), at=5)).train()
    return folder


@pytest.fixture
def whole(stopped: Folder, tmp_path: Path) -> Folder:
    """The same run, never stopped."""
    other = Folder(Path(shutil.copytree(stopped.path, tmp_path / "whole")))
    shutil.rmtree(other.checkpoints)
    tiny_trainer(other).train()
    return other


def names(folder: Folder) -> list[str]:
    return sorted(path.name for path in folder.checkpoints.iterdir())


def flip_a_bit(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-5] ^= 1
    file.write_bytes(data)


def test_checksums_are_what_sha256sum_reads(stopped: Folder) -> None:
    newest = checkpoint.path_of(stopped.checkpoints, 5)
    done = subprocess.run(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=newest, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{name}: OK" for name in checkpoint.FILES]


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


@pytest.mark.parametrize(
    ("name", "damaged"),
    [
        ("model.safetensors", flip_a_bit),
        ("model.safetensors", Path.unlink),
        ("optimiser.safetensors", flip_a_bit),
        ("optimiser.safetensors", Path.unlink),
        ("state.json", cut),
        ("SHA256SUMS", cut),
        ("SHA256SUMS", Path.unlink),
    ],
)
def test_resume_falls_back_from_a_damaged_checkpoint(
    stopped: Folder, whole: Folder, name: str, damaged: Callable[[Path], None]
) -> None:
    """And ends where it would have ended; the damaged one is named and set aside."""
    damaged(stopped.checkpoints / "step-00000005" / name)
    job = tiny_trainer(stopped)
    (sentence,) = job.resume()
    assert sentence.startswith(f"{stopped.checkpoints}/step-00000005 is damaged: its ")
    assert sentence.endswith("It is now damaged-step-00000005.")
    assert job.progress.step == 4
    job.train()
    assert_same_end(stopped, whole)
    assert names(stopped)[0] == "damaged-step-00000005", "kept for inspection"


def test_resume_names_all_checkpoints_when_all_are_damaged(stopped: Folder) -> None:
    before = names(stopped)
    for step in (2, 4, 5):
        flip_a_bit(checkpoint.path_of(stopped.checkpoints, step) / "optimiser.safetensors")
    with pytest.raises(WeftError, match=r"(?s)0005 is damaged: .*0004 is damaged: .*no other checkpoint to resume"):
        tiny_trainer(stopped).resume()
    assert names(stopped) == before


def test_damaged_checkpoint_is_left_out_of_the_average(stopped: Folder) -> None:
    """And what should be averaged but is gone is missed, not fatal: step 2 was dropped for an average of one."""
    longer(stopped, "transformer-tiny", ["average_of=4"])
    job, shown = tiny_trainer(stopped), Scripted()
    job.resume()
    job.validate = shown
    (stopped.checkpoints / "step-00000004" / "model.safetensors").write_bytes(b"nothing of the kind")
    shutil.rmtree(stopped.checkpoints / "step-00000002")
    job.train()
    assert job.remarks == [
        f"{stopped.checkpoints}/step-00000004 is damaged: its model.safetensors does not match its checksum. "
        "It is left out of the average.",
        "average_of=4, but only 2 checkpoints were left to average",
    ]
    six, eight, mean = shown.shown
    assert all(torch.allclose((six[name] + eight[name]) / 2, mean[name]) for name in mean)


def test_damaged_model_is_refused(whole: Folder, tmp_path: Path) -> None:
    model = Folder(shutil.copytree(whole.path, tmp_path / "model"))
    flip_a_bit(model.average)
    for take in (model.model, lambda: read_weights(model.weights())):
        with pytest.raises(WeftError, match=r"model is damaged: its model\.safetensors does not match its checksum\.$"):
            take()
    (model.path / "SHA256SUMS").unlink()
    model.model()  # one that was put together by hand


def test_damaged_tokeniser_is_refused(whole: Folder, tmp_path: Path) -> None:
    model = Folder(shutil.copytree(whole.path, tmp_path / "model"))
    flip_a_bit(model.path / "tokeniser.json")
    with pytest.raises(WeftError, match=r"model is damaged: its tokeniser\.json does not match its checksum\.$"):
        model.model()


def test_damaged_checkpoints_are_set_aside_under_free_names(stopped: Folder) -> None:
    for _ in range(2):
        shutil.copytree(stopped.checkpoints / "step-00000004", stopped.checkpoints / "step-00000006")
        flip_a_bit(stopped.checkpoints / "step-00000006" / "state.json")
        assert tiny_trainer(stopped).resume()
    assert [name for name in names(stopped) if "6" in name] == ["damaged-step-00000006", "damaged-step-00000006-2"]


def test_copies_of_checkpoints_are_ignored(stopped: Folder) -> None:
    for copy in ("step-00000005.bak", "step-00000005-backup"):
        shutil.copytree(stopped.checkpoints / "step-00000005", stopped.checkpoints / copy)
    assert resumed(stopped).progress.step == 8
    assert {"step-00000005.bak", "step-00000005-backup"} <= set(names(stopped))


def test_resume_while_another_process_trains_is_refused(stopped: Folder) -> None:
    draft = stopped.checkpoints / ".step-00000006.draft"
    draft.mkdir()
    with owned(stopped.path), pytest.raises(WeftError, match="is being trained by another process"):
        tiny_trainer(stopped).resume()
    assert draft.exists()


def test_divergence_after_an_unvalidated_checkpoint_says_so(stopped: Folder) -> None:
    """Step 5 was saved by Ctrl-C, and no validation has looked at it."""
    job = tiny_trainer(stopped)
    job.resume()
    with torch.no_grad():
        next(job.model.parameters()).fill_(torch.nan)
    with pytest.raises(WeftError, match=r"step-00000005 was saved without validation: remove it, and --resume"):
        job.train()


def test_kill_between_two_renames_loses_nothing(stopped: Folder, whole: Folder, monkeypatch: Any) -> None:
    """A step that is saved again, with its scores, stands aside while the new one takes its place."""
    job = tiny_trainer(stopped)
    job.resume()
    rename = Path.rename

    def killed(self: Path, target: Path) -> Path:
        moved = rename(self, target)
        if target.name == ".step-00000005.old":
            raise KeyError("killed")
        return moved

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", killed)
        with pytest.raises(KeyError):
            job._save()
    assert "step-00000005" not in names(stopped)
    again = tiny_trainer(stopped)
    again.resume()
    assert again.progress.step == 5
    assert resumed(stopped).progress.step == 8
    assert_same_end(stopped, whole)


def test_checkpoint_folder_is_flushed_after_rename(stopped: Folder, monkeypatch: Any) -> None:
    """Renamed first: a power cut after the flush leaves the new name."""
    flushed: list[tuple[Path, list[str]]] = []
    monkeypatch.setattr(checkpoint, "flush", lambda folder: flushed.append((folder, names(stopped))))
    job = tiny_trainer(stopped)
    job.resume()
    job.progress.step = 6
    job._save()
    assert [folder for folder, _ in flushed] == [stopped.checkpoints]
    assert "step-00000006" in flushed[0][1]


def test_best_checkpoint_is_never_pruned(tmp_path: Path) -> None:
    folder = tiny_run(tmp_path, steps=9, validate_every=1, best_by="loss", average_of=1)
    job = tiny_trainer(folder)
    job.validate = Scripted(*({"loss": 9.0 if step != 3 else 1.0, "bleu": 0.0} for step in range(1, 10)))
    job.train()
    assert names(folder) == ["step-00000003", "step-00000008", "step-00000009"]


def test_full_disk_leaves_the_last_good_checkpoint(stopped: Folder, whole: Folder, monkeypatch: Any) -> None:
    """Half of a file is written before the disk is full; with room it goes on to the same end."""
    job = tiny_trainer(stopped)
    job.resume()
    save = weights_module.save_file

    def no_room(weights: Any, file: Path) -> None:
        save(weights, file)
        os.truncate(file, 100)
        raise weights_module.SafetensorError("I/O error: No space left on device (os error 28)")

    with monkeypatch.context() as patched:
        patched.setattr(weights_module, "save_file", no_room)
        with pytest.raises(NoRoom) as caught:
            job.train()
    said = str(caught.value)
    assert "model.safetensors could not be written: I/O error: No space left on device" in said
    assert said.endswith(f"Stopped after step 6. The last good checkpoint is {stopped.checkpoints}/step-00000005.")
    assert names(stopped) == ["step-00000002", "step-00000004", "step-00000005"], "and no draft takes the room"
    assert resumed(stopped).progress.step == 8
    assert_same_end(stopped, whole)


def test_file_size_limit_ends_with_an_error_message(stopped: Folder) -> None:
    """The real thing, in a process that may write no file as large as a checkpoint."""
    done = subprocess.run(
        [sys.executable, "-m", "weft", "train", "transformer-tiny", "--out", str(stopped.path), "--resume"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000)),
        timeout=120,
    )
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert f"The last good checkpoint is {stopped.checkpoints}/step-00000005." in done.stderr
    assert "Traceback" not in done.stderr
    assert resumed(stopped).progress.step == 8


def test_full_disk_in_an_observer_gives_the_same_error(tmp_path: Path) -> None:
    folder = tiny_run(tmp_path, steps=4, validate_every=2)
    full = OSError(28, "No space left on device", "metrics.jsonl")
    with pytest.raises(NoRoom, match=r"metrics\.jsonl could not be written.* Stopped after step 3\. .*step-00000002"):
        tiny_trainer(folder, Told(full, at=3)).train()


def test_second_process_in_one_folder_is_refused(stopped: Folder, tmp_path: Path) -> None:
    job = tiny_trainer(stopped)
    job.resume()
    with owned(stopped.path), pytest.raises(WeftError, match="is being trained by another process"):
        job.train()
    (tmp_path / "new").mkdir()
    with owned(tmp_path / "new"), pytest.raises(WeftError, match="is being trained by another process"):
        begin(stopped.plan(), [("a", "b")], [("a", "b")], tmp_path / "new")


def test_training_behind_the_newest_checkpoint_is_refused(stopped: Folder) -> None:
    job = tiny_trainer(stopped)
    with pytest.raises(WeftError, match="step-00000005 is newer and would be overwritten"):
        job.train()
    assert are_equal(
        read_weights(stopped.weights()), read_weights(stopped.checkpoints / "step-00000005/model.safetensors")
    )


def test_begin_again_after_a_kill(tmp_path: Path) -> None:
    folder = tiny_run(tmp_path / "run")
    (folder.path / "plan.yaml").rename(folder.path / ".plan.yaml.draft")
    (folder.path / ".beginning").touch()
    (folder.path / "thesis.tex").write_text("years of work")
    with pytest.raises(WeftError, match="is not an empty folder"):
        tiny_run(tmp_path / "run")
    (folder.path / "thesis.tex").unlink()
    assert tiny_run(tmp_path / "run").plan().name == "transformer-tiny"
    assert not (folder.path / ".beginning").exists()
