"""The curves of a training as a picture: the loss, the score that chooses checkpoints, the learning rate, the speed."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from weft.evaluation.scores import LOSS, Metric
from weft.viewing.palette import FAINT, GREY, HEADS, INK, tinted
from weft.viewing.pictures import save

SPAN = 0.02  # of the run, over which a curve is smoothed
LEAST = 1.0  # of an axis of scores, of which more is better: a smaller one would make noise a mountain
NARROWEST = 0.1  # of an axis of scores, of which less is better, as a part of the worst
BLUE, ORANGE = HEADS[0], HEADS[1]
THOUSANDS = FuncFormatter(lambda value, _: f"{value:,.0f}")
Points = Sequence[tuple[float, float]]  # steps and values


def draw_curves(rows: Sequence[dict[str, Any]], shown: Metric, picture: Path) -> None:
    """Draw the rows of a metrics file. The best checkpoint is marked."""
    steps = [row for row in rows if "loss" in row]
    valid = [(row["step"], row["valid"]) for row in rows if "valid" in row]
    scores = [(step, each[shown.name]) for step, each in valid]
    figure = Figure(figsize=(10.5, 6), layout="constrained")
    (loss, score), (rate, speed) = figure.subplots(2, 2, sharex=True, height_ratios=(2, 1))
    raw = [(row["step"], row["loss"]) for row in steps]
    _line(loss, raw, color=tinted(BLUE, 0.7), lw=0.8, label="training, single steps")
    _line(loss, smoothed(raw), color=BLUE, lw=1.8, label=f"training, mean of about {SPAN:.0%} of the run")
    _dots(loss, [(step, each[LOSS.name]) for step, each in valid], "validation")
    _dots(score, scores, "")
    for axes, title in ((loss, "Loss, nats per token"), (score, f"Validation {shown.label}")):
        _dressed(axes, title)
    loss.set_ylim(0, None)
    score.set_ylim(*score_limits([value for _, value in scores], shown))
    if scores:
        step, value = (max if shown.higher_is_better else min)(scores, key=lambda one: one[1])
        for axes in (loss, score):
            axes.axvline(step, color=GREY, lw=0.9, ls=(0, (2, 2)), zorder=0)
        score.plot(
            [step], [value], "o", ms=10, mfc="none", mec=INK, mew=1.3, label=f"best: {shown.show(value)}, step {step:,}"
        )
        score.legend(frameon=False, fontsize=9, loc="best")
    loss.legend(frameon=False, fontsize=9)
    _line(rate, [(row["step"], row["rate"]) for row in steps if "rate" in row], color=GREY, lw=1.5)
    paces = list(_paces(rows))
    _line(speed, paces, color=tinted(GREY, 0.7), lw=0.8)
    _line(speed, smoothed(paces), color=GREY, lw=1.5)
    _dressed(rate, "Learning rate")
    _dressed(speed, f"Tokens per second{_time(rows)}")
    for axes in (rate, speed):
        axes.set_xlabel("step", color=GREY, fontsize=9.5)
        axes.set_ylim(0, None)
    speed.yaxis.set_major_formatter(THOUSANDS)
    save(figure, picture)


def smoothed(points: Points) -> Points:
    """Exponential means over about 2 % of the run, without the bias of their beginning: each weight is divided by the
    sum of the weights so far."""
    if not points:
        return []
    tau = max(points[-1][0] * SPAN / 2, 1e-9)
    found, mean, weight, last = [], 0.0, 0.0, points[0][0]
    for step, value in points:
        kept = math.exp((last - step) / tau)
        mean, weight, last = kept * mean + value, kept * weight + 1.0, step
        found.append((step, mean / weight))
    return found


def score_limits(values: Sequence[float], metric: Metric) -> tuple[float, float]:
    """The ends of an axis for these scores."""
    worst, best = max(values, default=0.0), min(values, default=0.0)
    if metric.higher_is_better:
        return 0.0, max(LEAST, 1.08 * worst)
    room = max(0.0, NARROWEST * worst - (worst - best)) / 2 + 0.05 * (worst - best)
    return max(0.0, best - room), worst + room or LEAST


def _paces(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[float, float]]:
    """Tokens per second between two logged steps without a validation or a restart between them."""
    for one, next_ in pairwise(rows):
        if all({"seconds", "tokens"} <= row.keys() for row in (one, next_)) and next_["seconds"] > one["seconds"]:
            passed = (next_["step"] - one["step"]) / (next_["seconds"] - one["seconds"])
            yield next_["step"], next_["tokens"] * passed


def _time(rows: Sequence[dict[str, Any]]) -> str:
    """How long the training has taken."""
    seconds = next((row["seconds"] for row in reversed(rows) if "seconds" in row), 0.0)
    if not seconds:
        return ""
    return f"; {seconds:.0f} s in all" if seconds < 100 else f"; {seconds / 60:.0f} minutes in all"


def _line(axes: Axes, points: Points, **style: Any) -> None:
    """A single value is a dot."""
    axes.plot(*_columns(points), marker="o" if len(points) == 1 else "", ms=3.5, **style)


def _dots(axes: Axes, points: Points, name: str) -> None:
    axes.plot(*_columns(points), color=ORANGE, lw=1.5, marker="o", ms=3.5, label=name)


def _columns(points: Points) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _dressed(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=10.5, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=GREY, labelsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(THOUSANDS)
    axes.grid(alpha=0.18)
