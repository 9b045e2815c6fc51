"""Two gauges for a turn of work: how long it takes, and how much memory it holds at most."""

import time
from collections.abc import Callable

from torch._C._autograd import _disable_profiler_legacy, _enable_profiler_legacy
from torch._C._profiler import ProfilerConfig, ProfilerState, _ExperimentalConfig

Workload = Callable[[], object]
TURNS, ENOUGH = 20, 0.15  # so many, or as many as begin within so many seconds

# On the wall, and of the processors for this process alone. Whoever computes on n threads takes 1 to n of the latter in
# one second of the former, and less only where others had the processors: then it is nearer to the truth.
CLOCKS = [time.perf_counter, time.process_time]
if time.get_clock_info("process_time").resolution > 1e-5:  # Windows counts in steps of 16 ms
    CLOCKS.pop()


def seconds(turn: Workload) -> float:
    """Of the fastest of a few turns: whatever else the machine does can only make one slower. The turn is warm."""
    times: list[float] = []
    while len(times) < TURNS and sum(times) < ENOUGH:
        began = [clock() for clock in CLOCKS]
        turn()
        times.append(min(clock() - before for clock, before in zip(CLOCKS, began)))
    return min(times)


def peak_bytes(turn: Workload) -> int:
    """The most that tensors hold at one time during a turn, beyond what they hold before it.

    torch's allocator tells the profiler of each block that it gives and takes back; this is the highest sum of them. It
    is exact, and the same on every machine, which the size of a process is not: that one is made of what an allocator
    keeps for later, too. torch's older profiler tells the same as the newer one, many times faster.
    """
    _enable_profiler_legacy(ProfilerConfig(ProfilerState.CPU, False, True, False, False, False, _ExperimentalConfig()))
    try:
        turn()
    finally:
        threads = _disable_profiler_legacy()
    held = most = 0
    for event in (event for thread in threads for event in thread):
        held += event.cpu_memory_usage()  # of an event that is no block: 0
        most = max(most, held)
    return most
