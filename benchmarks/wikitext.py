"""Word models of WikiText-2: what a Transformer and an LSTM reach in the same minutes, next to counting.

    OMP_NUM_THREADS=1 python -m benchmarks.wikitext --out runs/wikitext --minutes 40

The standard tokens, the end of a line among them. Both models have the same width and head, so that a step costs about
the same: nearly all of it is the softmax over 33,278 words. Finished runs in OUT are not trained again.
"""

import sys
from pathlib import Path
from typing import Any

from benchmarks.ngrams import kneser_ney
from benchmarks.record import arguments, record
from benchmarks.shakespeare import described, steps_each, train
from benchmarks.tables import wikitext as table
from weft.data.codecs.symbols import Words
from weft.data.documents import read_documents
from weft.evaluation.perplexity import perplexity
from weft.tasks import load

COMMON = ["codec=words", "vocabulary=33281", "width=256", "batch_tokens=4096", "batching.length=128", "ema=0.998"]
RECIPES = {
    "gpt-modern-tiny": ["mixer.heads=8", "dropout=0.2", "rate=0.006"],
    "lstm-lm": ["dropout=0.3", "rate=0.004"],
}
ORDERS = (2, 3)
STRIDE = 16  # tokens that are new to each window


def counted(folder: Path) -> dict[int, float]:
    learned, test = (
        Words.split("".join(passage.text for passage in read_documents([folder / f"wiki.{part}.tokens.xz"])))
        for part in ("train", "test")
    )
    words = len(set(learned))
    return {order: round(perplexity(kneser_ney(learned, test, order, words)), 1) for order in ORDERS}


def main() -> None:
    options = arguments(__doc__)
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--minutes", type=float, default=60, help="for each model")
    options.add_argument("--plans", default=",".join(RECIPES))
    given = options.parse_args()
    folder = given.data / "wikitext-2"
    text, valid, test = (folder / f"wiki.{part}.tokens.xz" for part in ("train", "valid", "test"))
    runs: list[dict[str, Any]] = []
    plans = {plan: (plan, [*COMMON, *RECIPES[plan]]) for plan in given.plans.split(",")}
    budget = steps_each(given.minutes, plans, text, [valid])
    for plan, (_, settings) in plans.items():
        out = given.out / plan
        more = ["seed=1", f"steps={budget[plan]}", f"validate_every={budget[plan] // 5}"]
        train([*settings, *more], text, out, plan, [valid])
        model = load(str(out))
        scores = {}
        for stride in (None, STRIDE):
            report = model.evaluate([("".join(p.text for p in read_documents([test])),)], stride)
            scores[str(stride or model.block)] = round(report.scores[1].value, 1)
        runs.append({**described(plan, 1, out), "test": scores})
        print(runs[-1], file=sys.stderr)
    numbers = {"minutes": given.minutes, "counted": counted(folder), "runs": runs}
    record(given, "wikitext", numbers, table(numbers))


if __name__ == "__main__":
    main()
