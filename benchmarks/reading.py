"""How fast are sentence pairs read, subwords learned and tokens written, and in how much memory?

    python -m benchmarks.reading                        500,000 pairs, and four times as many
    python -m benchmarks.reading --quick --json         50,000 and 200,000

What `weft train` does before its first step, on generated pairs of about 14 words a side, each number of pairs in a
process of its own. Memory is flat where four times the pairs need no more of it.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.record import arguments, record
from benchmarks.tables import reading as table

WORDS = 20_000


def write_pairs(file: Path, count: int, seed: int = 1) -> None:
    """Lines like real ones: words of 2 to 11 letters, the r-th most frequent in proportion to 1/r, 5 to 23 a side."""
    random = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(random.choice(letters, n)) for n in random.integers(2, 12, WORDS)], object)
    chance = (1 / np.arange(1, WORDS + 1)).cumsum()
    with file.open("w", encoding="utf-8") as out:
        for start in range(0, count, 10_000):
            lengths = random.integers(5, 24, 2 * min(10_000, count - start))
            drawn = words[np.searchsorted(chance, random.random(lengths.sum()) * chance[-1])]
            texts = [" ".join(some) for some in np.split(drawn, lengths.cumsum()[:-1])]
            out.writelines(f"{source}\t{target}\n" for source, target in zip(texts[::2], texts[1::2]))


def prepare(folder: Path) -> dict[str, float]:
    """What `weft train` does with `pairs.tsv` before its first step."""
    from weft.data.reading import read_pairs
    from weft.plans.presets import plan
    from weft.training.run import begin

    pairs, valid = (read_pairs([folder / name], languages="en-de") for name in ("pairs.tsv", "valid.tsv"))
    began, worked = time.perf_counter(), time.process_time()
    begin(plan("transformer-small"), pairs, valid, folder / "run", languages=("en", "de"))
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "processor_seconds": round(time.process_time() - worked, 2),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def measure(count: int) -> dict[str, float]:
    with TemporaryDirectory() as folder:
        write_pairs(Path(folder, "pairs.tsv"), count)
        write_pairs(Path(folder, "valid.tsv"), 1000, seed=2)
        command = [sys.executable, "-m", "benchmarks.reading", "--prepare", folder]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {"pairs": count, "pairs_per_minute": round(60 * count / found["seconds"]), **found}


def main() -> None:
    options = arguments(__doc__, quick="a tenth of the pairs")
    options.add_argument("--prepare", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.prepare:
        print(json.dumps(prepare(given.prepare)))
        return
    count = 50_000 if given.quick else 500_000
    found = {"runs": [measure(n) for n in (count, 4 * count)]}
    record(given, "reading", found, table(found), seeds=(1, 2))


if __name__ == "__main__":
    main()
