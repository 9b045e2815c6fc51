"""One training, killed by SIGKILL again and again, ends with the same bits as one that was left alone.

Every other kill is aimed: into the writing of the run folder, of a checkpoint or into its reading. The others come at
random moments.
"""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.training.tiny import SETTINGS, are_equal, reversed_letters
from weft.folder import Folder
from weft.training import checkpoint
from weft.weights import read_weights

EVERY = 10  # steps from one checkpoint to the next
DICE = random.Random(2017)


def begin(out: Path, steps: int) -> list[str]:
    """The words of a training with everything that draws or remembers."""
    chosen: dict[str, Any] = {"dropout": 0.2, "bpe_dropout": 0.2, "accumulate": 2, "average": "best", "best_by": "loss"}
    chosen = {**SETTINGS, **chosen, "average_of": 3, "precision": "float32", "steps": steps, "validate_every": EVERY}
    words = ["train", "transformer-tiny", "--out", str(out)]
    for name, pairs in (("train", reversed_letters(60)), ("valid", reversed_letters(6, seed=2))):
        file = out.with_name(f"{name}.tsv")
        file.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
        words += [f"--{name}", str(file)]
    return [*words, "--set", *(f"{key}={json.dumps(value)}" for key, value in chosen.items())]


def go_on(out: Path, steps: int) -> list[str]:
    """As someone would who finds a run folder, or half of one."""
    return (
        ["train", "transformer-tiny", "--out", str(out), "--resume"]
        if (out / "plan.yaml").exists()
        else begin(out, steps)
    )


def aimed(words: list[str], word: str, n: int) -> bool:
    """Whether it was killed when it touched such a file for the n-th time, or ended before."""
    command = [sys.executable, "-m", "tests.end_to_end.killed", word, str(n), *words]
    return ended(subprocess.run(command, capture_output=True, text=True, timeout=300))


def timed(words: list[str], seconds: float) -> bool:
    """Whether it was killed this many seconds after it had begun to train, or ended before."""
    process = subprocess.Popen([sys.executable, "-m", "weft", *words], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    said = ""
    while "resuming from step" not in said and "validation pairs" not in said and process.poll() is None:
        said += process.stderr.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    rest = process.communicate()[1]
    return ended(subprocess.CompletedProcess(words, process.returncode, "", said + rest))


def ended(done: "subprocess.CompletedProcess[str]") -> bool:
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    assert "damaged" not in done.stderr
    return done.returncode != 0


def rows(folder: Path) -> list[dict[str, Any]]:
    """What the metrics file says, but for the time it took."""
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in found]


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.torture)])
def test_killed_training_ends_with_the_same_bits(tmp_path: Path, kills: int) -> None:
    steps = 3 * EVERY * kills
    left_alone, killed = tmp_path / "left-alone", tmp_path / "killed"
    subprocess.run([sys.executable, "-m", "weft", *begin(left_alone, steps)], check=True, capture_output=True)
    seconds = json.loads((left_alone / "metrics.jsonl").read_text().splitlines()[-2])["seconds"]

    deaths = aimed(begin(killed, steps), str(killed), DICE.randint(1, 20))
    for kill in range(1, kills):
        if kill % 2:
            deaths += aimed(go_on(killed, steps), "checkpoints", DICE.randint(1, 60))
        else:
            deaths += timed(go_on(killed, steps), DICE.uniform(0, seconds / kills))
    assert deaths == kills, "the training was over before it was killed often enough"
    subprocess.run([sys.executable, "-m", "weft", *go_on(killed, steps)], check=True, capture_output=True)

    assert (killed / "model.safetensors").read_bytes() == (left_alone / "model.safetensors").read_bytes()
    ends = [checkpoint.newest(Folder(run)) for run in (left_alone, killed)]
    for name in ("model.safetensors", "optimiser.safetensors"):
        first, second = (read_weights(end / name) for end in ends if end)
        assert are_equal(first, second), name
    assert rows(killed) == rows(left_alone)
    print(f"{deaths} kills survived, {steps} steps")
