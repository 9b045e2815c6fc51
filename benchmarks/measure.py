"""Interleaved timings: systems take turns within each round, so that a slow minute of the machine is slow for all."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass
from typing import TypeVar

import torch


@dataclass(frozen=True)
class Timing:
    """Seconds of one system's turns."""

    median: float
    low: float  # the fastest turn
    high: float  # the slowest

    def to_dict(self) -> dict[str, float]:
        return {name: round(value, 5) for name, value in asdict(self).items()}


Name = TypeVar("Name", bound=Hashable)


def interleaved(systems: Mapping[Name, Callable[[], object]], rounds: int, warm_ups: int = 1) -> dict[Name, Timing]:
    """Each system once a round, the order turned from round to round."""
    names = list(systems)
    seconds: dict[Name, list[float]] = {name: [] for name in names}
    for i in range(-warm_ups, rounds):
        for name in names if i % 2 else reversed(names):
            began = time.perf_counter()
            systems[name]()
            if i >= 0:
                seconds[name].append(time.perf_counter() - began)
    return {name: Timing(statistics.median(s), min(s), max(s)) for name, s in seconds.items()}


def matmul_peak(size: int = 1536) -> Callable[[], object]:
    """A turn of plain float32 matrix products; `peak_operations(size)` of them."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    out = torch.empty(size, size)

    def turn() -> None:
        for _ in range(PRODUCTS):
            torch.mm(a, b, out=out)

    return turn


PRODUCTS = 8


def peak_operations(size: int = 1536) -> int:
    return PRODUCTS * 2 * size**3


def peak_memory(module: str, *arguments: str) -> int:
    """Megabytes that `python -m module arguments` holds at most, in a process of its own."""
    script = (
        "import re, runpy, sys\n"
        f"sys.argv = {[module, *arguments]!r}\n"
        f"runpy.run_module({module!r}, run_name='__main__')\n"
        # Not getrusage: that one remembers the process it was forked from.
        "print('\\n', int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) // 1024)"
    )
    said = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    return int(said.split()[-1])
