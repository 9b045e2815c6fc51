"""Recurrence, convolution and attention under the same budget: data, about 2.6M parameters, minutes of training.

    python -m benchmarks.families --data ../shared/data --out runs/families                       all, one seed each
    python -m benchmarks.families --data ../shared/data --out runs/families --plans bahdanau-tiny --seeds 1,2,3
    python -m benchmarks.families --data ../shared/data --out runs/long --pairs tatoeba           longer sentences
    python -m benchmarks.families --data ../shared/data --out runs/families --speed               of what was trained

How many steps fit into the minutes is measured before the first seed of a plan, on the machine as it is, and stands in
the row; `--steps` gives as many as another machine had. A row is kept in its run folder as `row.json`, and the
translations of the test set as `test.txt`; a row that is there is not computed again. Speed is measured by itself, when
nothing else runs. `benchmarks.lengths` says how BLEU falls with the length of the source.
"""

import argparse
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
from weft.data.reading import read_pairs
from weft.decoding import Beam, Greedy
from weft.evaluation.report import report
from weft.tasks import load

PLANS = ("seq2seq-rnn", "bahdanau", "luong", "gnmt", "convs2s", "bytenet", "transformer")
TRIED = 40  # steps that the speed is taken from, the first ten left out
SPLITS = {"train": "train", "valid": "dev", "test": "test"}
Row = dict[str, Any]

# The same for all but what each plan says itself, such as its rate. The plans' own dropout is for trainings of hours;
# this one was chosen on val: docs/results.md.
BUDGET = {"batch_tokens": 1024, "accumulate": 1, "average_of": 5, "dropout": 0.2}
VALIDATIONS = 12
# The Transformer as in the score of record: its own warm-up would take half of the minutes.
BEYOND_PLAN = {"transformer-tiny": {key: RECIPE[key] for key in ("wiring", "feed_forward", "rate")}}


def data_files(data: Path, split: str, pairs: str) -> list[Path]:
    if pairs == "multi30k":
        return files(data, split, "tokenised")
    return [data / "tatoeba-deu-eng" / f"{SPLITS[split]}.tsv.xz"]


def tokenisation(pairs: str) -> str:
    """That of BLEU: Multi30k's text is tokenised already."""
    return "none" if pairs == "multi30k" else "13a"


def train(plan: str, data: Path, pairs: str, out: Path, **settings: Any) -> list[dict[str, Any]]:
    """`weft train`, and what it wrote down of its steps; a run that was interrupted goes on."""
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


def speeds(plans: Sequence[str], data: Path, pairs: str, out: Path) -> str:
    """Of training, greedy and beam search, as Markdown: for each the better of two turns, the plans in turn."""
    test = list(read_pairs(data_files(data, "test", pairs), languages="en-de"))
    found: dict[str, list[list[float]]] = {plan: [] for plan in plans}
    for plan in 2 * list(plans):
        translator = load(str(out / f"{plan}-1"))
        searches = (len(test) / report(translator, test, search).seconds for search in (Greedy(), Beam()))
        found[plan].append([pace(plan, data, pairs)[1], *searches])
    lines = ["| | target tokens a second, training | sentences a second, greedy | beam 5 |", "|---|---|---|---|"]
    for plan, turns in found.items():
        lines.append(f"| `{plan}` | {' | '.join(f'{max(column):,.0f}' for column in zip(*turns))} |")
    return "\n".join(lines)


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
    beam, greedy = (report(translator, test, search, tokenize=tokenisation(pairs)) for search in (Beam(), Greedy()))
    (out / "test.txt").write_text("\n".join(beam.translations), "utf-8")
    return {
        "plan": plan,
        "seed": seed,
        "parameters": sum(p.numel() for p in translator.models[0].parameters()),
        "steps": steps,
        "minutes": round(took, 1),
        "bleu": round(beam.bleu.score, 2),
        "greedy": round(greedy.bleu.score, 2),
        "signature": beam.bleu.signature,
    }


def table(rows: list[Row]) -> str:
    """All rows that are there as Markdown, a plan with all of its seeds, the best first."""
    plans: dict[str, list[Row]] = {}
    for row in rows:
        plans.setdefault(row["plan"], []).append(row)
    lines = ["| | parameters | steps | seeds | minutes | greedy | beam 5 |", "|---|---|---|---|---|---|---|"]
    for plan, seeds in sorted(plans.items(), key=lambda item: -mean(row["bleu"] for row in item[1])):
        first, minutes = seeds[0], sorted(round(row["minutes"]) for row in seeds)
        took = " to ".join(str(m) for m in dict.fromkeys((minutes[0], minutes[-1])))
        greedy, beam = (_mean_and_deviation([row[key] for row in seeds]) for key in ("greedy", "bleu"))
        parameters = f"{first['parameters'] / 1e6:.2f}M"
        cells = (f"`{plan}`", parameters, f"{first['steps']:,}", f"{len(seeds)}", took, greedy, f"**{beam}**")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean_and_deviation(found: list[float]) -> str:
    return f"{mean(found):.1f}" + (f" ± {stdev(found):.1f}" if len(found) > 1 else "")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--pairs", choices=("multi30k", "tatoeba"), default="multi30k")
    options.add_argument("--plans", default=",".join(f"{name}-tiny" for name in PLANS))
    options.add_argument("--seeds", default="1")
    options.add_argument("--minutes", type=float, default=20.0)
    options.add_argument("--steps", type=int, default=0, help="so many, however long they take")
    options.add_argument("--speed", action="store_true", help="of what was trained before")
    given = options.parse_args()
    if given.speed:
        print(speeds(given.plans.split(","), given.data, given.pairs, given.out))
        return
    for plan in given.plans.split(","):
        steps = given.steps
        for seed in map(int, given.seeds.split(",")):
            out = given.out / f"{plan}-{seed}"
            kept = out / "row.json"
            if not kept.exists():
                steps = steps or int(60 * given.minutes * pace(plan, given.data, given.pairs)[0])
                row = run(plan, seed, steps, given.data, given.pairs, out)
                kept.write_text(json.dumps(row, ensure_ascii=False))
            print(kept.read_text(), flush=True)
            steps = json.loads(kept.read_text())["steps"]
    print(table([json.loads(kept.read_text()) for kept in sorted(given.out.glob("*/row.json"))]))


if __name__ == "__main__":
    main()
