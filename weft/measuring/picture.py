"""The curves as a picture with logarithmic axes, where t and t² are straight lines of slope 1 and 2."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from weft.measuring.report import memory, time
from weft.measuring.scaling import Cost, Growth
from weft.viewing.palette import FAINT, GREY, colours
from weft.viewing.pictures import save

MARKS = ("o", "s", "^", "D", "v", "P", "X")  # a plan has a mark, too: colours may look alike
DASHED = (0, (3, 2))


def draw(costs: Sequence[Cost], file: Path) -> None:
    """Time above, memory below; dots are measured, lines are fitted."""
    points = costs[0].growth["layer"].points
    lengths, widths = (sorted({getattr(point, name) for point in points}) for name in ("length", "width"))
    longest, wide = lengths[-1], widths[len(widths) // 2]
    looks = [(colour, MARKS[n % len(MARKS)]) for n, colour in enumerate(colours([one.plan for one in costs]))]
    figure = Figure(figsize=(13.5, 8.4), layout="constrained")
    (layer, step, token), (layer_memory, step_memory, width) = figure.subplots(2, 3)
    for one, (colour, mark) in zip(costs, looks):
        dots: dict[str, Any] = {"color": colour, "marker": mark, "ms": 4.5, "lw": 1.3}
        _curve(layer, one.growth["layer"], wide, "seconds", dots)
        _curve(step, one.growth["step"], wide, "seconds", dots)
        _curve(layer_memory, one.growth["layer"], wide, "bytes", dots)
        if "reference" in one.growth:
            _curve(layer_memory, one.growth["reference"], wide, "bytes", {**dots, "ls": DASHED, "mfc": "white"})
        _curve(step_memory, one.growth["step"], wide, "bytes", dots)
        _crossing(layer, one.growth["layer"], wide, colour)
        _crossing(step, one.growth["step"], wide, colour)
        at = [found.length for found in one.decoding]
        token.plot(at, [found.cached for found in one.decoding], **dots)
        token.plot(at, [found.recomputed for found in one.decoding], **{**dots, "ls": DASHED, "mfc": "white"})
        longs = [point for point in one.growth["layer"].points if point.length == longest]
        width.plot([point.width for point in longs], [point.seconds for point in longs], **dots)
    _dressed(layer, f"A mixer layer, width {wide}", time, "length t", lengths)
    _dressed(step, f"A training step, width {wide}", time, "length t", lengths)
    _dressed(token, "One more token of a translation", time, "length t", lengths)
    _dressed(layer_memory, f"Memory of a mixer layer, width {wide}", memory, "length t", lengths)
    _dressed(step_memory, f"Memory of a training step, width {wide}", memory, "length t", lengths)
    _dressed(width, f"A mixer layer, {longest} tokens", time, "width k", widths)
    _keys(token, {"cached": "-", "recomputed": DASHED})
    if any("reference" in one.growth for one in costs):
        _keys(layer_memory, {"fused": "-", "unfused": DASHED})
    named = [Line2D([], [], color=colour, marker=mark, ms=5, lw=1.6) for colour, mark in looks]
    names = [f"{one.plan}: {one.mixer}" for one in costs]
    figure.legend(named, names, loc="outside upper center", ncols=3, frameon=False, fontsize=10.5)
    crossing = any(one.growth[name].crossing(wide) is not None for one in costs for name in ("layer", "step"))
    figure.supxlabel(
        "One example at a time, forward and backward. Dots are measured, lines fitted (on the right: joined). "
        + "A cross marks where terms in t² overtake terms in t. " * crossing
        + "Dotted: the slopes of t and t².",
        fontsize=9.5,
        color=GREY,
    )
    save(figure, file)


def _curve(axes: Axes, grown: Growth, wide: int, what: str, dots: dict[str, Any]) -> None:
    points = [point for point in grown.points if point.width == wide]
    fitted = grown.time if what == "seconds" else grown.memory
    smooth = [points[0].length * (points[-1].length / points[0].length) ** (i / 60) for i in range(61)]
    axes.plot(smooth, [fitted.at(t, wide) for t in smooth], **{**dots, "marker": ""})
    axes.plot([point.length for point in points], [getattr(point, what) for point in points], **{**dots, "ls": ""})


def _crossing(axes: Axes, grown: Growth, wide: int, colour: str) -> None:
    at = grown.crossing(wide)
    if at is not None:
        axes.plot([at], [grown.time.at(at, wide)], "x", color=colour, ms=11, mew=2)


def _dressed(axes: Axes, title: str, words: Callable[[float], str], along: str, marks: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_title(title, fontsize=11.5, loc="left", pad=16)  # room for the names of the slopes
    axes.set_xlabel(along, color=GREY, fontsize=10)
    axes.xaxis.set_major_locator(FixedLocator(marks))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > 300 * low else (1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: words(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    _slopes(axes, along[-1])
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=GREY, labelsize=9, which="both")
    axes.grid(alpha=0.18)


def _slopes(axes: Axes, letter: str) -> None:
    """Dotted lines with the slopes of the first and second power, from the lower left corner to the end of the axes.
    Their names stand outside the axes, where no dot can be."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    for power, name in ((1, letter), (2, f"{letter}²")):
        end = min(right, left * (high / low) ** (1 / power))
        top = low * (end / left) ** power
        axes.plot([left, end], [low, top], color=FAINT, lw=1, ls=":", zorder=0)
        aside: dict[str, Any] = (
            {"xytext": (4, 0), "va": "center"} if end == right else {"xytext": (0, 3), "ha": "center"}
        )
        axes.annotate(name, (end, top), textcoords="offset points", color=GREY, fontsize=9.5, **aside)
    axes.set(xlim=(left, right), ylim=(low, high))


def _keys(axes: Axes, styles: dict[str, Any]) -> None:
    lines = [Line2D([], [], color=GREY, lw=1.3, ls=style) for style in styles.values()]
    axes.legend(lines, list(styles), frameon=False, fontsize=9.5, loc="upper left", labelcolor=GREY)
