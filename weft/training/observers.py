"""Who is told how a training goes: a progress bar, a file of metrics, TensorBoard, a picture of the curves."""

import json
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Bar:
    """A progress bar with loss, tokens a second and the time left; a line for each validation."""

    def __init__(self, steps: int, start: int = 0, console: Console | None = None):
        self.console = console or Console(stderr=True)
        self.bar = Progress(
            TextColumn("step {task.completed}/{task.total}"),
            BarColumn(bar_width=None),
            TextColumn("loss {task.fields[loss]:.3f}  {task.fields[speed]:,.0f} tokens/s"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("training", total=steps, completed=start, loss=float("nan"), speed=0.0)
        self.loss: float | None = None
        self.recent: list[tuple[float, float]] = []  # when, and how many tokens
        self.bar.start()

    def step(self, step: int, metrics: dict[str, float]) -> None:
        self.loss = metrics["loss"] if self.loss is None else 0.95 * self.loss + 0.05 * metrics["loss"]
        self.recent = [*self.recent[-49:], (time.perf_counter(), metrics["tokens"])]
        span = self.recent[-1][0] - self.recent[0][0]
        speed = sum(tokens for _, tokens in self.recent[1:]) / span if span else 0.0
        self.bar.update(self.task, completed=step, loss=self.loss, speed=speed)

    def validation(self, step: int, scores: dict[str, float]) -> None:
        self.console.print(
            f"step {step:>6}   training loss {self.loss or 0.0:.3f}   validation loss {scores['loss']:.3f}   "
            f"perplexity {scores['perplexity']:.2f}   BLEU {scores['bleu']:.1f}",
            highlight=False,
        )

    def close(self) -> None:
        self.bar.stop()


class MetricsFile:
    """One JSON object a line: `{"step": …, "loss": …}` for steps, `{"step": …, "valid": {…}}` for validations."""

    def __init__(self, file: Path, every: int = 10):
        self.every = every
        self.file = open(file, "a", encoding="utf-8")

    def step(self, step: int, metrics: dict[str, float]) -> None:
        if step % self.every == 0:
            self._write({"step": step, **{key: round(value, 6) for key, value in metrics.items()}})

    def validation(self, step: int, scores: dict[str, float]) -> None:
        self._write({"step": step, "valid": scores})

    def _write(self, row: dict[str, Any]) -> None:
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()

    def close(self) -> None:
        self.file.close()


class TensorBoard:
    """The same numbers for TensorBoard. Needs the package `tensorboard`."""

    def __init__(self, folder: Path, every: int = 10):
        from torch.utils.tensorboard import SummaryWriter

        self.every = every
        self.writer = SummaryWriter(str(folder))

    def step(self, step: int, metrics: dict[str, float]) -> None:
        if step % self.every == 0:
            for key in ("loss", "objective", "rate", "gradient"):
                self.writer.add_scalar(f"training/{key}", metrics[key], step)

    def validation(self, step: int, scores: dict[str, float]) -> None:
        for key, value in scores.items():
            self.writer.add_scalar(f"validation/{key}", value, step)

    def close(self) -> None:
        self.writer.close()


class Curves:
    """Draws the curves of a metrics file anew after each validation. Needs matplotlib."""

    def __init__(self, metrics: Path, picture: Path):
        from weft.viewing.curves import draw_curves

        self.draw = draw_curves
        self.metrics, self.picture = metrics, picture

    def step(self, step: int, metrics: dict[str, float]) -> None:
        pass

    def validation(self, step: int, scores: dict[str, float]) -> None:
        self.draw(self.metrics, self.picture)

    def close(self) -> None:
        pass
