"""Recurrence, convolution and attention under the same budget: data, about 2.6M parameters, minutes of training.

    python -m benchmarks.families --data ../shared/data --out runs/families                       all, one seed each
    python -m benchmarks.families --data ../shared/data --out runs/families --plans bahdanau-tiny --seeds 1,2,3
    python -m benchmarks.families --data ../shared/data --out runs/long --pairs tatoeba           longer sentences

How many steps fit into the minutes is measured first, on the machine as it is, and stands in the row. BLEU is also
given by the length of the source, with a 95 % interval from resampling the sentences (Koehn 2004,
aclanthology.org/W04-3250): does a source that is squeezed into one vector suffer most where it is long?

A row is kept in its run folder as `row.json`; one that is there is not computed again. All that are there are drawn as
`lengths.png`.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.multi30k import RECIPE, files
from weft.decoding import Beam, Greedy
from weft.evaluation.report import report
from weft.evaluation.scores import bleu_metric
from weft.text.reading import read_pairs
from weft.translator import load

PLANS = ("seq2seq-rnn", "bahdanau", "luong", "gnmt", "convs2s", "bytenet", "transformer")
LENGTHS = (0, 6, 11, 16, 21, 10**9)  # words of the source
TRIED = 40  # steps that the speed is taken from, the first ten left out
RESAMPLED = 1000
FEWEST = 20  # sentences that a score is given of
SPLITS = {"train": "train", "valid": "dev", "test": "test"}
Pairs = list[tuple[str, str]]
Row = dict[str, Any]

# The same for all but what each plan says itself, such as its dropout and its rate.
BUDGET = {"batch_tokens": 1024, "accumulate": 1, "average_of": 5}
VALIDATIONS = 12
# The Transformer as in the score of record: its own warm-up would take half of the minutes.
BEYOND_PLAN = {"transformer-tiny": {key: RECIPE[key] for key in ("wiring", "feed_forward", "rate")}}


def data_files(data: Path, split: str, pairs: str) -> list[Path]:
    if pairs == "multi30k":
        return files(data, split, "tokenised")
    return [data / "tatoeba-deu-eng" / f"{SPLITS[split]}.tsv.xz"]


def train(plan: str, data: Path, pairs: str, out: Path, **settings: Any) -> list[dict[str, Any]]:
    """`weft train`, and what it wrote down of its steps."""
    command = [sys.executable, "-m", "weft", "train", plan, "--out", str(out), "--languages", "en-de"]
    for split in ("train", "valid"):
        command += [f"--{split}", *map(str, data_files(data, split, pairs))]
    command += ["--set", *(f"{key}={json.dumps(value)}" for key, value in settings.items())]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    rows = map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
    return [row for row in rows if "seconds" in row]


def steps_within(minutes: float, plan: str, data: Path, pairs: str, out: Path) -> int:
    rows = train(plan, data, pairs, out, **BUDGET, steps=TRIED, validate_every=TRIED)
    first = next(row for row in rows if row["step"] >= 10)
    seconds = (rows[-1]["seconds"] - first["seconds"]) / (rows[-1]["step"] - first["step"])
    return int(60 * minutes / seconds)


def by_length(pairs: Pairs, translations: Sequence[str], tokenize: str) -> list[Row]:
    """BLEU of the sentences whose source has so many words, and how far it may be off."""
    rows = []
    for least, beyond in pairwise(LENGTHS):
        some = [(t, r) for (s, r), t in zip(pairs, translations) if least <= len(s.split()) < beyond]
        if len(some) >= FEWEST:
            found, references = zip(*some)
            score = bleu_metric(False, tokenize).corpus_score(found, [references], n_bootstrap=RESAMPLED)
            rows.append(
                {"words": least, "sentences": len(some), "bleu": round(score.score, 2), "±": round(score._ci, 2)}
            )
    return rows


def run(plan: str, seed: int, minutes: float, data: Path, pairs: str, out: Path) -> Row:
    steps = steps_within(minutes, plan, data, pairs, out.with_name(f"{out.name}-speed"))
    began = time.perf_counter()
    settings = {
        **BUDGET,
        "steps": steps,
        "validate_every": max(1, steps // VALIDATIONS),
        "schedule": {"name": "cosine", "warmup": steps // 10},
        "seed": seed,
        **BEYOND_PLAN.get(plan, {}),
    }
    trained = train(plan, data, pairs, out, **settings)
    took = (time.perf_counter() - began) / 60
    translator, test = load(str(out)), list(read_pairs(data_files(data, "test", pairs), languages="en-de"))
    tokenize = "none" if pairs == "multi30k" else "13a"
    beam, greedy = (report(translator, test, search, tokenize=tokenize) for search in (Beam(), Greedy()))
    return {
        "plan": plan,
        "seed": seed,
        "parameters": sum(p.numel() for p in translator.models[0].parameters()),
        "steps": steps,
        "minutes": round(took, 1),
        "tokens/s": round(sum(r["tokens"] for r in trained) / len(trained) * steps / trained[-1]["seconds"]),
        "bleu": round(beam.bleu.score, 2),
        "greedy": round(greedy.bleu.score, 2),
        "signature": beam.bleu.signature,
        "sentences/s": {"beam": round(len(test) / beam.seconds), "greedy": round(len(test) / greedy.seconds)},
        "by length": by_length(test, beam.translations, tokenize),
    }


def draw(folder: Path) -> None:
    """BLEU over the length of the source, a line for each plan: seed 1 of those whose rows are there."""
    rows = [json.loads(kept.read_text()) for plan in PLANS for kept in folder.glob(f"{plan}-tiny-1/row.json")]
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for n, row in enumerate(rows):
        places = [i + (n - len(rows) / 2) / 40 for i in range(len(row["by length"]))]  # side by side
        scores, spread = ([group[key] for group in row["by length"]] for key in ("bleu", "±"))
        axes.errorbar(places, scores, spread, marker="o", ms=4, lw=1.5, elinewidth=0.8, label=row["plan"])
    lengths = [(group["words"], group["sentences"]) for group in rows[0]["by length"]]
    ends = [*(f"to {beyond - 1}" for beyond, _ in lengths[1:]), "and more"]
    axes.set_xticks(range(len(lengths)), [f"{w or 1} {end}\n{n:,} sentences" for (w, n), end in zip(lengths, ends)])
    axes.set(xlabel="words of the source", ylabel="BLEU, with 95 % intervals")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, ncols=2)
    figure.savefig(folder / "lengths.png", dpi=130)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--pairs", choices=("multi30k", "tatoeba"), default="multi30k")
    options.add_argument("--plans", default=",".join(f"{name}-tiny" for name in PLANS))
    options.add_argument("--seeds", default="1")
    options.add_argument("--minutes", type=float, default=20.0)
    given = options.parse_args()
    for plan in given.plans.split(","):
        for seed in map(int, given.seeds.split(",")):
            out = given.out / f"{plan}-{seed}"
            kept = out / "row.json"
            if not kept.exists():
                row = run(plan, seed, given.minutes, given.data, given.pairs, out)
                kept.write_text(json.dumps(row, ensure_ascii=False))
            print(kept.read_text(), flush=True)
    draw(given.out)


if __name__ == "__main__":
    main()
