"""Pictures of attention for a paper or a slide: .png, .svg with its text as text, .pdf with its fonts."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Curve

from weft.viewing.attention_heads import KINDS
from weft.viewing.formats import check_picture
from weft.viewing.head_scores import HeadScore, HeadScores
from weft.viewing.palette import FAINT, GREY, HEADS, INK, RAMP

CELL = 0.34  # inches
NAMES = {"∎": "(end)", "∅": "(start)"}
COLOURS = LinearSegmentedColormap.from_list("attention", RAMP)  # the page's
LEAST = 0.03  # a smaller weight is no line
AS_TEXT: dict[Any, Any] = {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "weft"}


def save(figure: Figure, file: Path) -> None:
    """Write a picture in the format of its suffix; the same figure gives the same bytes."""
    check_picture(file)
    dated = {".svg": "Date", ".pdf": "CreationDate"}.get(file.suffix.lower())
    with matplotlib.rc_context(AS_TEXT):
        figure.savefig(file, dpi=160, format=file.suffix[1:].lower(), metadata={dated: None} if dated else None)


def draw_map(
    weights: Sequence[Sequence[float]],
    keys: Sequence[str],
    queries: Sequence[str],
    title: str,
    caption: str,
    file: Path,
) -> None:
    """Draw one map with the keys along the top and the queries down the side. The lightest colour is 0 and the darkest
    is 1 in every picture, so that pictures can be compared."""
    width = max(CELL * len(keys) + 2.4, 4.6)
    titled, captioned = _wrapped(title, 9.5 * width), _wrapped(caption, 15 * width)
    lines = titled.count("\n") + captioned.count("\n") + 2
    figure = Figure(figsize=(width, max(CELL * len(queries) + 1.7, 2.9) + 0.2 * lines), layout="constrained")
    axes = figure.subplots()
    axes.imshow(weights, cmap=COLOURS, vmin=0.0, vmax=1.0, aspect="equal")
    axes.set_xticks(range(len(keys)), labels(keys), rotation=50, ha="left", rotation_mode="anchor", fontsize=10)
    axes.set_yticks(range(len(queries)), labels(queries), fontsize=10)
    axes.xaxis.tick_top()
    _separated(axes, len(queries), len(keys))
    _scale(figure, [axes], "weight", shrink=0.6, aspect=18)
    _told(figure, titled, captioned)
    save(figure, file)


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
    longest = 0.0075 * size * max(map(len, labels([*queries, *keys])))
    width = columns * (cell * len(keys) + 0.3) + longest + 1.6
    height = rows * (cell * len(queries) + 0.3) + longest + 1.1
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for n, layer in enumerate(maps):
        for head, weights in enumerate(layer):
            axes = grid[n][head]
            axes.imshow(weights, cmap=COLOURS, vmin=0.0, vmax=1.0, aspect="equal")
            axes.set_xticks(range(len(keys)) if n == 0 else [])
            axes.set_yticks(range(len(queries)) if head == 0 else [])
            if n == 0:
                axes.set_xticklabels(labels(keys), rotation=90, fontsize=size)
                axes.xaxis.tick_top()
            if head == 0:
                axes.set_yticklabels(labels(queries), fontsize=size)
            axes.tick_params(length=0, pad=2)
            axes.spines[:].set(color=FAINT, linewidth=0.6)
            axes.set_xlabel(f"layer {first + n}, head {head + 1}", fontsize=8, color=GREY)
    _scale(figure, grid.ravel().tolist(), "weight", shrink=min(1.0, 1.6 / height), aspect=14)
    _told(figure, _wrapped(title, 9.5 * width), _wrapped(caption, 15 * width))
    save(figure, file)


def draw_lines(
    curves: dict[str, Sequence[Sequence[float]]],
    queries: Sequence[str],
    keys: Sequence[str],
    title: str,
    caption: str,
    file: Path,
) -> None:
    """Draw queries on the left, keys on the right and a curve for each weight, as wide and strong as the weight. The
    maps of heads, by name, run beside each other in the same order at every token, so that no colour is needed."""
    row, width = 0.25 + 0.035 * len(curves), 6.4  # inches
    rows = max(len(queries), len(keys))
    titled, captioned = _wrapped(title, 9.5 * width), _wrapped(caption, 15 * width)
    lines = titled.count("\n") + captioned.count("\n") + 3
    figure = Figure(figsize=(width, row * rows + 0.6 + 0.2 * lines), layout="constrained")
    left = figure.subplots()
    right = left.twinx()
    for axes, tokens in ((left, queries), (right, keys)):
        axes.set_yticks(range(len(tokens)), labels(tokens), fontsize=11)
        axes.tick_params(length=0, pad=4)
        axes.set_ylim(rows - 0.5, -0.5)
        axes.spines[:].set_visible(False)
    left.set(xlim=(0, 1), xticks=[])
    track = 0.7 / len(curves)  # rows
    widest = min(3.2, 72 * row * track)  # points
    for n, weights in enumerate(curves.values()):
        up = track * (n - (len(curves) - 1) / 2)
        for t, s, weight in ((t, s, one) for t, each in enumerate(weights) for s, one in enumerate(each)):
            if weight >= LEAST:
                ends = [(0, t + up), (0.45, t + up), (0.55, s + up), (1, s + up)]
                curve = Curve(ends, [Curve.MOVETO, *[Curve.CURVE4] * 3])
                strong = {"lw": 0.4 + (widest - 0.4) * weight, "alpha": 0.2 + 0.8 * weight}
                left.add_patch(PathPatch(curve, fill=False, edgecolor=HEADS[n], **strong))
    if len(curves) > 1:
        named = [Line2D([], [], color=HEADS[n], lw=2.4) for n in range(len(curves))]
        below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "frameon": False, "fontsize": 9.5}
        left.legend(
            named,
            [*curves],
            ncols=len(curves) if len(curves) <= 6 else 4,
            title="from top to bottom",
            title_fontsize=8.5,
            **below,
        )
    _told(figure, titled, captioned)
    save(figure, file)


def draw_head_scores(scores: HeadScores, caption: str, file: Path) -> None:
    """Draw each kind of attention as layers and heads, each shaded and labelled with the rise of the loss without it
    and its interval."""
    kinds = [kind for kind in KINDS if any(head.kind == kind for head in scores.heads)]
    own = {kind: [head for head in scores.heads if head.kind == kind] for kind in kinds}
    layers, heads = (max(getattr(head, name) for head in scores.heads) for name in ("layer", "head"))
    is_tall = heads * len(kinds) > 16
    across, down = (1, len(kinds)) if is_tall else (len(kinds), 1)
    width = across * (0.72 * heads + 0.55) + 1.5
    captioned = _wrapped(caption, 15 * width)
    height = down * (0.46 * layers + 0.75) + 0.7 + 0.18 * captioned.count("\n")
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    most = max(0.0, scores.heads[0].loss) or 1.0
    for kind, axes in zip(kinds, grid.ravel()):
        _panel(axes, own[kind], layers, heads, most)
        axes.set_title(KINDS[kind].name if len(kinds) > 1 else "", fontsize=10.5, color=INK)
    _scale(figure, grid.ravel().tolist(), "rise of the loss without it", most, shrink=0.9, aspect=16)
    _told(figure, "", captioned)
    save(figure, file)


def _panel(axes: Axes, heads: Sequence[HeadScore], layers: int, across: int, most: float) -> None:
    values = [[float("nan")] * across for _ in range(layers)]
    for one in heads:
        values[one.layer - 1][one.head - 1] = max(0.0, one.loss)
        ink = "white" if one.loss > 0.62 * most else INK  # the one that is read more easily
        at = (one.head - 1, one.layer - 1)
        axes.annotate(f"{one.loss:.3f}", at, (0, 3.5), textcoords="offset points", ha="center", va="center", color=ink)
        between = f"{one.low:.3f} … {one.high:.3f}".replace("-", "−")
        small: dict[str, Any] = {"fontsize": 6, "textcoords": "offset points", "ha": "center", "va": "center"}
        axes.annotate(between, at, (0, -6.5), color=ink, **small)
    axes.imshow(values, cmap=COLOURS, vmin=0.0, vmax=most, aspect="auto")
    axes.set_xticks(range(across), [str(1 + n) for n in range(across)], fontsize=9)
    axes.set_yticks(range(layers), [str(1 + n) for n in range(layers)], fontsize=9)
    axes.set_xlabel("head", fontsize=9, color=GREY)
    axes.set_ylabel("layer", fontsize=9, color=GREY)
    _separated(axes, layers, across)


def _separated(axes: Axes, rows: int, columns: int) -> None:
    """White lines between the cells, and nothing else."""
    axes.tick_params(length=0)
    axes.set_xticks([i - 0.5 for i in range(1, columns)], minor=True)
    axes.set_yticks([i - 0.5 for i in range(1, rows)], minor=True)
    axes.grid(which="minor", color="white", lw=1.2)
    axes.tick_params(which="minor", length=0)
    axes.spines[:].set_visible(False)


def _scale(figure: Figure, axes: list[Axes], name: str, most: float = 1.0, **shape: Any) -> None:
    """A bar with the colours from 0 to the most."""
    colours = matplotlib.cm.ScalarMappable(Normalize(0.0, most), COLOURS)
    bar = figure.colorbar(colours, ax=axes, pad=0.02, ticks=[0.0, 0.5, 1.0] if most == 1.0 else None, **shape)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=GREY)
    bar.ax.set_ylabel(name, fontsize=8, color=GREY)


def _told(figure: Figure, title: str, caption: str) -> None:
    figure.suptitle(title, fontsize=11, color=INK)
    figure.supxlabel(caption, fontsize=8.5, color=GREY)


def _wrapped(text: str, width: float) -> str:
    return "\n".join(textwrap.fill(line, int(width)) for line in text.split("\n")).replace("$", r"\$")


def labels(tokens: Sequence[str]) -> list[str]:
    """Return tokens as an axis shows them. Where all are single characters, there are no words to be inside of."""
    inside = any(len(token.removeprefix("·")) > 1 for token in tokens)
    return [label(token) if inside else label(token).removeprefix("-") or "-" for token in tokens]


def label(token: str) -> str:
    """Return a token as an axis shows it: a token inside a word gets a hyphen."""
    if token in NAMES:
        return NAMES[token]
    if not token.strip("·"):
        return "(space)"
    shown = token[1:] if token.startswith("·") else f"-{token}" if token[0].isalnum() else token
    return shown.replace("$", r"\$")
