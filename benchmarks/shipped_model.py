"""Trains the shipped English to German model, as `weft/shipped/en-de` was made.

    python -m benchmarks.shipped_model --data ../shared/data --out runs/en-de

Trains `transformer-small` on Tatoeba, stores plan, subwords and float16 weights in OUT/shipped, and scores that model
on the dev and test sets.
"""

import shutil
from pathlib import Path
from typing import Any

import weft
from benchmarks.record import arguments, record
from benchmarks.tables import shipped as table
from weft.data.reading import read_pairs
from weft.decoding import Beam, Greedy
from weft.decoding.hypothesis import Search
from weft.folder import Folder
from weft.plans.presets import plan
from weft.tasks.translator import Translator
from weft.training.observers import Bar
from weft.weights import read_weights

PLAN = "transformer-small"


def ship(run: Folder, to: Path) -> Folder:
    """Copies the plan, the subwords and the languages of a finished run, and its weights in float16."""
    to.mkdir(parents=True, exist_ok=True)
    for name in ("plan.yaml", "tokeniser.json", "about.json"):
        shutil.copy(run.path / name, to / name)
    shipped = Folder.find(to)
    shipped.finish({name: value.half() for name, value in read_weights(run.weights()).items()})
    return shipped


def scored(
    translator: Translator, name: str, pairs: list[tuple[str, str]], search: Search, words: str
) -> dict[str, Any]:
    found = translator.evaluate(pairs, search)
    return {
        "set": name,
        "sentences": found.examples,
        "search": words,
        "bleu": round(found["bleu"], 2),
        "chrf": round(found["chrf"], 2),
        "perplexity": round(found["perplexity"], 3),
        "sentences_per_second": round(found.examples / found.seconds),
        "signatures": [found.score("bleu").signature, found.score("chrf").signature],
    }


def main() -> None:
    options = arguments(__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    given = options.parse_args()
    train, valid, test = (
        read_pairs([given.data / "tatoeba-deu-eng" / f"{split}.tsv.xz"], languages="en-de")
        for split in ("train", "dev", "test")
    )
    if not (given.out / "model.safetensors").exists():
        recipe = plan(PLAN)
        weft.train(
            recipe,
            train,
            valid,
            given.out,
            facts={"languages": ["en", "de"]},
            observers=lambda task, plan: [Bar(plan.training.steps, task.metrics)],
        )
    translator = Translator([ship(Folder.find(given.out), given.out / "shipped")])
    rows = [
        scored(translator, name, list(pairs), search, words)
        for name, pairs, search, words in (
            ("dev", valid, Beam(), "beam 5, α = 1"),
            ("test", test, Beam(), "beam 5, α = 1"),
            ("test", test, Greedy(), "greedy"),
        )
    ]
    found = {"plan": PLAN, "rows": rows}
    record(given, "shipped-model", found, table(found))


if __name__ == "__main__":
    main()
