"""Pictures of attention for a paper or a slide."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

CELL = 0.34  # inches
GREY = "#555555"
NAMES = {"∎": "(end)", "∅": "(start)"}


def draw_alignment(
    weights: Sequence[Sequence[float]],
    source: Sequence[str],
    target: Sequence[str],
    title: str,
    caption: str,
    file: Path,
) -> None:
    """Draw one map with the keys along the top and the queries down the side. White is 0 and the darkest blue is 1 in
    every picture, so that pictures can be compared."""
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


def draw_grid(
    maps: Sequence[Sequence[Sequence[Sequence[float]]]],
    first: int,
    queries: Sequence[str],
    keys: Sequence[str],
    title: str,
    caption: str,
    file: Path,
) -> None:
    """Draw every head as a small matrix: one row per layer, from layer `first`, and one column per head. The tokens are
    written once: the queries left of the first column, the keys above the first row."""
    rows, columns = len(maps), len(maps[0])
    cell = max(0.085, min(0.16, 2.4 / max(len(keys), len(queries))))  # inches; smaller cells have no room for labels
    size = min(8.0, 62 * cell)
    longest = 0.0075 * size * max(len(label(token)) for token in (*queries, *keys))
    width = columns * (cell * len(keys) + 0.3) + longest + 0.9
    height = rows * (cell * len(queries) + 0.3) + longest + 0.9
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for n, layer in enumerate(maps):
        for head, weights in enumerate(layer):
            axes = grid[n][head]
            axes.imshow(weights, cmap="Blues", vmin=0.0, vmax=1.0, aspect="equal")
            axes.set_xticks(range(len(keys)) if n == 0 else [])
            axes.set_yticks(range(len(queries)) if head == 0 else [])
            if n == 0:
                axes.set_xticklabels([label(token) for token in keys], rotation=90, fontsize=size)
                axes.xaxis.tick_top()
            if head == 0:
                axes.set_yticklabels([label(token) for token in queries], fontsize=size)
            axes.tick_params(length=0, pad=2)
            axes.spines[:].set(color="#cccccc", linewidth=0.6)
            axes.set_xlabel(f"layer {first + n}, head {head + 1}", fontsize=8, color=GREY)
    figure.suptitle(_wrapped(title, 9.5 * width), fontsize=11)
    figure.supxlabel(_wrapped(caption, 13 * width), fontsize=9, color=GREY)
    figure.savefig(file, dpi=160, format="png")


def _wrapped(text: str, width: float) -> str:
    return textwrap.fill(text, int(width)).replace("$", r"\$")


def label(token: str) -> str:
    """Return a token as an axis shows it: a token inside a word gets a hyphen."""
    if token in NAMES:
        return NAMES[token]
    if not token.strip("·"):
        return "(space)"
    shown = token[1:] if token.startswith("·") else f"-{token}" if token[0].isalnum() else token
    return shown.replace("$", r"\$")
