"""Recurrence and convolution beside attention: every family learns a toy, and every verb works on it."""

import json
from pathlib import Path

import pytest

from tests.commands.test_commands import Done, weft
from tests.toys import PAIRS, write_files
from weft.folder import Folder
from weft.plans.presets import plan
from weft.training.observers import metrics_rows
from weft.training.run import begin, trainer

FAMILIES = ["seq2seq-rnn", "bahdanau", "luong", "gnmt", "convs2s", "bytenet"]
WITHOUT_ATTENTION = {"seq2seq-rnn", "bytenet"}
SHORT = {
    "width": 32,
    "vocabulary": 280,
    "dropout": 0.0,
    "batch_tokens": 512,
    "accumulate": 1,
    "steps": 60,
    "rate": 0.01,
    "schedule": {"name": "cosine", "warmup": 10},
    "validate_every": 30,
    "average_of": 1,
}


@pytest.fixture(scope="module", params=FAMILIES)
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with someone's files and a model of the family trained on them."""
    folder = tmp_path_factory.mktemp(request.param)
    write_files(folder)
    recipe = plan(f"{request.param}-tiny").with_settings(SHORT)
    trainer(begin(recipe, PAIRS[:300], PAIRS[300:320], folder / "run", languages=("en", "de"))).train()
    return folder


def family(desk: Path) -> str:
    return Folder(desk / "run").plan().name.removesuffix("-tiny")


def test_loss_falls(desk: Path) -> None:
    """From knowing nothing, log 280 = 5.6, to knowing most of a target."""
    losses = [row["valid"]["loss"] for row in metrics_rows(desk / "run" / "metrics.jsonl") if "valid" in row]
    assert losses[-1] < losses[0]
    assert losses[-1] < 2.0


@pytest.mark.parametrize("search", [("--beam", "1"), ("--beam", "4"), ("--sample",)])
def test_translate(desk: Path, search: tuple[str, ...]) -> None:
    done = weft("translate", "run", "test.en", *search, cwd=desk)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 10


def test_evaluate(desk: Path) -> None:
    done = weft("evaluate", "run", "--source", "test.en", "--reference", "test.de", "--json", cwd=desk)
    assert done.returncode == 0, done.stderr
    assert 1 < json.loads(done.stdout)["perplexity"] < 10


def test_attend_draws_or_is_refused(desk: Path) -> None:
    done: Done = weft("attend", "run", "red cat", "--target", "RED CAT", "--png", "cat.png", cwd=desk)
    if family(desk) in WITHOUT_ATTENTION:
        assert done.returncode == 2
        assert done.stderr == "weft: this model has no attention.\n"
    else:
        assert done.returncode == 0, done.stderr
        assert (desk / "cat.png").read_bytes().startswith(b"\x89PNG")


def test_show(desk: Path) -> None:
    done = weft("show", "run", cwd=desk)
    assert done.returncode == 0, done.stderr
    assert "FLOP forward and back" in done.stdout
    assert "latest validation: step 60" in done.stdout


def test_resume(desk: Path) -> None:
    done = weft("train", f"{family(desk)}-tiny", "--out", "run", "--resume", "--set", "steps=62", cwd=desk)
    assert done.returncode == 0, done.stderr
    assert "resuming from step 60" in done.stderr


def test_export_is_refused_by_slot(desk: Path) -> None:
    done = weft("export", "run", "--to", "ctranslate2", "--out", "ct2", cwd=desk)
    assert done.returncode == 2
    assert "decoder.stack is" in done.stderr
