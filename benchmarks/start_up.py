"""How long does `weft translate` take from its start to its first and only translation?

    python -m benchmarks.start_up                       eleven rounds
    python -m benchmarks.start_up --quick --json        five

The shipped model and one short sentence, each time in a new process; in the same rounds, what Python and torch
take to start without weft.
"""

import subprocess
import sys
from collections.abc import Callable

from benchmarks.measure import interleaved
from benchmarks.record import arguments, record
from benchmarks.tables import start_up as table

SYSTEMS = {
    "weft translate en-de": ["-m", "weft", "translate", "en-de", "--engine", "torch"],
    "weft translate en-de --engine ctranslate2": ["-m", "weft", "translate", "en-de", "--engine", "ctranslate2"],
    "import torch": ["-c", "import torch"],
    "python": ["-c", ""],
}


def start(*words: str) -> Callable[[], object]:
    command = [sys.executable, *words]
    return lambda: subprocess.run(command, input=b"How are you?\n", check=True, capture_output=True)


def main() -> None:
    given = arguments(__doc__, quick="five rounds").parse_args()
    rounds = 5 if given.quick else 11
    times = interleaved({name: start(*words) for name, words in SYSTEMS.items()}, rounds)
    found = {"rounds": rounds, "systems": {name: time.to_dict() for name, time in times.items()}}
    record(given, "start-up", found, table(found), seeds=())


if __name__ == "__main__":
    main()
