"""Make the shipped English to German model again, as `weft/shipped/en-de` was made.

    python -m benchmarks.shipped_model --data ../shared/data --out runs/en-de

Trains `transformer-small` on Tatoeba, stores the weights as float16 beside the plan and the subwords in OUT/shipped,
and scores that stored file on the test set.
"""

import argparse
import json
import shutil
from pathlib import Path

from weft.data.reading import read_pairs
from weft.decoding import Beam
from weft.evaluation.report import report
from weft.folder import Folder
from weft.plans.presets import plan
from weft.tasks.translator import Translator, note_aligner
from weft.training.observers import Bar
from weft.training.run import begin, trainer
from weft.weights import read_weights


def ship(run: Folder, to: Path) -> Folder:
    """What a finished run leaves to the world: plan, subwords, languages, and weights of half the size."""
    to.mkdir(parents=True, exist_ok=True)
    for name in ("plan.yaml", "tokeniser.json", "about.json"):
        shutil.copy(run.path / name, to / name)
    shipped = Folder.find(to)
    shipped.finish({name: value.half() for name, value in read_weights(run.weights()).items()})
    return shipped


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    given = options.parse_args()
    train, valid, test = (
        read_pairs([given.data / "tatoeba-deu-eng" / f"{split}.tsv.xz"], languages="en-de")
        for split in ("train", "dev", "test")
    )
    if not (given.out / "model.safetensors").exists():
        recipe = plan("transformer-small")
        folder = begin(recipe, train, valid, given.out, languages=("en", "de"))
        job = trainer(folder, [Bar(recipe.training.steps)])
        job.train()
        note_aligner(folder)
    translator = Translator([ship(Folder.find(given.out), given.out / "shipped")])
    for name, pairs in (("dev", valid), ("test", test)):
        print(name, json.dumps(report(translator, list(pairs), Beam()).to_dict()), flush=True)


if __name__ == "__main__":
    main()
