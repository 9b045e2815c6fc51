"""The reference score: Multi30k English to German at `transformer-tiny` size.

    python -m benchmarks.multi30k --data ../shared/data --out runs/multi30k               three seeds
    python -m benchmarks.multi30k --data ../shared/data --out runs/raw --text raw --seeds 1
    python -m benchmarks.multi30k --data ../shared/data --out runs/ablations --ablations

Lower-cased tokenised text is scored as published scores are (BLEU on the tokens as they are); raw text is cased and
scored by sacreBLEU's defaults. Choices were settled on `val`; `test_2016_flickr` is only ever scored.
"""

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.record import arguments, record
from benchmarks.tables import ablations, multi30k
from weft.data.reading import read_pairs
from weft.decoding import Beam
from weft.tasks import load

FORMS = {"tokenised": ".lc.norm.tok", "raw": ""}
SPLITS = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
SEARCH = Beam(width=5, length_penalty=1.0)  # as the published scores were searched
Settings = dict[str, Any]

# The recipe, on top of `transformer-tiny`.
RECIPE: Settings = {
    "wiring": "pre",
    "feed_forward": {"name": "mlp", "hidden": 256, "dropout": 0.1},
    "batch_tokens": 1024,
    "accumulate": 1,
    "rate": 0.0025,
    "schedule": {"name": "cosine", "warmup": 1000},
    "steps": 22000,
    "validate_every": 2000,
    "average_of": 5,
}
# Twenty minutes each: first the recipe cut short, then the same with one thing changed.
SHORT: Settings = {"steps": 6000, "validate_every": 500}
ABLATIONS: dict[str, Settings] = {
    "the recipe, cut short": {},
    "post-norm instead of pre-norm": {"wiring": "post", "schedule": {"name": "cosine", "warmup": 2000}},
    "inverse square root instead of cosine": {"schedule": {"name": "inverse-sqrt", "warmup": 1000}},
    "dropout of 0.1 instead of 0.3": {"dropout": 0.1},
    "no dropout inside the feed-forward layers": {"feed_forward": {"name": "mlp", "hidden": 256}},
    "BPE dropout of 0.05 instead of none": {"bpe_dropout": 0.05},
    "four times the batch": {"batch_tokens": 4096, "rate": 0.005, "steps": 2000, "validate_every": 167},
    "6,000 subwords instead of 10,000": {"vocabulary": 6000},
    "the last checkpoint instead of the mean of five": {"average_of": 1},
}


def files(data: Path, split: str, text: str) -> list[Path]:
    return [data / "multi30k" / f"{SPLITS[split]}{FORMS[text]}.{language}.xz" for language in ("en", "de")]


def run(settings: Settings, data: Path, text: str, out: Path) -> dict[str, Any]:
    """Train one model with `weft train`, and score it on val and test."""
    command = [sys.executable, "-m", "weft", "train", "transformer-tiny", "--out", str(out)]
    for split in ("train", "valid"):
        command += [f"--{split}", *map(str, files(data, split, text))]
    command += ["--set", *(f"{key}={json.dumps(value)}" for key, value in settings.items())]
    began = time.perf_counter()
    subprocess.run(command, check=True)
    minutes = (time.perf_counter() - began) / 60
    translator = load(str(out))
    options = {"tokenize": "none"} if text == "tokenised" else {}
    scores = {
        split: translator.evaluate(list(read_pairs(files(data, split, text))), SEARCH, **options)
        for split in ("valid", "test")
    }
    return {
        "text": text,
        "settings": settings,
        "parameters": sum(p.numel() for p in translator.models[0].parameters()),
        "minutes": round(minutes, 1),
        "val": round(scores["valid"]["bleu"], 2),
        "test": round(scores["test"]["bleu"], 2),
        "val_chrf": round(scores["valid"]["chrf"], 2),
        "test_chrf": round(scores["test"]["chrf"], 2),
        "signature": scores["test"].score("bleu").signature,
        "chrf_signature": scores["test"].score("chrf").signature,
    }


def main() -> None:
    options = arguments(__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--text", choices=FORMS, default="tokenised")
    options.add_argument("--seeds", default="1,2,3")
    options.add_argument(
        "--ablations", action="store_true", help="the recipe cut short, and one thing changed at a time"
    )
    given = options.parse_args()
    seeds = (1,) if given.ablations else tuple(map(int, given.seeds.split(",")))
    if given.ablations:
        chosen = {name: {**RECIPE, **SHORT, **changed} for name, changed in ABLATIONS.items()}
    else:
        chosen = {f"seed-{seed}": {**RECIPE, "seed": seed} for seed in seeds}
    runs = []
    for name, settings in chosen.items():
        folder = given.out / re.sub(r"\W+", "-", name)
        runs.append({"name": name, **run(settings, given.data, given.text, folder)})
        print(json.dumps(runs[-1]), file=sys.stderr, flush=True)
    found = {"runs": runs}
    name = "multi30k" + "-raw" * (given.text == "raw") + "-ablations" * given.ablations
    record(given, name, found, (ablations if given.ablations else multi30k)(found), seeds)


if __name__ == "__main__":
    main()
