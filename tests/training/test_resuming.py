"""A training that was stopped goes on as if it never had been: to the last bit."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.precision import needs
from tests.training.tiny import Scripted, Told, are_equal, tiny_run, tiny_trainer, weights_of
from weft.errors import Interrupted, WeftError
from weft.folder import Folder
from weft.plans.catalogues import OPTIMISERS
from weft.training import checkpoint
from weft.training.loop import Trainer
from weft.training.observers import MetricsFile
from weft.training.run import resumed as longer
from weft.training.run import trainer
from weft.weights import read_weights

SETTINGS: dict[str, Any] = {"steps": 8, "validate_every": 3, "dropout": 0.2, "bpe_dropout": 0.2, "accumulate": 2}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """With dropout of both kinds; validated at steps 3, 6 and 8; steps 5 and 6 in the middle of an epoch."""
    return tiny_run(tmp_path / "run", **SETTINGS)


@pytest.fixture
def uninterrupted(folder: Folder, tmp_path: Path) -> Folder:
    """A copy of the folder, trained without interruption."""
    other = Folder(Path(shutil.copytree(folder.path, tmp_path / "uninterrupted")))
    tiny_trainer(other).train()
    return other


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """SIGINT is KeyboardInterrupt, also where a test runner ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def resumed(folder: Folder) -> Trainer:
    torch.manual_seed(99)  # whatever was drawn in between
    job = tiny_trainer(folder)
    job.resume()
    job.train()
    return job


def assert_same_end(left: Folder, right: Folder) -> None:
    assert are_equal(read_weights(left.weights()), read_weights(right.weights()))
    ends = [checkpoint.newest(folder) for folder in (left, right)]
    for name in ("model.safetensors", "optimiser.safetensors"):
        first, second = (read_weights(end / name) for end in ends if end)
        assert are_equal(first, second), name


def test_stops_lie_within_an_epoch(folder: Folder) -> None:
    """Else the tests of this file would say little: steps 3, 5 and 6 are not the last of an epoch's four."""
    assert len(list(tiny_trainer(folder).batches.epoch(0))) == 4 * SETTINGS["accumulate"]


def test_resume_after_ctrl_c(folder: Folder, uninterrupted: Folder) -> None:
    job = tiny_trainer(folder, Told(KeyboardInterrupt(), at=5))
    with pytest.raises(Interrupted, match=r"stopped\. Saved at step 5; continue with --resume\."):
        job.train()
    assert resumed(folder).progress.step == 8
    assert_same_end(folder, uninterrupted)


def test_resume_after_ctrl_c_within_a_step(folder: Folder, uninterrupted: Folder) -> None:
    """Dropout has already drawn for a step that will be taken anew."""
    job = tiny_trainer(folder)
    forward, calls = job.model.forward, iter(range(100))

    def interrupted(batch: Any) -> Any:
        loss = forward(batch)
        if next(calls) == 9:
            raise KeyboardInterrupt
        return loss

    job.model.forward = interrupted  # type: ignore[method-assign]
    with pytest.raises(Interrupted, match="Saved at step 4"):
        job.train()
    resumed(folder)
    assert_same_end(folder, uninterrupted)


def test_resume_after_sigterm(folder: Folder, uninterrupted: Folder) -> None:
    """SIGTERM, in the middle of a step, is heard as Ctrl-C is; and only while it trains."""
    job = tiny_trainer(folder)
    forward, calls = job.model.forward, iter(range(100))

    def interrupted(batch: Any) -> Any:
        if next(calls) == 9:
            assert signal.getsignal(signal.SIGTERM) == signal.default_int_handler, "else it would end this test"
            os.kill(os.getpid(), signal.SIGTERM)
        return forward(batch)

    job.model.forward = interrupted  # type: ignore[method-assign]
    with pytest.raises(Interrupted, match="Saved at step 4"):
        job.train()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    resumed(folder)
    assert_same_end(folder, uninterrupted)


