"""What weft computed before the house was rebuilt for every task: losses, one attention, translations.

python -m tests.golden.record golden-cpu.json        also writes the folder old-run

Made before the rebuild: `golden-xeon.json` and `old-run`, at b9a09da with the functions that did the work of
`weft.train` there, and during it `parts.json` (see `parts.py`), at fee08f4. Made after it: `golden-zen5.json`, at a
commit that equals the Xeon's record bit for bit on the Xeon.
"""

import hashlib
import json
import platform
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

import weft
from tests.toys import PAIRS, SMALL
from weft.plans.presets import plan

HERE = Path(__file__).parent
RECORDS = sorted(HERE.glob("golden-*.json"))
PLANS = ("transformer-tiny", "bahdanau-tiny", "convs2s-tiny")
STEPS = 20
OLD_RUN = HERE / "old-run"
TEXTS = [
    "How are you?",
    "I have never been to Boston.",
    "She sold her car because it was too old.",
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
    "Where is the nearest station?",
    "He wants to learn German.",
    "It rained all day yesterday.",
    "We should have listened to our parents.",
    "Can you tell me what time it is?",
    "My brother lives in a small village.",
    "I don't know what to say.",
    "They were sitting in the garden when it began to rain.",
    "If I were rich, I would buy a house.",
    "Nobody knows where Tom went.",
    "Please close the door.",
    "This book is more interesting than that one.",
    "What are you going to do tomorrow?",
    "Mary gave her sister a red umbrella.",
    "I'm looking forward to seeing you again.",
]
SENTENCE = TEXTS[3]


def machine() -> str:
    """Which arithmetic this is: the processor, its instructions and torch's version."""
    try:
        facts = dict(re.findall(r"^(model name|flags)\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE))
    except OSError:
        facts = {}
    flags = hashlib.sha256(facts.get("flags", "").encode()).hexdigest()[:8]
    return f"{facts.get('model name', platform.machine())} ({flags}), torch {torch.__version__}"


class Losses:
    """An observer that keeps the loss and the objective of each step, and the norm of its gradient."""

    def __init__(self) -> None:
        self.seen: list[list[float]] = []

    def step(self, step: int, metrics: dict[str, float]) -> None:
        self.seen.append([metrics["loss"], metrics["objective"], metrics["gradient"]])

    def validation(self, step: int, scores: Any) -> None:
        pass

    def close(self) -> None:
        pass


def settings(name: str) -> dict[str, Any]:
    small = {key: value for key, value in SMALL.items() if not key.startswith(("mixer", "cross", "feed", "layers"))}
    return {**small, **(SMALL if name.startswith("transformer") else {}), "steps": STEPS, "validate_every": STEPS}


def losses(name: str, out: Path) -> list[list[float]]:
    seen = Losses()
    recipe = plan(name).with_settings(settings(name))
    weft.train(recipe, PAIRS[:200], PAIRS[200:210], out, observers=lambda task, plan: [seen])
    return seen.seen


def computed() -> dict[str, Any]:
    torch.set_num_threads(1)
    model = weft.load("en-de")
    with tempfile.TemporaryDirectory() as folder:
        return {
            "losses": {name: losses(name, Path(folder) / name) for name in PLANS},
            "attention": model.attention(SENTENCE).to_dict(),
            "translations": model.translate(TEXTS),
        }


def record(file: Path) -> None:
    file.write_text(json.dumps({"machine": machine(), **computed()}, ensure_ascii=False) + "\n")
    shutil.rmtree(OLD_RUN, ignore_errors=True)
    small = settings("bahdanau-tiny") | {"steps": 4, "validate_every": 2, "average_of": 1, "width": 8}
    weft.train(plan("bahdanau-tiny").with_settings(small), PAIRS[:20], PAIRS[20:24], OLD_RUN)
    for name in ("tensorboard", "curves.png"):
        thing = OLD_RUN / name
        shutil.rmtree(thing) if thing.is_dir() else thing.unlink()


if __name__ == "__main__":
    record(HERE / sys.argv[1])
