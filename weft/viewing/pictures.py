"""Pictures for a paper or a slide."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

CELL = 0.34  # inches


def draw_alignment(
    weights: Sequence[Sequence[float]], source: Sequence[str], target: Sequence[str], which: str, file: Path
) -> None:
    """An alignment matrix: the source along the top, the target down the side, dark where it looks."""
    width, height = CELL * len(source) + 2.2, CELL * len(target) + 2.0
    figure = Figure(figsize=(max(width, 4.0), max(height, 3.2)), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(weights, cmap="Blues", vmin=0.0, vmax=max(map(max, weights)), aspect="equal")
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
    axes.set_xlabel(f"encoder-decoder attention, {which}", fontsize=9, color="#555555", labelpad=10)
    bar = figure.colorbar(image, ax=axes, shrink=0.6, aspect=18, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor="#555555")
    figure.savefig(file, dpi=160, format="png")


def label(token: str) -> str:
    """A piece as an axis shows it: words and marks as they are, what goes on within a word with a hyphen."""
    if token == "∎":
        return "(end)"
    if not token.strip("·"):
        return token
    shown = token[1:] if token.startswith("·") else f"-{token}" if token[0].isalnum() else token
    return shown.replace("$", r"\$")