def test_resume_after_ctrl_c_in_the_optimiser_step(folder: Folder, uninterrupted: Folder, ctrl_c: None) -> None:
    """It waits: weights and progress move together."""
    job = tiny_trainer(folder)
    move = job.optimiser.step

    def interrupted() -> None:
        move()
        if job.progress.step == 4:
            os.kill(os.getpid(), signal.SIGINT)

    job.optimiser.step = interrupted  # type: ignore[method-assign, assignment]
    with pytest.raises(Interrupted, match="Saved at step 5"):
        job.train()
    resumed(folder)
    assert_same_end(folder, uninterrupted)


def test_second_ctrl_c_waits_for_the_checkpoint(folder: Folder, ctrl_c: None, monkeypatch: pytest.MonkeyPatch) -> None:
    save = checkpoint.save

    def interrupted(*given: Any) -> Path:
        os.kill(os.getpid(), signal.SIGINT)
        return save(*given)

    monkeypatch.setattr(checkpoint, "save", interrupted)
    with pytest.raises(Interrupted, match="Saved at step 1"):
        tiny_trainer(folder, Told(KeyboardInterrupt(), at=1)).train()
    assert checkpoint.newest(folder) == checkpoint.path_of(folder.checkpoints, 1)


@pytest.mark.parametrize("validation", [1, 2, 3])
def test_resume_after_ctrl_c_while_validating(folder: Folder, uninterrupted: Folder, validation: int) -> None:
    """What was not validated is validated after all, also at the last step."""
    job = tiny_trainer(folder)
    validate, calls = job.validate, iter(range(1, 100))

    def interrupted(model: Any) -> Any:
        if next(calls) == validation:
            raise KeyboardInterrupt
        return validate(model)

    job.validate = interrupted
    with pytest.raises(Interrupted):
        job.train()
    assert list(resumed(folder).progress.scores) == [3, 6, 8]
    assert_same_end(folder, uninterrupted)


def test_resume_after_a_crash(folder: Folder, uninterrupted: Folder) -> None:
    """Nothing could be saved: it goes on from the last checkpoint, in the middle of an epoch."""
    with pytest.raises(RuntimeError, match="the power is gone"):
        tiny_trainer(folder, Told(RuntimeError("the power is gone"), at=5)).train()
    assert checkpoint.newest(folder) == checkpoint.path_of(folder.checkpoints, 3)
    resumed(folder)
    assert_same_end(folder, uninterrupted)


def test_metrics_have_each_step_once(folder: Folder) -> None:
    with pytest.raises(RuntimeError):
        trainer(folder, [Told(RuntimeError(), at=7)]).train()
    job = trainer(folder)
    job.resume()
    job.train()
    rows = [json.loads(line) for line in (folder.path / "metrics.jsonl").read_text().splitlines()]
    assert [(row["step"], "valid" in row) for row in rows] == [
        (1, False),
        *((step, is_valid) for step in (3, 6, 8) for is_valid in (False, True)),
    ]


