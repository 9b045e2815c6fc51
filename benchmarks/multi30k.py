"""The score of record: Multi30k English to German at `transformer-tiny` size.

    python -m benchmarks.multi30k --data ../shared/data --out runs/multi30k               three seeds
    python -m benchmarks.multi30k --data ../shared/data --out runs/raw --text raw --seeds 1
    python -m benchmarks.multi30k --data ../shared/data --out runs/ablations --ablations   what each choice bought

Lower-cased tokenised text is scored as published scores are (BLEU on the tokens as they are); raw text is cased and
scored by sacreBLEU's defaults. Choices were settled on `val`; `test_2016_flickr` is only ever scored.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import torch

from weft.decoding import Beam
from weft.evaluation.report import report
from weft.plans.plan import Plan
from weft.plans.presets import plan
from weft.text.reading import read_pairs
from weft.training.observers import Bar
from weft.training.run import begin, trainer
from weft.translator import Translator

FORMS = {"tokenised": ".lc.norm.tok", "raw": ""}
SPLITS = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
SEARCH = Beam(width=5, length_penalty=1.0)

# The recipe, on top of `transformer-tiny`.
RECIPE: dict[str, Any] = {}
# Twenty minutes each: the recipe cut short, and the same with one thing changed.
SHORT: dict[str, Any] = {}
ABLATIONS: dict[str, dict[str, Any]] = {"as it is": {}}


def pairs_of(data: Path, split: str, text: str) -> list[tuple[str, str]]:
    stem = f"{SPLITS[split]}{FORMS[text]}"
    return list(read_pairs([data / "multi30k" / f"{stem}.{language}.xz" for language in ("en", "de")]))


def run(recipe: Plan, data: Path, text: str, out: Path) -> dict[str, Any]:
    """Train one model and score it on val and test."""
    train, valid, test = (pairs_of(data, split, text) for split in SPLITS)
    began = time.perf_counter()
    job = trainer(begin(recipe, train, valid, out, ("en", "de")), [Bar(recipe.training.steps)])
    job.train()
    minutes = (time.perf_counter() - began) / 60
    translator = Translator([job.folder])
    options = {"tokenize": "none"} if text == "tokenised" else {}
    scores = {name: report(translator, some, SEARCH, **options) for name, some in (("val", valid), ("test", test))}
    row = {
        "seed": recipe.training.seed,
        "text": text,
        "parameters": sum(p.numel() for p in job.model.parameters()),
        "minutes": round(minutes, 1),
        "val": round(scores["val"].bleu.score, 2),
        "test": round(scores["test"].bleu.score, 2),
        "signature": scores["test"].bleu.signature,
        "torch": torch.__version__,
    }
    (out / "scores.json").write_text(json.dumps(row))
    return row


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--text", choices=FORMS, default="tokenised")
    options.add_argument("--seeds", default="1,2,3")
    options.add_argument("--ablations", action="store_true")
    given = options.parse_args()

    base = plan("transformer-tiny").with_settings(RECIPE)
    if given.ablations:
        plans = {name: base.with_settings({**SHORT, **changed}) for name, changed in ABLATIONS.items()}
    else:
        plans = {f"seed-{seed}": base.with_settings({"seed": int(seed)}) for seed in given.seeds.split(",")}
    rows = []
    for name, recipe in plans.items():
        rows.append(run(recipe, given.data, given.text, given.out / name.replace(" ", "-")))
        print(f"{name:24} {json.dumps(rows[-1])}", flush=True)
    if len(rows) > 1 and not given.ablations:
        tests = [row["test"] for row in rows]
        print(f"test BLEU {statistics.mean(tests):.2f} ± {statistics.stdev(tests):.2f} over {len(tests)} seeds")


if __name__ == "__main__":
    main()
