"""The curves of a training as a picture: loss on the left, the score that chooses checkpoints on the right."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from weft.evaluation.scores import LOSS, Metric


def draw_curves(rows: Sequence[dict[str, Any]], shown: Metric, picture: Path) -> None:
    """Draw the rows of a metrics file as a PNG."""
    steps = [row for row in rows if "loss" in row]
    valid = [(row["step"], row["valid"]) for row in rows if "valid" in row]
    figure = Figure(figsize=(10, 4), layout="constrained")
    loss, score = figure.subplots(1, 2, sharex=True)
    dots = {"marker": "o", "ms": 3}
    losses = [row["loss"] for row in steps]
    loss.plot([row["step"] for row in steps], losses, color="#c6dbef", lw=1, label="training, single steps")
    loss.plot([row["step"] for row in steps], _smooth(losses), color="#4292c6", label="training, smoothed")
    loss.plot([s for s, _ in valid], [v[LOSS.name] for _, v in valid], color="#08306b", label="validation", **dots)
    loss.set(xlabel="step", ylabel="loss (nats per token)")
    loss.legend(frameon=False)
    score.plot([s for s, _ in valid], [v[shown.name] for _, v in valid], color="#d94801", **dots)
    score.set(xlabel="step", ylabel=f"validation {shown.label}", ylim=(0, None))
    for axes in (loss, score):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    figure.savefig(picture, dpi=120)


def _smooth(values: list[float], span: int = 20) -> list[float]:
    """Running means over `span` values: batches hold sentences of one length, and short ones are easier."""
    return [sum(some) / len(some) for i in range(len(values)) if (some := values[max(0, i + 1 - span) : i + 1])]
