"""Observers of a training: a progress bar, warnings, a file of metrics, TensorBoard, a picture of the curves.

`EveryNSteps` thins out the steps for observers that record them.
"""

import json
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from weft.disk import write_text
from weft.evaluation.scores import Metric


class Observer(Protocol):
    """An observer receives the metrics of each step and the scores of each validation."""

    def step(self, step: int, metrics: dict[str, float]) -> None:
        """Receive the metrics of a step: objective and loss (mean nll) per token, tokens, rate, gradient (its norm
        before clipping), epoch, seconds since the start."""
        return

    def validation(self, step: int, scores: dict[str, float]) -> None:
        return

    def close(self) -> None:
        return


class Bar(Observer):
    """A progress bar with loss, tokens per second and the time left; a line for each validation."""

    def __init__(self, steps: int, metrics: Sequence[Metric], console: Console | None = None):
        self.metrics = metrics
        self.console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self.bar = Progress(
            TextColumn("step {task.completed}/{task.total}"),
            BarColumn(bar_width=None),
            TextColumn("loss {task.fields[loss]}  {task.fields[speed]:,.0f} tokens/s"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self.loss: float | None = None  # unknown before the first step
        self.task = self.bar.add_task("training", total=steps, loss=self._loss(), speed=0.0)
        self.recent: list[tuple[float, float]] = []  # when, and how many tokens
        self.bar.start()

    def step(self, step: int, metrics: dict[str, float]) -> None:
        self.loss = metrics["loss"] if self.loss is None else 0.95 * self.loss + 0.05 * metrics["loss"]
        self.recent = [*self.recent[-49:], (time.perf_counter(), metrics["tokens"])]
        span = self.recent[-1][0] - self.recent[0][0]
        speed = sum(tokens for _, tokens in self.recent[1:]) / span if span else 0.0
        self.bar.update(self.task, completed=step, loss=self._loss(), speed=speed)

    def validation(self, step: int, scores: dict[str, float]) -> None:
        shown = "   ".join(f"{metric.label} {metric.show(scores[metric.name])}" for metric in self.metrics)
        self.console.print(f"step {step:>6}   training loss {self._loss()}   validation {shown}")

    def _loss(self) -> str:
        return "…" if self.loss is None else f"{self.loss:.3f}"

    def close(self) -> None:
        self.bar.stop()


class GradientSpikes(Observer):
    """Warns about gradients far larger than those before, clipped or not, at most once every 100 steps."""

    TIMES = 10  # larger than the median
    AMONG = 100  # steps

    def __init__(self, tell: Callable[[str], None]):
        self.tell = tell
        self.recent: deque[float] = deque(maxlen=self.AMONG)
        self.told = -self.AMONG

    def step(self, step: int, metrics: dict[str, float]) -> None:
        norm, usual = metrics["gradient"], median(self.recent) if len(self.recent) >= self.AMONG // 5 else math.inf
        if norm > self.TIMES * usual and step >= self.told + self.AMONG:
            self.tell(f"step {step}: gradient norm {norm:.3g} (median {usual:.3g}); consider a lower learning rate.")
            self.told = step
        self.recent.append(norm)


class EveryNSteps(Observer):
    """Passes the first step, every n-th, and the last before a validation on to another observer."""

    def __init__(self, observer: Observer, every: int = 10):
        self.observer = observer
        self.every = every
        self.untold: tuple[int, dict[str, float]] | None = None

    def step(self, step: int, metrics: dict[str, float]) -> None:
        self.untold = step, metrics
        if step == 1 or step % self.every == 0:
            self._tell()

    def validation(self, step: int, scores: dict[str, float]) -> None:
        self._tell()
        self.observer.validation(step, scores)

    def _tell(self) -> None:
        if self.untold is not None:
            self.observer.step(*self.untold)
        self.untold = None

    def close(self) -> None:
        self.observer.close()


class MetricsFile(Observer):
    """Writes one JSON object per line: `{"step": …, "loss": …}` or, for validations, `{"step": …, "valid": {…}}`."""

    def __init__(self, file: Path):
        self.file = file
        self.has_begun = False

    def step(self, step: int, metrics: dict[str, float]) -> None:
        self._write({"step": step, **{key: _short(value) for key, value in metrics.items()}})

    def validation(self, step: int, scores: dict[str, float]) -> None:
        self._write({"step": step, "valid": scores})

    def _write(self, row: dict[str, Any]) -> None:
        if not self.has_begun and self.file.exists():  # drop what was written after the last checkpoint
            kept = [old for old in metrics_rows(self.file) if _place(old) < _place(row)]
            write_text(self.file, "".join(json.dumps(old) + "\n" for old in kept))
        self.has_begun = True
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def metrics_rows(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a metrics file."""
    for line in file.read_text(encoding="utf-8").split("\n"):
        with suppress(ValueError):  # half a line, if the run was killed
            row = json.loads(line)
            match row:
                case {"step": int(), "valid": dict()} | {"step": int(), "loss": float()}:
                    yield row


def _place(row: dict[str, Any]) -> tuple[int, bool]:
    """A sort key that puts a validation after its step."""
    return row["step"], "valid" in row


def _short(value: float) -> float:
    """The value with six significant digits."""
    return value if isinstance(value, int) else float(f"{value:.6g}")


class TensorBoard(Observer):
    """Writes the same numbers for TensorBoard. Needs the package `tensorboard`."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.writer: Any = None

    def step(self, step: int, metrics: dict[str, float]) -> None:
        self._write("training", step, {key: metrics[key] for key in ("loss", "objective", "rate", "gradient")})

    def validation(self, step: int, scores: dict[str, float]) -> None:
        self._write("validation", step, scores)

    def _write(self, kind: str, step: int, values: dict[str, float]) -> None:
        if self.writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(str(self.folder), purge_step=step)
        for key, value in values.items():
            self.writer.add_scalar(f"{kind}/{key}", value, step)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


class Curves(Observer):
    """Redraws the curves of a metrics file after each validation. Needs matplotlib."""

    def __init__(self, metrics: Path, picture: Path, shown: Metric):
        from weft.viewing.curves import draw_curves

        self.draw = draw_curves
        self.metrics, self.picture, self.shown = metrics, picture, shown

    def validation(self, step: int, scores: dict[str, float]) -> None:
        self.draw(list(metrics_rows(self.metrics)), self.shown, self.picture)
