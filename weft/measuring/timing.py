"""Measures one run of a workload: how long it takes, and how much memory it holds at its peak."""

import json
import os
import time
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

from torch.profiler import ProfilerActivity, profile

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # torch's profiler writes two lines to stderr each time it is used

Workload = Callable[[], object]
RUNS, ENOUGH = 20, 0.15  # at most this many runs, and none begins after this many seconds

# Wall clock, and CPU time of this process. On n threads a process uses 1 to n seconds of CPU time a second, and less
# only where other processes had the cores: then CPU time is nearer to the truth.
CLOCKS = [time.perf_counter, time.process_time]
if time.get_clock_info("process_time").resolution > 1e-5:  # Windows counts in steps of 16 ms
    CLOCKS.pop()


def seconds(workload: Workload) -> float:
    """The fastest of a few runs: other work on the machine can only slow a run down. The workload is warm."""
    times: list[float] = []
    while len(times) < RUNS and sum(times) < ENOUGH:
        began = [clock() for clock in CLOCKS]
        workload()
        times.append(min(clock() - before for clock, before in zip(CLOCKS, began)))
    return min(times)


def peak_bytes(workload: Workload) -> int:
    """The most memory that tensors hold at one time during a run, beyond what they held before it.

    torch's allocator reports each block that it allocates or frees to the profiler; the peak is the highest running
    sum. It is exact and the same on every machine, unlike the size of a process, which includes what an allocator keeps
    for later. The trace has every block, while the profiler's events hold only the sum of each operation.
    """
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        workload()
    with TemporaryDirectory() as folder:
        file = Path(folder, "trace.json")
        profiler.export_chrome_trace(str(file))
        events = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    blocks = sorted((event for event in events if event["name"] == "[memory]"), key=lambda event: event["ts"])
    return max(accumulate((int(block["args"]["Bytes"]) for block in blocks), initial=0))
