"""The cost of plans: measured over lengths and widths, fitted, and compared with what parts declare."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from weft.errors import WeftError
from weft.measuring.fit import TERMS, Fit, fit
from weft.measuring.timing import Workload, peak_bytes, seconds
from weft.measuring.workloads import Decoding, cross_mixers, first_side, layer, mixers, step, widened
from weft.models.base import Generative
from weft.parts.attention import Attention
from weft.parts.mixer import path_across, path_length
from weft.parts.options import LONGEST
from weft.plans.assemble import MODELS
from weft.plans.catalogues import DECODERS
from weft.plans.plan import Plan, parts_of
from weft.plans.size import example_operations, outline

LENGTHS = (16, 32, 64, 128, 256, 512, 1024)
WIDTHS = (64, 128, 256)

# The terms of time and memory; t² only where the operations have it. With one example at a time, each token and each
# call has a fixed cost, whatever the width. In a step, the gradients of all embeddings take memory in proportion to k,
# and Adam's update of them time. With few sizes only the first terms are fitted: t² comes late, or it would stand for
# the others.
LAYER_TIME, LAYER_MEMORY = ("t·k²", "1", "t", "t²·k"), ("t·k", "k²", "t²")
STEP_TIME, STEP_MEMORY = ("t·k²", "k", "t", "t²·k", "1"), ("t·k", "k", "t²·k", "t²", "k²")

# The row of the lectures' table for a model: by the complexity of its mixers, and whether it has cross-attention.
FAMILIES = {("t·k²", False): "RNN", ("t·k²", True): "RNN with attention"}
FAMILIES |= {("t²·k", True): "Transformer", ("t²·k", False): "Transformer"}


@dataclass(frozen=True)
class Measured:
    length: int
    width: int
    seconds: float
    bytes: int  # peak, see `timing.peak_bytes`


@dataclass(frozen=True)
class Growth:
    """One workload over lengths and widths."""

    points: list[Measured]
    time: Fit
    memory: Fit

    def crossing(self, width: int) -> float | None:
        """The length beyond which t² takes more time than t; None outside the measured lengths."""
        at = self.time.crossing(width)
        return at if at is not None and self.points[0].length <= at <= self.points[-1].length else None


@dataclass(frozen=True)
class Declared:
    """What the mixers of a plan declare for the given number of tokens on each side."""

    length: int
    sequential_steps: int  # of one layer of the first side
    path_length: int | None  # between two tokens of the first side, through as many layers as it takes
    model_steps: int  # of all layers, one after the other
    model_path: int | None  # from the first token that is read to the last that is predicted


@dataclass(frozen=True)
class Token:
    """The cost of the last of `length` tokens."""

    length: int
    cached: float  # seconds
    recomputed: float
    bytes: int  # of the cached state


@dataclass(frozen=True)
class Cost:
    plan: str
    width: int  # of the plan; tokens are decoded in this width
    layers: int  # of the first side
    mixer: str  # of its first layer
    complexity: str
    family: str | None  # in the lectures' table of models
    counted: dict[str, dict[str, float]]  # operations forward and back, of a layer and of a step
    declared: list[Declared]
    growth: dict[str, Growth]  # layer; reference, for attention: the same without the fused kernel; step
    decoding: list[Token]  # empty: the model writes nothing

    def to_dict(self) -> dict[str, Any]:
        found = asdict(self)
        for name, grown in self.growth.items():
            widths = sorted({point.width for point in grown.points})
            found["growth"][name]["crossing"] = {width: grown.crossing(width) for width in widths}
        return found


@dataclass(frozen=True)
class Grid:
    """The lengths and widths at which plans are measured."""

    lengths: tuple[int, ...] = LENGTHS
    widths: tuple[int, ...] = WIDTHS

    def check(self, plan: Plan) -> None:
        """Raises for what cannot be measured, before anything is measured."""
        for option, sizes in (("--lengths", self.lengths), ("--widths", self.widths)):
            if len(sizes) < 2:
                raise WeftError(f"{option}: expected at least two, to see how costs grow, got {sizes[0]}.")
        if self.lengths[-1] > LONGEST:
            raise WeftError(f"--lengths: expected at most {LONGEST:,} tokens, got {self.lengths[-1]}.")
        self.known(plan)
        for width in self.widths:
            widened(plan, width)

    def known(self, plan: Plan) -> list[int]:
        """The lengths for a whole model: those within its learned positions."""
        limit = _limit(plan) or self.lengths[-1]
        if limit < self.lengths[1]:
            raise WeftError(
                f"plan {plan.name!r} has learned positions up to {limit}: expected at least two --lengths within them, "
                f"got {', '.join(map(str, self.lengths))}."
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
    """Measures a plan; `tell` is called with the name of each stage."""
    torch.manual_seed(plan.training.seed)
    side, count = first_side(plan), counted(plan)
    first = next(iter(mixers(plan).values()))[0]
    has_squares = {"layer": bool(count["layer"]["t²·k"]), "step": bool(count["step"]["t²"])}
    tell(f"{plan.name}: a mixer layer")
    growth = {"layer": grid.layers(plan, has_squares["layer"])}
    if isinstance(first, Attention):
        with _reference():
            growth["reference"] = grid.layers(plan, has_squares["layer"])
    known = grid.known(plan)
    cut = f", up to {known[-1]} tokens (its learned positions end before {grid.lengths[-1]})"
    tell(f"{plan.name}: a training step" + cut * (known[-1] < grid.lengths[-1]))
    growth["step"] = grid.steps(plan, has_squares["step"])
    tell(f"{plan.name}: a token of decoding")
    return Cost(
        plan.name,
        plan.width,
        side.layers,
        str(parts_of(side.mixer)[0]),
        first.complexity,
        family(plan),
        count,
        declared(plan, grid.lengths),
        growth,
        [_token(plan, length) for length in known if issubclass(MODELS.makes(plan.model.name), Generative)],
    )


def declared(plan: Plan, lengths: Sequence[int]) -> list[Declared]:
    sides, across = mixers(plan), cross_mixers(plan)
    first = next(iter(sides.values()))
    encoder, decoder = (sides.get(name, []) for name in ("encoder", "decoder"))
    through = [] if DECODERS.makes(plan.decoder.stack.name).by_column else decoder
    return [
        Declared(
            t,
            first[0].sequential_steps(t),
            path_length(first, t),
            sum(mixer.sequential_steps(t) for side in sides.values() for mixer in side),
            path_across(encoder, across, through, t),
        )
        for t in lengths
    ]


def family(plan: Plan) -> str | None:
    kinds = {mixer.complexity for side in mixers(plan).values() for mixer in side}
    return FAMILIES.get((kinds.pop(), bool(cross_mixers(plan)))) if len(kinds) == 1 else None


def counted(plan: Plan) -> dict[str, dict[str, float]]:
    """Operations, forward and backward: of the mixer layer as a · t·k² + b · t²·k, and of a step, whose embeddings grow
    with the first power of k, as a · t + b · t² in the plan's own width."""
    a, b = _quadratic(partial(_operations, plan))
    of_t, of_square = _quadratic(partial(example_operations, plan), max(1, min(5, (_limit(plan) or 15) // 3)))
    if not any("t²" in mixer.complexity for mixer in chain(*mixers(plan).values(), cross_mixers(plan))):
        of_square = 0.0  # a stretched source is rounded up, and deviates from a straight line only by that
    return {"layer": {"t·k²": a / plan.width**2, "t²·k": b / plan.width}, "step": {"t": of_t, "t²": of_square}}


def _limit(plan: Plan) -> int | None:
    """The number of positions of a model, where they are learned."""
    return min((limit for limit in outline(plan).limits.values() if limit is not None), default=None)


def _terms(has_squares: bool, *found: Sequence[str]) -> list[list[str]]:
    return [[name for name in terms if has_squares or TERMS[name][0] < 2] for terms in found]


def _quadratic(count: Callable[[int], int], t: int = 5) -> tuple[float, float]:
    """a and b of a · t + b · t², from the counts of t, 2 t and 3 t tokens. Exact: the second difference depends on b
    alone, the first on a too, and constants cancel."""
    one, two, three = count(t), count(2 * t), count(3 * t)
    b = (three - 2 * two + one) / (2 * t * t)
    return (two - one) / t - 3 * b * t, b


def _operations(plan: Plan, length: int) -> int:
    with torch.device("meta"), FlopCounterMode(display=False) as counter, _reference():
        layer(plan, length)()
    return int(counter.get_total_flops())


def _measured(workload: Workload, length: int, width: int) -> Measured:
    try:
        workload()  # warm up: an optimiser creates its moments in its first step
    except RuntimeError as error:  # torch has no class for running out of memory on a CPU
        if "memory" not in str(error):
            raise
        raise WeftError(f"not enough memory for {length:,} tokens at width {width}; choose smaller sizes.") from None
    return Measured(length, width, seconds(workload), peak_bytes(workload))


def _token(plan: Plan, length: int) -> Token:
    decoding = Decoding(plan, length)
    for warm_up in (decoding.cached, decoding.recomputed):
        warm_up()
    return Token(length, seconds(decoding.cached), seconds(decoding.recomputed), decoding.bytes)


def _reference() -> AbstractContextManager[None]:
    """Attention as the formula has it, with all its weights in memory and no fused kernel."""
    return sdpa_kernel(SDPBackend.MATH)
