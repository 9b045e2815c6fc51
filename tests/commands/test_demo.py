"""The demo, cut short: what it may delete, and what it says when it is stopped or something is missing."""

import importlib.util
from pathlib import Path

import pytest
import torch

from tests.commands.test_commands import weft
from tests.toys import SMALL
from weft.plans.presets import plan
from weft.samples.dates import make_dates
from weft.training.observers import Bar


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few pairs and steps, which teach it nothing (the promise of 99 % is `make demo`'s to keep), and no pictures."""
    torch.set_num_threads(1)
    recipes = {"dates": plan("dates").with_settings(SMALL), "gpt-tiny": plan("gpt-tiny").with_settings({"width": 16})}
    pairs = make_dates(held_out=1, valid=2, train_pairs=50)
    find_spec = importlib.util.find_spec
    monkeypatch.setattr("weft.plans.presets.plan", recipes.__getitem__)
    monkeypatch.setattr("weft.samples.dates.make_dates", lambda: pairs)
    monkeypatch.setattr("weft.commands.demo._report", lambda *_: None)
    monkeypatch.setattr("weft.commands.demo.STEPS", 2)
    for module in ("importlib.util", "weft.training.run"):
        monkeypatch.setattr(f"{module}.find_spec", lambda name: None if name == "matplotlib" else find_spec(name))


def test_a_stopped_demo_starts_over_and_runs_without_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ctrl_c(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Bar, "step", ctrl_c)
        done = weft("demo", "--out", str(tmp_path / "demo"))
    assert (done.returncode, done.stderr) == (130, "weft: stopped. The next `weft demo` starts over.\n")
    done = weft("demo", "--out", str(tmp_path / "demo"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo/dates/model.safetensors").is_file()
    assert 'a picture needs matplotlib: pip install -e ".[view]"' in done.stdout


@pytest.mark.parametrize("place", ["dates/thesis.tex", "dates/plan.yaml", "thesis.tex"])
def test_files_that_are_not_an_earlier_demo_are_kept(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("years of work")
    done = weft("demo", "--out", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == f"weft: {tmp_path} holds files that are not an earlier demo's; choose another --out.\n"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / place]
