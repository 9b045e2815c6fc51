"""The cost of plans: measured over lengths and widths, and fitted; beside it what parts declare and what is counted."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from weft.errors import WeftError
from weft.machine import cores, processor
from weft.measuring.fit import Fit, fit
from weft.measuring.gauge import Turn, peak_bytes, seconds
from weft.measuring.turns import Decoding, layer, mixers, step, widened
from weft.parts.attention import Attention
from weft.parts.mixer import path_length
from weft.plans.check import parts_of
from weft.plans.cost import outline
from weft.plans.plan import Plan

LENGTHS = (16, 32, 64, 128, 256, 512, 1024)
WIDTHS = (64, 128, 256)

# What time and memory are made of. One sentence at a time, a token of a recurrence and a call have a price of their
# own, whatever the width. In a step, the words of the head take t·k of time, and their gradients k of memory.
LAYER_TIME, LAYER_MEMORY = ("t·k²", "t²·k", "t", "1"), ("t²", "t·k", "k²")
STEP_TIME, STEP_MEMORY = ("t·k²", "t²·k", "t·k", "1"), ("t²·k", "t²", "t·k", "k²", "k")


@dataclass(frozen=True)
class Measured:
    length: int
    width: int
    seconds: float
    bytes: int  # the most that is held at one time, see `gauge.peak_bytes`


@dataclass(frozen=True)
class Growth:
    """One thing, over lengths and widths."""

    points: list[Measured]
    time: Fit
    memory: Fit


@dataclass(frozen=True)
class Declared:
    """What the mixers of an encoder say of themselves, for so many tokens."""

    length: int
    sequential_steps: int  # of one layer
    path_length: int | None  # through as many layers as it takes


@dataclass(frozen=True)
class Token:
    """Seconds for the last token of so many."""

    length: int
    cached: float
    anew: float


@dataclass(frozen=True)
class Cost:
    plan: str
    width: int  # that the plan has; tokens are decoded in it
    layers: int
    mixer: str  # of the encoder's first layer
    says: str
    counted: dict[str, float]  # operations of the layer, forward and back
    declared: list[Declared]
    growth: dict[str, Growth]  # layer; clear, where it is attention: the same without the fused kernel; step
    decoding: list[Token]

    def plain(self) -> dict[str, Any]:
        found = asdict(self)
        for name, grown in self.growth.items():
            widths = sorted({point.width for point in grown.points})
            found["growth"][name]["crossing"] = {width: grown.time.crossing(width) for width in widths}
        return found


@dataclass(frozen=True)
class Grid:
    """Where plans are measured; at the usual lengths where none are asked for."""

    asked: tuple[int, ...] | None = None
    widths: tuple[int, ...] = WIDTHS

    @property
    def lengths(self) -> tuple[int, ...]:
        return self.asked or LENGTHS

    def check(self, plan: Plan) -> None:
        """What cannot be measured is said before anything is."""
        self.known(plan)
        for width in self.widths:
            widened(plan, width)

    def known(self, plan: Plan) -> list[int]:
        """The lengths for a whole model: those asked for, or of the usual ones those that its positions know."""
        limit = min((limit for limit in outline(plan).limits if limit is not None), default=self.lengths[-1])
        if self.asked and limit < self.asked[-1]:
            raise WeftError(
                f"plan {plan.name!r} has learned positions up to {limit}, and {self.asked[-1]} tokens are asked for; "
                f"choose --lengths up to {limit}, or --set position.limit={self.asked[-1]}."
            )
        return [length for length in self.lengths if length <= limit]

    def layers(self, plan: Plan) -> Growth:
        return self._growth(plan, layer, self.lengths, LAYER_TIME, LAYER_MEMORY)

    def steps(self, plan: Plan) -> Growth:
        return self._growth(plan, step, self.known(plan), STEP_TIME, STEP_MEMORY)

    def _growth(
        self,
        plan: Plan,
        what: Callable[[Plan, int], Turn],
        lengths: Sequence[int],
        of_time: Sequence[str],
        of_memory: Sequence[str],
    ) -> Growth:
        points = [_measured(what(widened(plan, k), t), t, k) for k in self.widths for t in lengths]
        return Growth(
            points,
            fit([(point.length, point.width, point.seconds) for point in points], of_time),
            fit([(point.length, point.width, point.bytes) for point in points], of_memory),
        )


def cost(plan: Plan, grid: Grid, tell: Callable[[str], object]) -> Cost:
    """Measure a plan; `tell` hears what comes next."""
    torch.manual_seed(plan.training.seed)
    first = mixers(plan)[0]
    tell(f"{plan.name}: a mixer layer")
    growth = {"layer": grid.layers(plan)}
    if isinstance(first, Attention):
        with _clear():
            growth["clear"] = grid.layers(plan)
    tell(f"{plan.name}: a training step")
    growth["step"] = grid.steps(plan)
    tell(f"{plan.name}: a token of decoding")
    return Cost(
        plan.name,
        plan.width,
        plan.encoder.layers,
        str(parts_of(plan.encoder.mixer)[0]),
        first.says,
        counted(plan),
        declared(plan, grid.lengths),
        growth,
        [_token(plan, length) for length in grid.known(plan)],
    )


def declared(plan: Plan, lengths: Sequence[int]) -> list[Declared]:
    layers = mixers(plan)
    return [Declared(t, layers[0].sequential_steps(t), path_length(layers, t)) for t in lengths]


def counted(plan: Plan, t: int = 8) -> dict[str, float]:
    """Operations of the mixer layer as a · t·k² + b · t²·k, from those of t, 2 t and 3 t tokens.

    Nothing is fitted: the second difference has b alone in it, the first a too, and what does not grow with t is gone.
    """
    one, two, three = (_operations(plan, length) for length in (t, 2 * t, 3 * t))
    k = plan.width
    b = (three - 2 * two + one) / (2 * t * t * k)
    return {"t·k²": (two - one - 3 * b * t * t * k) / (t * k * k), "t²·k": b}


def machine() -> dict[str, Any]:
    """What a reader needs to know to compare."""
    return {
        "processor": processor(),
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def _operations(plan: Plan, length: int) -> int:
    with torch.device("meta"), FlopCounterMode(display=False) as counter, _clear():
        layer(plan, length)()
    return int(counter.get_total_flops())


def _measured(turn: Turn, length: int, width: int) -> Measured:
    turn()  # warm: an optimiser makes its moments in its first step
    return Measured(length, width, seconds(turn), peak_bytes(turn))


def _token(plan: Plan, length: int) -> Token:
    decoding = Decoding(plan, length)
    for warm in (decoding.cached, decoding.anew):
        warm()
    return Token(length, seconds(decoding.cached), seconds(decoding.anew))


def _clear() -> AbstractContextManager[None]:
    """Attention as it is written, with all its weights in memory, and no fused kernel."""
    return sdpa_kernel(SDPBackend.MATH)
