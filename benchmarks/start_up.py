"""How long does `weft translate` take from the start to its first and only translation?

    python -m benchmarks.start_up                       eleven rounds
    python -m benchmarks.start_up --quick --json        five

The shipped model and one short sentence, each time in a new process; beside it, taking turns, what Python and torch
take to start without weft.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable

from benchmarks.measure import interleaved, machine, say

SYSTEMS = {
    "weft translate en-de": ["-m", "weft", "translate", "en-de"],
    "import torch": ["-c", "import torch"],
    "python": ["-c", ""],
}


def start(*words: str) -> Callable[[], object]:
    command = [sys.executable, *words]
    return lambda: subprocess.run(command, input=b"How are you?\n", check=True, capture_output=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="five rounds")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    rounds = 5 if given.quick else 11
    times = interleaved({name: start(*words) for name, words in SYSTEMS.items()}, rounds)
    lines = ["| | seconds: median | low | high |", "|---|---|---|---|"]
    lines += [f"| {name} | {time.median:.2f} | {time.low:.2f} | {time.high:.2f} |" for name, time in times.items()]
    plain = {name: time.to_dict() for name, time in times.items()}
    result = {"seconds": plain["weft translate en-de"]["median"], "systems": plain, "rounds": rounds}
    say({**result, "machine": machine()}, given.json, "\n".join(lines))


if __name__ == "__main__":
    main()
