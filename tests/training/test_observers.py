"""Those who are told: the metrics file, TensorBoard, the bar."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from tests.training.tiny import Told
from weft.evaluation.scores import BLEU, LOSS, PERPLEXITY
from weft.training.observers import Bar, Curves, EveryNSteps, GradientSpikes, MetricsFile, TensorBoard

STEP = {"objective": 2.0, "loss": 1.23456789, "tokens": 1234567, "rate": 1.5e-7, "gradient": 0.5}
METRICS = (LOSS, PERPLEXITY, BLEU)
SCORES = {"loss": 1.5, "perplexity": 4.5, "bleu": 12.0}


def rows(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def places(file: Path) -> list[tuple[object, str]]:
    return [(row["step"], "valid" if "valid" in row else "step") for row in rows(file)]


def test_metrics_keep_six_digits(tmp_path: Path) -> None:
    MetricsFile(tmp_path / "m").step(1, STEP)
    (row,) = rows(tmp_path / "m")
    assert (row["loss"], row["tokens"], row["rate"]) == (1.23457, 1234567, 1.5e-7)


def test_gradient_spikes_are_reported_once_per_hundred_steps() -> None:
    """Ten times the median of the last hundred; not in the first twenty steps, when nothing is usual yet."""
    told: list[str] = []
    spikes = GradientSpikes(told.append)
    for step in range(1, 301):
        norm = {5: 99.0, 30: 20.1, 40: 50.0, 45: 19.9, 250: 50.0}.get(step, 2.0)
        spikes.step(step, {**STEP, "gradient": norm})
    assert told == [
        f"step {step}: gradient norm {norm} (median 2); consider a lower learning rate."
        for step, norm in ((30, 20.1), (250, 50))
    ]


def test_every_n_steps_forwards_first_tenth_and_last_before_validation() -> None:
    told = Told()
    sparse = EveryNSteps(told)
    for step in range(1, 31):
        sparse.step(step, STEP)
        if step in (14, 20):
            sparse.validation(step, SCORES)
    sparse.close()
    assert list(told.steps) == [1, 10, 14, 20, 30]
    assert list(told.validations) == [14, 20]
    assert told.is_closed


def test_metrics_file_drops_rows_after_the_resumed_step(tmp_path: Path) -> None:
    first = MetricsFile(tmp_path / "m")
    for step in (10, 20, 30):
        first.step(step, STEP)
        first.validation(step, SCORES)
    with (tmp_path / "m").open("a") as file:
        file.write('{"step": 40, "los')  # killed in the middle of a line
    second = MetricsFile(tmp_path / "m")
    second.step(20, STEP)
    second.validation(20, SCORES)
    assert places(tmp_path / "m") == [(10, "step"), (10, "valid"), (20, "step"), (20, "valid")]


def test_metrics_file_keeps_step_of_a_late_validation(tmp_path: Path) -> None:
    MetricsFile(tmp_path / "m").step(10, STEP)
    MetricsFile(tmp_path / "m").validation(10, SCORES)
    assert places(tmp_path / "m") == [(10, "step"), (10, "valid")]


def test_tensorboard_gets_the_same_numbers(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = TensorBoard(tmp_path)
    board.step(10, STEP)
    board.validation(15, SCORES)
    board.close()
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, e.value) for e in events.Scalars("training/loss")] == [(10, pytest.approx(1.23456789))]
    assert [(e.step, e.value) for e in events.Scalars("validation/bleu")] == [(15, 12.0)]


def test_curves_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    metrics = MetricsFile(tmp_path / "m")
    metrics.step(10, STEP)
    metrics.validation(10, SCORES)
    Curves(tmp_path / "m", tmp_path / "curves.png", BLEU).validation(10, SCORES)
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def without_colours(text: str) -> str:
    return re.sub("\x1b\\[[^a-zA-Z]*[a-zA-Z]", "", text)


def test_bar_shows_losses_and_speed() -> None:
    screen = io.StringIO()
    bar = Bar(100, METRICS, Console(file=screen, force_terminal=True, width=120))
    bar.step(1, STEP)
    bar.validation(1, SCORES)
    bar.step(2, STEP)
    bar.close()
    shown = without_colours(screen.getvalue())
    assert "training loss 1.235   validation loss 1.500   perplexity 4.50   BLEU 12.0" in shown
    assert "step 2/100" in shown
    assert "tokens/s" in shown


def test_bar_shows_no_loss_before_the_first_step() -> None:
    """It is drawn at once, and a run that was stopped while it validated validates before it steps."""
    screen = io.StringIO()
    bar = Bar(100, METRICS, Console(file=screen, force_terminal=True, width=120))
    bar.validation(1, {**SCORES, "perplexity": 1e300})
    bar.close()
    shown = without_colours(screen.getvalue())
    assert "nan" not in shown
    assert "training loss …   validation loss 1.500   perplexity 1.0e+300   BLEU" in shown


def test_bar_prints_only_validations_without_a_terminal() -> None:
    screen = io.StringIO()
    bar = Bar(100, METRICS, Console(file=screen, width=120))
    bar.step(1, STEP)
    bar.validation(1, SCORES)
    bar.close()
    assert len(screen.getvalue().splitlines()) == 1
