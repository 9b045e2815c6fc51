"""Pictures for a paper or a slide."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

CELL = 0.34  # inches
GREY = "#555555"


def draw_alignment(
    weights: Sequence[Sequence[float]],
    source: Sequence[str],
    target: Sequence[str],
    title: str,
    caption: str,
    file: Path,
) -> None:
    """An alignment matrix: the source along the top, the target down the side, dark where it looks.

    White is 0 and the darkest blue is 1 in every picture, so that two of them can be compared.
    """
    width = max(CELL * len(source) + 2.2, 4.0)
    titled, captioned = _wrapped(title, 9.5 * width), _wrapped(caption, 13 * width)
    lines = titled.count("\n") + captioned.count("\n") + 2
    figure = Figure(figsize=(width, max(CELL * len(target) + 1.7, 2.9) + 0.2 * lines), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(weights, cmap="Blues", vmin=0.0, vmax=1.0, aspect="equal")
    axes.set_xticks(
        range(len(source)),
        [label(token) for token in source],
        rotation=50,
        ha="left",
        rotation_mode="anchor",
        fontsize=10,
    )
    axes.set_yticks(range(len(target)), [label(token) for token in target], fontsize=10)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_xticks([i - 0.5 for i in range(1, len(source))], minor=True)
    axes.set_yticks([i - 0.5 for i in range(1, len(target))], minor=True)
    axes.grid(which="minor", color="white", lw=1.2)
    axes.tick_params(which="minor", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    figure.suptitle(titled, fontsize=11)
    figure.supxlabel(captioned, fontsize=9, color=GREY)
    bar = figure.colorbar(image, ax=axes, shrink=0.6, aspect=18, pad=0.02, ticks=[0.0, 0.5, 1.0])
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=GREY)
    figure.savefig(file, dpi=160, format="png")


def _wrapped(text: str, width: float) -> str:
    return textwrap.fill(text, int(width)).replace("$", r"\$")


def label(token: str) -> str:
    """A piece as an axis shows it: words and marks as they are, what goes on within a word with a hyphen."""
    if token == "∎":
        return "(end)"
    if not token.strip("·"):
        return "(space)"
    shown = token[1:] if token.startswith("·") else f"-{token}" if token[0].isalnum() else token
    return shown.replace("$", r"\$")
