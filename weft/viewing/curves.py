"""The curves of a training as a picture: loss on the left, BLEU on the right."""

import json
from pathlib import Path

from matplotlib.figure import Figure


def draw_curves(metrics: Path, picture: Path) -> None:
    rows = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    steps = [row for row in rows if "loss" in row]
    valid = [(row["step"], row["valid"]) for row in rows if "valid" in row]
    figure = Figure(figsize=(10, 4), layout="constrained")
    loss, bleu = figure.subplots(1, 2, sharex=True)
    dots = {"marker": "o", "ms": 3}
    losses = [row["loss"] for row in steps]
    loss.plot([row["step"] for row in steps], losses, color="#c6dbef", lw=1, label="training, single steps")
    loss.plot([row["step"] for row in steps], _smooth(losses), color="#4292c6", label="training, smoothed")
    loss.plot([s for s, _ in valid], [v["loss"] for _, v in valid], color="#08306b", label="validation", **dots)
    loss.set(xlabel="step", ylabel="loss (nats per token)")
    loss.legend(frameon=False)
    bleu.plot([s for s, _ in valid], [v["bleu"] for _, v in valid], color="#d94801", **dots)
    bleu.set(xlabel="step", ylabel="validation BLEU", ylim=(0, None))
    for axes in (loss, bleu):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    figure.savefig(picture, dpi=120)


def _smooth(values: list[float], span: int = 20) -> list[float]:
    """The mean of the last so many: batches hold sentences of one length, and short ones are easier."""
    return [sum(some) / len(some) for i in range(len(values)) if (some := values[max(0, i + 1 - span) : i + 1])]
