"""Several processes train one model: the same curve as one alone, no row lost, a lost worker named, runs that go on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from tests.pairs import pair_batch
from tests.training.tiny import SETTINGS, are_equal, reversed_letters
from weft.models.base import IGNORED
from weft.training.workers import ALONE
from weft.weights import read_weights

PLAIN = {"dropout": 0.0, "steps": 50, "validate_every": 25, "rate": 0.003}
FIXED = {"precision": "float32"}  # which of two is faster may differ from run to run
Settings = dict[str, object]
PATIENCE = 240  # seconds: the machine may have other work, and a test that hangs should still end


def command(folder: Path, settings: Settings, *more: str) -> list[str]:
    merged = {key: json.dumps(value) for key, value in {**SETTINGS, **FIXED, **settings}.items()}
    words = ["train", "transformer-tiny", "--out", str(folder), *more]
    if "--resume" not in more:
        for name, pairs in (("train", reversed_letters(60)), ("valid", reversed_letters(6, seed=2))):
            file = folder.with_name(f"{name}.tsv")
            file.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
            words += [f"--{name}", str(file)]
        words += ["--set", *(f"{key}={value}" for key, value in merged.items())]
    return [sys.executable, "-m", "weft", *words]


def alone(folder: Path, settings: Settings, *more: str) -> Path:
    subprocess.run(command(folder, settings, *more), check=True, capture_output=True, timeout=PATIENCE)
    return folder


def together(folder: Path, settings: Settings, *more: str) -> Path:
    return alone(folder, settings, "--workers", "2", *more)


def curve(folder: Path, what: str = "loss") -> list[float]:
    rows = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    told = [row.get("valid", row) for row in rows]
    return [row[what] for row in told if what in row]


def interrupted(folder: Path, settings: Settings, number: signal.Signals, victim: int) -> str:
    """Two workers, one of which (0: the first) gets a signal once there is a checkpoint; what the first one said."""
    process = subprocess.Popen(
        command(folder, settings, "--workers", "2"),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a test runner may ignore it
    )
    while not list(folder.glob("checkpoints/step-*/state.json")):
        assert process.poll() is None, "ended before it was interrupted"
        time.sleep(0.05)
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    os.kill(process.pid if victim == 0 else int(children[0]), number)
    said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode != 0
    return said


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_share_gives_each_row_to_one_worker(rows: int, size: int) -> None:
    batch = pair_batch(torch.arange(1, rows + 1)[:, None], torch.arange(1, rows + 1)[:, None] * 10)
    shares = [batch.share(rank, size) for rank in range(size)]
    learned = sorted(int(t) for share in shares for t in share.targets.flatten() if t != IGNORED)
    assert learned == [10 * row for row in range(1, rows + 1)]
    assert all(len(share.inputs["source"]) for share in shares), "a worker without rows would leave the others waiting"


def test_single_worker_exchanges_nothing() -> None:
    assert ALONE.total(1.5, 2.0) == [1.5, 2.0]
    assert ALONE.gather("mine") == ["mine"]


@pytest.mark.parametrize("how", [(), ("--shard",)], ids=["replicated", "sharded"])
def test_two_workers_match_one_process(tmp_path: Path, how: tuple[str, ...]) -> None:
    """Also where a batch is shared unevenly, two of them make a step, and the gradient is clipped."""
    settings = {**PLAIN, "accumulate": 2, "batch_tokens": 35, "clip": 0.5}
    one, two = alone(tmp_path / "one", settings), together(tmp_path / "two", settings, *how)
    assert len(curve(one)) == 9
    assert curve(two) == pytest.approx(curve(one), abs=1e-4)
    assert curve(two, "gradient") == pytest.approx(curve(one, "gradient"), rel=1e-4), "the norm is that of all slices"


def test_torchrun(tmp_path: Path) -> None:
    _, *words = command(tmp_path / "run", {**PLAIN, "steps": 10, "validate_every": 10})
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*launcher, *words], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "model.safetensors").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_workers_resume_bit_for_bit(tmp_path: Path, number: signal.Signals) -> None:
    """Both stop after the same step, and each goes on with its own draws of dropout."""
    settings = {"steps": 200, "validate_every": 50, "dropout": 0.2}
    said = interrupted(tmp_path / "stopped", settings, number, victim=0)
    assert "continue with --resume" in said
    together(tmp_path / "stopped", settings, "--resume")
    whole = together(tmp_path / "whole", settings)
    ends = [read_weights(folder / "model.safetensors") for folder in (tmp_path / "stopped", whole)]
    assert are_equal(*ends)


SHARDED = ("--workers", "2", "--shard")


@pytest.fixture(scope="module")
def forty_steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return alone(tmp_path_factory.mktemp("workers") / "whole", {**PLAIN, "steps": 40, "validate_every": 10})


@pytest.mark.parametrize(("first", "then"), [((), SHARDED), (SHARDED, ())], ids=["alone first", "sharded first"])
def test_checkpoints_of_one_process_and_sharded_workers_are_interchangeable(
    tmp_path: Path, forty_steps: Path, first: tuple[str, ...], then: tuple[str, ...]
) -> None:
    settings = {**PLAIN, "steps": 20, "validate_every": 10}
    run = alone(tmp_path / "run", settings, *first)
    alone(run, settings, *then, "--resume", "--set", "steps=40")
    assert curve(run) == pytest.approx(curve(forty_steps), abs=1e-4)
    for name in ("model.safetensors", "optimiser.safetensors"):
        ours, theirs = (read_weights(each / "checkpoints/step-00000040" / name) for each in (run, forty_steps))
        for key, value in theirs.items():
            if key == "0:random":
                continue  # workers draw for themselves
            assert ours[key].shape == value.shape, key
            if not key.endswith("project.bias"):  # of keys: it has no gradient but rounding, which Adam makes large
                assert torch.allclose(ours[key], value, rtol=1e-4, atol=1e-5), key


def test_sharded_run_resumes_bit_for_bit(tmp_path: Path) -> None:
    settings = {"steps": 10, "validate_every": 5, "dropout": 0.2}
    stopped = together(tmp_path / "stopped", settings, "--shard")
    together(stopped, settings, "--shard", "--resume", "--set", "steps=20")
    whole = together(tmp_path / "whole", {**settings, "steps": 20}, "--shard")
    assert are_equal(*(read_weights(run / "checkpoints/step-00000020/model.safetensors") for run in (stopped, whole)))


def test_lost_worker_is_reported_and_one_process_resumes(tmp_path: Path) -> None:
    settings = {"steps": 2000, "validate_every": 100}
    said = interrupted(tmp_path / "run", settings, signal.SIGKILL, victim=1)
    assert "lost contact with another worker" in said
    assert "Traceback" not in said
    alone(tmp_path / "run", settings, "--resume", "--set", "steps=300")
