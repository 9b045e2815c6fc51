"""Character models of tiny-shakespeare: what a budget of minutes reaches, next to counting.

    python -m benchmarks.shakespeare --out runs/shakespeare --recipes "ten minutes" --seeds 1,2,3
    python -m benchmarks.shakespeare --out runs/shakespeare --recipes shipped --ship runs/shipped
    python -m benchmarks.shakespeare --out runs/choices --choices 5

`--choices` trains gpt-modern-tiny with one choice changed at a time, for as many steps as take so many minutes.
The first 90 % of the characters are for training and the last 10 % for validation, as in nanoGPT. The loss is in nats
per character, over blocks of the context length. Finished runs in OUT are not trained again, and others are resumed.
The result file keeps what it has of other recipes.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

import weft
from benchmarks.measure import interleaved
from benchmarks.ngrams import witten_bell
from benchmarks.record import arguments, read, record
from benchmarks.shipped_model import ship
from benchmarks.tables import choices as choices_table
from benchmarks.tables import shakespeare as table
from weft.data.documents import held_out, read_documents
from weft.folder import Folder
from weft.tasks import load
from weft.training.precision import chosen_precision, supported
from weft.training.run import begin, trainer

PLAN = "gpt-modern-tiny"
RECIPES: dict[str, list[str]] = {  # settings; ten minutes of one core of an AMD EPYC (Zen 5)
    "ten minutes": ["dropout=0.05", "ema=0.995", "steps=2200"],
    "shipped": ["width=160", "layers=6", "mixer.heads=5", "dropout=0.1", "steps=5000", "rate=0.008", "ema=0.998"],
}
CHOICES: dict[str, list[str]] = {
    PLAN: [],
    "learned positions instead of rotary": ["mixer.position=none", "position={name: learned, limit: 256}"],
    "ReLU instead of ReLU²": ["feed_forward.activation=relu"],
    "SwiGLU instead of ReLU²": ["feed_forward={name: swiglu, bias: false}"],
    "no QK-norm": ["mixer.qk_norm=none"],
    "AdamW instead of Muon": ["optimiser=adamw", "rate=0.003"],
    "dropout of 0.1": ["dropout=0.1"],
    "a running mean of the weights": ["ema=0.995"],
    "shared keys and values (2 of 4)": ["mixer.kv_heads=2"],
}
TURN, ROUNDS = 4, 9  # steps of a recipe at a time, and how often it has its turn


def text_of(data: Path) -> Path:
    return data / "tinyshakespeare" / "input.txt.xz"


def train(settings: list[str], text: Path, out: Path, plan: str = PLAN, valid: Sequence[Path] = ()) -> None:
    """Train with `weft train`, unless that is done."""
    if (out / "model.safetensors").exists():
        return
    files = ["--train", str(text), *(word for file in valid for word in ("--valid", str(file)))]
    begin = ["--resume"] if (out / "plan.yaml").exists() else [plan, *files, "--set", *settings]
    subprocess.run([sys.executable, "-m", "weft", "train", *begin, "--out", str(out)], check=True)


def reported(out: Path) -> list[dict[str, Any]]:
    """The reported steps, each with the seconds from the beginning of the training."""
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if "seconds" in row]


def described(name: str, seed: int, out: Path) -> dict[str, Any]:
    """What became of a finished run."""
    folder = Folder.find(out)
    losses = [
        row["valid"]["loss"]
        for row in map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
        if "valid" in row
    ]
    return {
        "name": name,
        "seed": seed,
        "parameters": sum(p.numel() for p in folder.model().parameters()),
        "steps": folder.plan().training.steps,
        "minutes": round(reported(out)[-1]["seconds"] / 60, 1),
        "loss": round(losses[-1], 4),
    }


def steps_each(
    minutes: float, recipes: Mapping[str, tuple[str, list[str]]], text: Path, valid: Sequence[Path] = ()
) -> dict[str, int]:
    """How many steps of each recipe take this long on this machine: they take turns, so that other work is shared."""
    documents = list(read_documents([text]))
    learned, kept = (documents, list(read_documents(valid))) if valid else held_out(documents)

    def turns(plan: str, settings: list[str], out: Path) -> Callable[[], None]:
        job = trainer(begin(weft.plan(plan).with_settings(settings), learned, kept, out))
        job.precision = chosen_precision(job, job.folder, print)
        batches = cycle(job.batches.epoch(0))

        def turn() -> None:
            for _ in range(TURN):
                job.gradient([next(batches)])
                job.optimiser.step()

        return turn

    with TemporaryDirectory() as room:
        systems = {name: turns(*recipe, Path(room, str(i))) for i, (name, recipe) in enumerate(recipes.items())}
        times = interleaved(systems, ROUNDS)
    return {name: int(60 * minutes * TURN / timing.median) for name, timing in times.items()}


def counted(text: Path, orders: tuple[int, ...] = (3, 5, 7)) -> dict[int, float]:
    learned, valid = ("".join(p.text for p in part) for part in held_out(read_documents([text])))
    return {order: round(witten_bell(learned, valid, order, len(set(learned))), 4) for order in orders}


def main() -> None:
    options = arguments(__doc__)
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--recipes", default=",".join(RECIPES), help="names of recipes")
    options.add_argument("--seeds", default="1", help="random seeds, such as 1,2,3")
    options.add_argument("--choices", type=float, metavar="MINUTES", help="train with one choice changed at a time")
    options.add_argument("--ship", type=Path, help="write the first model of the last recipe here, as float16")
    given = options.parse_args()
    text, seeds = text_of(given.data), tuple(map(int, given.seeds.split(",")))
    runs = []
    if given.choices:
        precision = "bfloat16" if supported("bfloat16", torch.device("cpu")) else "float32"  # the same for all
        choices = {name: [*settings, f"precision={precision}"] for name, settings in CHOICES.items()}
        budget = steps_each(given.choices, {name: (PLAN, settings) for name, settings in choices.items()}, text)
        for name, settings in choices.items():
            steps = budget[name]
            for seed in seeds:
                out = given.out / f"{name.replace(' ', '-')}-{seed}"
                train([*settings, f"seed={seed}", f"steps={steps}", f"validate_every={steps}"], text, out)
                runs.append(described(name, seed, out))
                print(runs[-1], file=sys.stderr)
        numbers: dict[str, Any] = {"minutes": given.choices, "runs": runs}
        record(given, "shakespeare-choices", numbers, choices_table(numbers), seeds)
        return
    names = given.recipes.split(",")
    for name in names:
        for seed in seeds:
            out = given.out / f"{name.replace(' ', '-')}-{seed}"
            train([*RECIPES[name], f"seed={seed}"], text, out)
            runs.append(described(name, seed, out))
            print(runs[-1], file=sys.stderr)
    runs += [run for run in read("shakespeare")["runs"] if run["name"] not in names]
    numbers = {"counted": counted(text), "runs": runs}
    record(given, "shakespeare", numbers, table(numbers), seeds)
    if given.ship:
        shipped = ship(Folder.find(given.out / f"{names[-1].replace(' ', '-')}-{seeds[0]}"), given.ship)
        found = load(str(shipped.path)).evaluate([("".join(p.text for p in held_out(read_documents([text]))[1]),)])
        print({score.metric.name: round(score.value, 4) for score in found.scores})


if __name__ == "__main__":
    main()
