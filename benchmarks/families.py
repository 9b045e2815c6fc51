"""Recurrence, convolution and attention under the same budget: data, about 2.6M parameters, minutes of training.

    python -m benchmarks.families --data ../shared/data --out runs/families                       all, one seed each
    python -m benchmarks.families --data ../shared/data --out runs/families --plans bahdanau-tiny --seeds 1,2,3
    python -m benchmarks.families --data ../shared/data --out runs/long --pairs tatoeba           longer sentences
    python -m benchmarks.families --data ../shared/data --out runs/families --speed

How many steps fit into the minutes is measured before the first seed of a plan; `--steps` sets the number that another
machine had. Each run folder keeps its scores as `row.json` and its translations of the test set as `test.txt`; a run
that has a `row.json` is not repeated. Speed is measured separately, when nothing else runs. `benchmarks.lengths`
shows how BLEU falls with the length of the source.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.multi30k import RECIPE, files
from benchmarks.record import arguments, record
from benchmarks.tables import families as table
from benchmarks.tables import speeds as speed_table
from weft.data.reading import read_pairs
from weft.decoding import Beam, Greedy
from weft.tasks import load

PLANS = ("seq2seq-rnn", "bahdanau", "luong", "gnmt", "convs2s", "bytenet", "transformer")
TRIED = 40  # steps that the speed is taken from, the first ten left out
SPLITS = {"train": "train", "valid": "dev", "test": "test"}
Row = dict[str, Any]

# The same for all; the rest, such as the learning rate, comes from each plan. The plans' own dropout is for trainings
# of hours; this one was chosen on val: docs/results.md.
BUDGET = {"batch_tokens": 1024, "accumulate": 1, "average_of": 5, "dropout": 0.2}
VALIDATIONS = 12
# The Transformer as in the reference score: its own warm-up would take half of the minutes.
BEYOND_PLAN = {"transformer-tiny": {key: RECIPE[key] for key in ("wiring", "feed_forward", "rate")}}


def data_files(data: Path, split: str, pairs: str) -> list[Path]:
    if pairs == "multi30k":
        return files(data, split, "tokenised")
    return [data / "tatoeba-deu-eng" / f"{SPLITS[split]}.tsv.xz"]


def tokenisation(pairs: str) -> str:
    """That of BLEU: Multi30k's text is tokenised already."""
    return "none" if pairs == "multi30k" else "13a"


