"""Is weft as fast as it was at another commit?

    python -m benchmarks.commits b9a09da                       five rounds
    python -m benchmarks.commits b9a09da --quick --json        one, with fewer steps and sentences

Both versions take turns within each round, in processes of their own. Training: steps of small models on pairs of
dates, from the first to the last as `metrics.jsonl` has them. Decoding: the shipped model, from text to text, in a
process that is warm. Start: `weft translate` of one sentence, from nothing.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.decoding import sentences
from benchmarks.record import arguments, record
from benchmarks.tables import commits as table
from weft.samples.dates import make_dates

ROOT = Path(__file__).parents[1]
PLANS = ("transformer-tiny", "bahdanau-tiny", "convs2s-tiny")
DECODE = """
import sys, time, weft
model, texts = weft.load("en-de"), sys.stdin.read().splitlines()
model.translate(texts[:64], beam={beam})
began = time.perf_counter()
model.translate(texts, beam={beam})
print(time.perf_counter() - began)
"""


def run(version: Path, *words: str, given: str = "", folder: Path | None = None) -> str:
    environment = {**os.environ, "PYTHONPATH": str(version)}
    command = [sys.executable, *words]
    done = subprocess.run(command, input=given, capture_output=True, text=True, env=environment, cwd=folder or version)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def training(plan: str, steps: int, data: Path, version: Path) -> float:
    """Seconds from the end of step 1 to the end of the last."""
    with tempfile.TemporaryDirectory() as folder:
        files = ["--train", "train.en", "train.de", "--valid", "valid.en", "valid.de"]
        options = ["--out", f"{folder}/run", "--set", f"steps={steps}", f"validate_every={steps}", "batch_tokens=2000"]
        run(version, "-m", "weft", "train", plan, *files, *options, "vocabulary=400", folder=data)
        rows = [json.loads(line) for line in Path(folder, "run", "metrics.jsonl").read_text().splitlines()]
    seconds = [row["seconds"] for row in rows if "loss" in row]
    return float(seconds[-1] - seconds[0])


def decoding(beam: int, texts: str, version: Path) -> float:
    return float(run(version, "-c", DECODE.format(beam=beam), given=texts))


def start(version: Path) -> float:
    began = time.perf_counter()
    run(version, "-m", "weft", "translate", "en-de", given="How are you?\n")
    return time.perf_counter() - began


def questions(given: Namespace, data: Path) -> dict[str, Callable[[Path], float]]:
    steps, count = (20, 64) if given.quick else (60, 1000)
    dates = make_dates(train_pairs=5000)
    for name, pairs in (("train", dates.train), ("valid", dates.valid[:20])):
        for side, language in enumerate(("en", "de")):
            lines = "".join(f"{pair[side]}\n" for pair in pairs)
            (data / f"{name}.{language}").write_text(lines, encoding="utf-8")
    texts = "\n".join(sentences(given.data, count))
    return {
        **{f"training {plan}": lambda v, plan=plan: training(plan, steps, data, v) for plan in PLANS},
        **{f"decoding, {n}": lambda v, b=b: decoding(b, texts, v) for n, b in (("greedy", 1), ("beam 5", 5))},
        "start": start,
    }


def measured(given: Namespace) -> dict[str, Any]:
    rounds = 1 if given.quick else 5
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", other, given.commit], check=True)
        try:
            found = {}
            for name, ask in questions(given, Path(folder)).items():
                pairs = [(ask(other), ask(ROOT)) if i % 2 else (ask(ROOT), ask(other))[::-1] for i in range(rounds)]
                ratios = sorted(then / now for then, now in pairs)
                found[name] = {
                    "seconds": [round(statistics.median(each), 4) for each in zip(*pairs)],
                    "ratio": [round(value, 3) for value in (statistics.median(ratios), ratios[0], ratios[-1])],
                }
                print(name, found[name], file=sys.stderr, flush=True)
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", other], check=True)
    return {"commit": given.commit, "rounds": rounds, "questions": found}


def main() -> None:
    options = arguments(__doc__, quick="one round, with fewer steps and sentences")
    options.add_argument("commit", help="the other version")
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    given = options.parse_args()
    numbers = measured(given)
    record(given, "commits", numbers, table(numbers))


if __name__ == "__main__":
    main()
