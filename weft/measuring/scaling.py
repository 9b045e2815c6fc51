"""The cost of plans: measured over lengths and widths, and fitted; beside it what parts declare and what is counted."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from weft.errors import WeftError
from weft.measuring.fit import TERMS, Fit, fit
from weft.measuring.timing import Workload, peak_bytes, seconds
from weft.measuring.workloads import Decoding, decoder_mixers, layer, looks, mixers, step, widened
from weft.parts.attention import Attention
from weft.parts.mixer import path_across, path_length
from weft.plans.plan import Plan
from weft.plans.rules import AT_MOST, parts_of
from weft.plans.size import outline, pair_operations

LENGTHS = (16, 32, 64, 128, 256, 512, 1024)
WIDTHS = (64, 128, 256)

# What time and memory are made of; t² only where the operations have it. One sentence at a time, a token and a call
# have a price of their own, whatever the width. In a step, the gradients of all words take k of memory, and their share
# of Adam k of time. Few sizes are fitted with the first of these: without those before it, t² would stand for them.
LAYER_TIME, LAYER_MEMORY = ("t·k²", "1", "t", "t²·k"), ("t·k", "k²", "t²")
STEP_TIME, STEP_MEMORY = ("t·k²", "k", "t", "t²·k", "1"), ("t·k", "k", "t²·k", "t²", "k²")

# Whose row of the lectures' table a model belongs to: by what its mixers say, and whether its decoder looks.
FAMILIES = {("t·k²", False): "RNN", ("t·k²", True): "RNN with attention", ("t²·k", True): "Transformer"}


@dataclass(frozen=True)
class Measured:
    length: int
    width: int
    seconds: float
    bytes: int  # peak, see `timing.peak_bytes`


@dataclass(frozen=True)
class Growth:
    """One thing, over lengths and widths."""

    points: list[Measured]
    time: Fit
    memory: Fit

    def crossing(self, width: int) -> float | None:
        """From this length on t² takes more time than t; None where that is at none of the lengths measured."""
        at = self.time.crossing(width)
        return at if at is not None and self.points[0].length <= at <= self.points[-1].length else None


@dataclass(frozen=True)
class Declared:
    """What the mixers of a plan say of themselves, for so many tokens."""

    length: int
    sequential_steps: int  # of one layer of the encoder
    path_length: int | None  # between two tokens of the source, through as many layers as it takes
    model_steps: int  # of all layers on both sides, one after the other
    model_path: int | None  # from a token of the source to one of its translation


@dataclass(frozen=True)
class Token:
    """The last token of so many."""

    length: int
    cached: float  # seconds
    anew: float
    bytes: int  # of what is remembered


@dataclass(frozen=True)
class Cost:
    plan: str
    width: int  # that the plan has; tokens are decoded in it
    layers: int
    mixer: str  # of the encoder's first layer
    complexity: str
    family: str | None  # in the lectures' table of models
    counted: dict[str, dict[str, float]]  # operations forward and back, of a layer and of a step
    declared: list[Declared]
    growth: dict[str, Growth]  # layer; clear, where it is attention: the same without the fused kernel; step
    decoding: list[Token]

    def to_dict(self) -> dict[str, Any]:
        found = asdict(self)
        for name, grown in self.growth.items():
            widths = sorted({point.width for point in grown.points})
            found["growth"][name]["crossing"] = {width: grown.crossing(width) for width in widths}
        return found


@dataclass(frozen=True)
class Grid:
    """Where plans are measured."""

    lengths: tuple[int, ...] = LENGTHS
    widths: tuple[int, ...] = WIDTHS

    def check(self, plan: Plan) -> None:
        """What cannot be measured is said before anything is."""
        for option, sizes in (("--lengths", self.lengths), ("--widths", self.widths)):
            if len(sizes) < 2:
                raise WeftError(f"{option}: at least two are wanted, to tell what a cost grows with, not {sizes[0]}.")
        if self.lengths[-1] > AT_MOST["longest"]:
            raise WeftError(f"--lengths: at most {AT_MOST['longest']:,} tokens, not {self.lengths[-1]}.")
        self.known(plan)
        for width in self.widths:
            widened(plan, width)

    def known(self, plan: Plan) -> list[int]:
        """The lengths for a whole model: those that its positions know."""
        limit = _limit(plan) or self.lengths[-1]
        if limit < self.lengths[1]:
            raise WeftError(
                f"plan {plan.name!r} has learned positions up to {limit}, and at least two --lengths up to there are "
                f"wanted, not {', '.join(map(str, self.lengths))}."
            )
        return [length for length in self.lengths if length <= limit]

    def layers(self, plan: Plan, has_squares: bool) -> Growth:
        return self._growth(plan, layer, self.lengths, *_terms(has_squares, LAYER_TIME, LAYER_MEMORY))

    def steps(self, plan: Plan, has_squares: bool) -> Growth:
        return self._growth(plan, step, self.known(plan), *_terms(has_squares, STEP_TIME, STEP_MEMORY))

    def _growth(
        self,
        plan: Plan,
        what: Callable[[Plan, int], Workload],
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
    first, count = mixers(plan)[0], counted(plan)
    has_squares = {"layer": bool(count["layer"]["t²·k"]), "step": bool(count["step"]["t²"])}
    tell(f"{plan.name}: a mixer layer")
    growth = {"layer": grid.layers(plan, has_squares["layer"])}
    if isinstance(first, Attention):
        with _clear():
            growth["clear"] = grid.layers(plan, has_squares["layer"])
    known = grid.known(plan)
    cut = f", up to {known[-1]} tokens: it has learned no position {grid.lengths[-1]}"
    tell(f"{plan.name}: a training step" + cut * (known[-1] < grid.lengths[-1]))
    growth["step"] = grid.steps(plan, has_squares["step"])
    tell(f"{plan.name}: a token of decoding")
    return Cost(
        plan.name,
        plan.width,
        plan.encoder.layers,
        str(parts_of(plan.encoder.mixer)[0]),
        first.complexity,
        family(plan),
        count,
        declared(plan, grid.lengths),
        growth,
        [_token(plan, length) for length in known],
    )


def declared(plan: Plan, lengths: Sequence[int]) -> list[Declared]:
    encoder, decoder, across = mixers(plan), decoder_mixers(plan), looks(plan)
    through = [] if plan.decoder.stack.name == "bytenet" else decoder  # from what is handed on
    return [
        Declared(
            t,
            encoder[0].sequential_steps(t),
            path_length(encoder, t),
            sum(mixer.sequential_steps(t) for mixer in encoder + decoder),
            path_across(encoder, across, through, t),
        )
        for t in lengths
    ]


def family(plan: Plan) -> str | None:
    kinds = {mixer.complexity for mixer in mixers(plan) + decoder_mixers(plan)}
    return FAMILIES.get((kinds.pop(), bool(looks(plan)))) if len(kinds) == 1 else None


def counted(plan: Plan) -> dict[str, dict[str, float]]:
    """Operations, forward and back: of the mixer layer as a · t·k² + b · t²·k, and of a step, whose words grow with the
    first power of k, as a · t + b · t² in the plan's own width."""
    a, b = _quadratic(partial(_operations, plan))
    of_t, of_square = _quadratic(partial(pair_operations, plan), max(1, min(5, (_limit(plan) or 15) // 3)))
    if not any("t²" in mixer.complexity for mixer in mixers(plan) + decoder_mixers(plan) + looks(plan)):
        of_square = 0.0  # what an encoder stretches is rounded up, and differs from a straight line by that
    return {"layer": {"t·k²": a / plan.width**2, "t²·k": b / plan.width}, "step": {"t": of_t, "t²": of_square}}


def _limit(plan: Plan) -> int | None:
    """The positions that a model has learned, where it learns them."""
    return min((limit for limit in outline(plan).limits.values() if limit is not None), default=None)


def _terms(has_squares: bool, *found: Sequence[str]) -> list[list[str]]:
    return [[name for name in terms if has_squares or TERMS[name][0] < 2] for terms in found]


def _quadratic(count: Callable[[int], int], t: int = 5) -> tuple[float, float]:
    """a and b of a · t + b · t², from the counts of t, 2 t and 3 t tokens.

    Nothing is fitted: the second difference has b alone in it, the first a too, and what does not grow with t is gone.
    """
    one, two, three = count(t), count(2 * t), count(3 * t)
    b = (three - 2 * two + one) / (2 * t * t)
    return (two - one) / t - 3 * b * t, b


def _operations(plan: Plan, length: int) -> int:
    with torch.device("meta"), FlopCounterMode(display=False) as counter, _clear():
        layer(plan, length)()
    return int(counter.get_total_flops())


def _measured(turn: Workload, length: int, width: int) -> Measured:
    try:
        turn()  # warm: an optimiser makes its moments in its first step
    except RuntimeError as error:  # torch has no class of its own for this one
        if "memory" not in str(error):
            raise
        raise WeftError(f"{length:,} tokens, {width} wide, need more memory than there is; choose less.") from None
    return Measured(length, width, seconds(turn), peak_bytes(turn))


def _token(plan: Plan, length: int) -> Token:
    decoding = Decoding(plan, length)
    for warm in (decoding.cached, decoding.anew):
        warm()
    return Token(length, seconds(decoding.cached), seconds(decoding.anew), decoding.bytes)


def _clear() -> AbstractContextManager[None]:
    """Attention as it is written, with all its weights in memory, and no fused kernel."""
    return sdpa_kernel(SDPBackend.MATH)