def train(plan: str, data: Path, pairs: str, out: Path, **settings: Any) -> list[dict[str, Any]]:
    """`weft train`, and the metrics of its steps; an interrupted run is resumed."""
    command = [sys.executable, "-m", "weft", "train", plan, "--out", str(out), "--languages", "en-de"]
    for split in ("train", "valid"):
        command += [f"--{split}", *map(str, data_files(data, split, pairs))]
    command += ["--set", *(f"{key}={json.dumps(value)}" for key, value in settings.items())]
    if out.exists():
        command += ["--resume"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    rows = map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
    return [row for row in rows if "seconds" in row]


def pace(plan: str, data: Path, pairs: str) -> tuple[float, float]:
    """Steps and target tokens a second, in training."""
    settings = {**BUDGET, **BEYOND_PLAN.get(plan, {}), "steps": TRIED, "validate_every": TRIED}
    with TemporaryDirectory() as folder:
        rows = train(plan, data, pairs, Path(folder) / "run", **settings)
    first, last = next(row for row in rows if row["step"] >= 10), rows[-1]
    steps = (last["step"] - first["step"]) / (last["seconds"] - first["seconds"])
    return steps, steps * mean(row["tokens"] for row in rows)


def speeds(plans: Sequence[str], data: Path, pairs: str, out: Path) -> dict[str, Any]:
    """Training, greedy and beam search of what was trained: the better of two rounds, in which plans take turns."""
    test = list(read_pairs(data_files(data, "test", pairs), languages="en-de"))
    found: dict[str, list[list[float]]] = {plan: [] for plan in plans}
    for plan in 2 * list(plans):
        translator = load(str(out / f"{plan}-1"))
        searches = (len(test) / translator.evaluate(test, search).seconds for search in (Greedy(), Beam()))
        found[plan].append([pace(plan, data, pairs)[1], *searches])
    names = ("training", "greedy", "beam")
    return {
        "plans": [
            {"plan": plan, **{name: round(max(column)) for name, column in zip(names, zip(*rounds))}}
            for plan, rounds in found.items()
        ]
    }


def run(plan: str, seed: int, steps: int, data: Path, pairs: str, out: Path) -> Row:
    began = time.perf_counter()
    settings = {
        **BUDGET,
        "steps": steps,
        "validate_every": max(1, steps // VALIDATIONS),
        "schedule": {"name": "cosine", "warmup": steps // 10},
        "seed": seed,
        **BEYOND_PLAN.get(plan, {}),
    }
    train(plan, data, pairs, out, **settings)
    took = (time.perf_counter() - began) / 60
    translator, test = load(str(out)), list(read_pairs(data_files(data, "test", pairs), languages="en-de"))
    beam, greedy = (translator.evaluate(test, search, tokenize=tokenisation(pairs)) for search in (Beam(), Greedy()))
    (out / "test.txt").write_text("\n".join(beam.translations), "utf-8")
    return {
        "plan": plan,
        "seed": seed,
        "parameters": sum(p.numel() for p in translator.models[0].parameters()),
        "steps": steps,
        "minutes": round(took, 1),
        "bleu": round(beam["bleu"], 2),
        "greedy": round(greedy["bleu"], 2),
        "signature": beam.score("bleu").signature,
    }


def summary(rows: list[Row]) -> dict[str, Any]:
    """The rows of all runs, and for each plan the mean and standard deviation over its seeds."""
    plans: dict[str, list[Row]] = {}
    for row in rows:
        plans.setdefault(row["plan"], []).append(row)
    return {
        "plans": [
            {
                "plan": plan,
                "parameters": runs[0]["parameters"],
                "steps": runs[0]["steps"],
                "seeds": [row["seed"] for row in runs],
                "greedy": _score([row["greedy"] for row in runs]),
                "beam": _score([row["bleu"] for row in runs]),
            }
            for plan, runs in plans.items()
        ],
        "rows": rows,
    }


def _score(found: list[float]) -> dict[str, float | None]:
    return {"mean": round(mean(found), 2), "deviation": round(stdev(found), 2) if len(found) > 1 else None}


def main() -> None:
    options = arguments(__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--pairs", choices=("multi30k", "tatoeba"), default="multi30k")
    options.add_argument("--plans", default=",".join(f"{name}-tiny" for name in PLANS))
    options.add_argument("--seeds", default="1")
    options.add_argument("--minutes", type=float, default=20.0)
    options.add_argument("--steps", type=int, default=0, help="train for this many steps, however long they take")
    options.add_argument("--speed", action="store_true", help="measure the speed of runs that were trained before")
    given = options.parse_args()
    plans = given.plans.split(",")
    if given.speed:
        found = speeds(plans, given.data, given.pairs, given.out)
        record(given, f"speed-{given.pairs}", found, speed_table(found))
        return
    for plan in plans:
        steps = given.steps
        for seed in map(int, given.seeds.split(",")):
            out = given.out / f"{plan}-{seed}"
            kept = out / "row.json"
            if not kept.exists():
                steps = steps or int(60 * given.minutes * pace(plan, given.data, given.pairs)[0])
                row = run(plan, seed, steps, given.data, given.pairs, out)
                kept.write_text(json.dumps(row, ensure_ascii=False))
            print(kept.read_text(), file=sys.stderr, flush=True)
            steps = json.loads(kept.read_text())["steps"]
    rows = [json.loads(kept.read_text()) for kept in sorted(given.out.glob("*/row.json"))]
    found = summary(rows)
    record(given, f"families-{given.pairs}", found, table(found), tuple(sorted({row["seed"] for row in rows})))


if __name__ == "__main__":
    main()
