"""Recurrence, convolution and attention under the same budget: data, about 2.6M parameters, minutes of training.

    python -m benchmarks.families --data ../shared/data --out runs/families                       all, one seed each
    python -m benchmarks.families --data ../shared/data --out runs/families --plans bahdanau-tiny --seeds 1,2,3
    python -m benchmarks.families --data ../shared/data --out runs/long --pairs tatoeba           longer sentences

How many steps fit into the minutes is measured first, on the machine as it is, and stands in the row. BLEU is also
given by the length of the source, with a 95 % interval from resampling the sentences (Koehn 2004,
aclanthology.org/W04-3250): does a source that is squeezed into one vector suffer most where it is long?
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

from benchmarks.multi30k import files
from weft.decoding import Beam, Greedy
from weft.evaluation.report import report
from weft.evaluation.scores import bleu_metric
from weft.text.reading import read_pairs
from weft.translator import load

PLANS = ("seq2seq-rnn", "bahdanau", "luong", "gnmt", "convs2s", "bytenet", "transformer")
LENGTHS = (0, 6, 11, 16, 21, 10**9)  # words of the source
TRIED = 40  # steps that the speed is taken from, the first ten left out
RESAMPLED = 1000
SPLITS = {"train": "train", "valid": "dev", "test": "test"}
Pairs = list[tuple[str, str]]
Row = dict[str, Any]

# The same for all but what each plan says itself: its dropout, its rate and its warm-up.
BUDGET = {"batch_tokens": 2048, "accumulate": 1, "average_of": 5}


def data_files(data: Path, split: str, pairs: str) -> list[Path]:
    if pairs == "multi30k":
        return files(data, split, "tokenised")
    return [data / "tatoeba-deu-eng" / f"{SPLITS[split]}.tsv.xz"]


def train(plan: str, data: Path, pairs: str, out: Path, **settings: Any) -> list[dict[str, Any]]:
    """`weft train`, and what it wrote down of its steps."""
    command = [sys.executable, "-m", "weft", "train", plan, "--out", str(out), "--languages", "en-de"]
    for split in ("train", "valid"):
        command += [f"--{split}", *map(str, data_files(data, split, pairs))]
    command += ["--set", *(f"{key}={json.dumps(value)}" for key, value in {**BUDGET, **settings}.items())]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    rows = map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
    return [row for row in rows if "seconds" in row]


def steps_within(minutes: float, plan: str, data: Path, pairs: str, out: Path) -> int:
    rows = train(plan, data, pairs, out, steps=TRIED, validate_every=TRIED)
    first = next(row for row in rows if row["step"] >= 10)
    seconds = (rows[-1]["seconds"] - first["seconds"]) / (rows[-1]["step"] - first["step"])
    return int(60 * minutes / seconds)


def by_length(pairs: Pairs, translations: Sequence[str], tokenize: str) -> list[Row]:
    """BLEU of the sentences whose source has so many words, and how far it may be off."""
    rows = []
    for least, beyond in pairwise(LENGTHS):
        some = [(t, r) for (s, r), t in zip(pairs, translations) if least <= len(s.split()) < beyond]
        if some:
            found, references = zip(*some)
            score = bleu_metric(False, tokenize).corpus_score(found, [references], n_bootstrap=RESAMPLED)
            rows.append(
                {"words": least, "sentences": len(some), "bleu": round(score.score, 2), "±": round(score._ci, 2)}
            )
    return rows


def run(plan: str, seed: int, minutes: float, data: Path, pairs: str, out: Path) -> Row:
    steps = steps_within(minutes, plan, data, pairs, out.with_name(f"{out.name}-speed"))
    began = time.perf_counter()
    trained = train(plan, data, pairs, out, steps=steps, validate_every=max(1, steps // 12), seed=seed)
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
            row = run(plan, seed, given.minutes, given.data, given.pairs, given.out / f"{plan}-{seed}")
            print(json.dumps(row, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
