"""Learning rate schedules: fractions of the peak, by step. Step 1 is the first."""

import math
from collections.abc import Callable
from typing import Annotated

from weft.parts.options import Number, Rate

Schedule = Callable[[int], float]
Warmup = Annotated[int, Number("steps until the learning rate is at its peak", 0)]
Floor = Annotated[float, Rate("learning rate at the last step, as a fraction of the peak")]


def inverse_sqrt(steps: int, *, warmup: Warmup = 4000) -> Schedule:
    """Linear up to the peak, then ∝ 1/√step (arXiv:1706.03762, eq. 3)"""
    return lambda step: min(step / warmup, math.sqrt(warmup / step)) if warmup else 1 / math.sqrt(step)


def cosine(steps: int, *, warmup: Warmup = 1000, floor: Floor = 0.0) -> Schedule:
    """Linear up to the peak, then half a cosine down to the floor at the last step (arXiv:1608.03983)"""

    def rate(step: int) -> float:
        if step < warmup:
            return step / warmup
        done = min(1.0, (step - warmup) / max(1, steps - warmup))
        return floor + (1 - floor) * (1 + math.cos(math.pi * done)) / 2

    return rate


def constant(steps: int, *, warmup: Warmup = 0) -> Schedule:
    """Linear up to the peak, then level"""
    return lambda step: min(1.0, step / warmup) if warmup else 1.0