def test_metrics_have_each_validation_once(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed right after a checkpoint, which knows the validation: it is told by then, and not told again."""

    def killed(*_: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "prune", killed)
        with pytest.raises(RuntimeError, match="killed"):
            trainer(folder).train()
    job = trainer(folder)
    job.resume()
    assert job.progress.step == 3
    job.train()
    rows = [json.loads(line) for line in (folder.path / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "valid" in row] == [3, 6, 8]


def test_resuming_a_finished_run_changes_nothing(folder: Folder) -> None:
    tiny_trainer(folder).train()
    before = (folder.path / "model.safetensors").read_bytes()
    told = Told()
    job = tiny_trainer(folder, told)
    job.resume()
    job.train()
    assert told.steps == {}
    assert (folder.path / "model.safetensors").read_bytes() == before


def test_extended_run_uses_its_newest_weights(folder: Folder) -> None:
    """The old average stays until there is a newer checkpoint, and is not in its way from then on."""
    tiny_trainer(folder).train()
    longer(folder, "transformer-tiny", ["steps=12"])
    job = tiny_trainer(folder, Told(KeyboardInterrupt(), at=10))
    job.resume()
    assert folder.weights() == folder.average
    with pytest.raises(Interrupted):
        job.train()
    assert are_equal(read_weights(folder.weights()), weights_of(job.model))
    assert resumed(folder).progress.step == 12
    assert folder.weights() == folder.average


def test_ctrl_c_before_the_first_step(folder: Folder) -> None:
    job = tiny_trainer(folder)
    job.model.forward = _raise_keyboard_interrupt  # type: ignore[method-assign]
    with pytest.raises(Interrupted, match=r"stopped\. There was nothing to save yet\."):
        job.train()
    again = tiny_trainer(folder)
    again.resume()
    assert again.progress.step == 0


def test_resume_without_checkpoints_keeps_the_model(folder: Folder) -> None:
    tiny_trainer(folder).train()
    shutil.rmtree(folder.checkpoints)
    with pytest.raises(WeftError, match=r"checkpoints are gone\. Its model\.safetensors can start a new run: .*--from"):
        tiny_trainer(folder).resume()


def test_resume_without_checkpoints_keeps_the_metrics(folder: Folder) -> None:
    job = tiny_trainer(folder, MetricsFile(folder.path / "metrics.jsonl"), Told(KeyboardInterrupt(), at=5))
    with pytest.raises(Interrupted):
        job.train()
    shutil.rmtree(folder.checkpoints)
    with pytest.raises(WeftError, match=r"its checkpoints are gone, though metrics\.jsonl shows that there were"):
        tiny_trainer(folder).resume()


def test_resume_before_the_first_checkpoint_starts_over(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its metrics tell of steps, and even of the validation before that checkpoint."""

    def killed(*_: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "save", killed)
        with pytest.raises(RuntimeError, match="killed"):
            tiny_trainer(folder, MetricsFile(folder.path / "metrics.jsonl")).train()
    assert '"valid"' in (folder.path / "metrics.jsonl").read_text()
    job = tiny_trainer(folder)
    assert job.resume() == []
    assert job.progress.step == 0


def _raise_keyboard_interrupt(batch: Any) -> Any:
    raise KeyboardInterrupt


def test_ctrl_c_closes_the_observers(folder: Folder) -> None:
    told = Told(KeyboardInterrupt(), at=1)
    with pytest.raises(Interrupted):
        tiny_trainer(folder, told).train()
    assert told.is_closed


def test_interrupted_is_exit_code_130() -> None:
    assert Interrupted("stopped.").exit_code == 130


def test_resume_keeps_counting_patience(tmp_path: Path) -> None:
    folder = tiny_run(tmp_path, steps=50, validate_every=1, patience=3, best_by="loss")
    first = tiny_trainer(folder, Told(KeyboardInterrupt(), at=3))
    first.validate = Scripted({"loss": 1.0, "bleu": 0.0}, {"loss": 2.0, "bleu": 0.0}, {"loss": 2.0, "bleu": 0.0})
    with pytest.raises(Interrupted):
        first.train()
    second = tiny_trainer(folder)
    second.validate = Scripted(*[{"loss": 2.0, "bleu": 0.0}] * 20)
    second.resume()
    second.train()
    assert second.progress.step == 4


@pytest.mark.parametrize("name", ["model.safetensors", "optimiser.safetensors", "state.json"])
@pytest.mark.parametrize("damage", [lambda data: data[:-40], lambda data: b"", lambda data: b"\x80" + data])
def test_damaged_checkpoint_is_refused(folder: Folder, name: str, damage: Any) -> None:
    job = tiny_trainer(folder, Told(KeyboardInterrupt(), at=1))
    with pytest.raises(Interrupted):
        job.train()
    file = folder.checkpoints / "step-00000001" / name
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(WeftError, match=r"step-00000001.* is damaged"):
        tiny_trainer(folder).resume()


def test_optimiser_of_another_model_is_refused(folder: Folder) -> None:
    with pytest.raises(Interrupted):
        tiny_trainer(folder, Told(KeyboardInterrupt(), at=1)).train()
    torch_file = folder.checkpoints / "step-00000001" / "optimiser.safetensors"
    shutil.copy(folder.checkpoints / "step-00000001" / "model.safetensors", torch_file)
    with pytest.raises(WeftError, match="step-00000001 is damaged"):
        tiny_trainer(folder).resume()


def test_unfinished_checkpoint_is_ignored(folder: Folder) -> None:
    """A draft that a kill left behind is passed over, and cleared away by the next checkpoint."""
    job = tiny_trainer(folder, Told(KeyboardInterrupt(), at=1))
    with pytest.raises(Interrupted):
        job.train()
    draft = folder.checkpoints / ".step-00000002.draft"
    shutil.copytree(folder.checkpoints / "step-00000001", draft)
    assert checkpoint.newest(folder) == checkpoint.path_of(folder.checkpoints, 1)
    resumed(folder)
    assert not draft.exists()


def test_save_and_load_round_trip(folder: Folder) -> None:
    job = tiny_trainer(folder, Told(KeyboardInterrupt(), at=4))
    with pytest.raises(Interrupted):
        job.train()
    random = torch.get_rng_state()
    torch.rand(7)
    other = tiny_trainer(folder)
    other.resume()
    assert are_equal(weights_of(job.model), weights_of(other.model))
    assert torch.equal(torch.get_rng_state(), random)
    assert other.progress == job.progress
    for mine, theirs in zip(job.optimiser.state.values(), other.optimiser.state.values(), strict=True):
        assert are_equal(mine, theirs)


@pytest.mark.parametrize("optimiser", list(OPTIMISERS))
@pytest.mark.parametrize("ema", [0.0, 0.9])
def test_resume_with_every_optimiser(tmp_path: Path, optimiser: str, ema: float) -> None:
    """And with a running mean of the weights: what is shown, kept and remembered is the same to the last bit."""
    needs(OPTIMISERS.makes(optimiser).precision)
    settings = {**SETTINGS, "optimiser": optimiser, "ema": ema, "weight_decay": 0.1}
    folder = tiny_run(tmp_path / "run", **settings)
    whole = Folder(Path(shutil.copytree(folder.path, tmp_path / "whole")))
    tiny_trainer(whole).train()
    with pytest.raises(Interrupted):
        tiny_trainer(folder, Told(KeyboardInterrupt(), at=5)).train()
    assert resumed(folder).progress.step == 8
    assert_same_end(folder, whole)


def test_another_optimiser_cannot_go_on(folder: Folder) -> None:
    with pytest.raises(WeftError, match="the optimiser cannot be changed on resume: this run uses adam, got muon"):
        longer(folder, None, ["optimiser=muon"])


def test_running_mean_can_begin_and_end_on_resume(folder: Folder) -> None:
    """It begins with the weights there are; where it ends, the weights go on and not their mean."""
    with pytest.raises(Interrupted):
        tiny_trainer(folder, Told(KeyboardInterrupt(), at=4)).train()
    longer(folder, None, ["ema=0.9"])
    job = tiny_trainer(folder, Told(KeyboardInterrupt(), at=5))
    job.resume()
    assert job.kept.instead is not None
    assert are_equal(job.kept.instead, weights_of(job.model))
    with pytest.raises(Interrupted):
        job.train()
    longer(folder, None, ["ema=0"])
    again = tiny_trainer(folder)
    again.resume()
    assert are_equal(weights_of(again.model), weights_of(job.model))
    assert not are_equal(weights_of(again.model), job.kept.instead)
