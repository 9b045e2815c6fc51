"""Does a model that squeezes the source into one vector lose most on long sentences?

    python -m benchmarks.lengths runs/families --data ../shared/data
    python -m benchmarks.lengths runs/families-tatoeba --data ../shared/data --pairs tatoeba

For the runs of `benchmarks.families` in a folder, seed 1 of each: BLEU by the number of words in the source, and the
part of it that `seq2seq-rnn-tiny` reaches, which has only the one vector; last, that part in the longest fifth of the
sentences divided by that in the others: below 1, long sentences suffer more. Intervals hold 95 % of 1,000 resamplings
of the sentences (Koehn 2004, aclanthology.org/W04-3250), the same ones for both systems of a ratio. `lengths.png` is
drawn in the folder of the runs.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sacrebleu.metrics.bleu import BLEU

from benchmarks.families import PLANS, data_files, tokenisation
from benchmarks.record import arguments, record
from benchmarks.tables import FALL
from benchmarks.tables import lengths as score_table
from benchmarks.tables import parts as part_table
from weft.data.reading import read_pairs
from weft.measuring.picture import MARKS
from weft.viewing.palette import colours
from weft.viewing.pictures import save

LENGTHS = (1, 6, 11, 16, 21, 10**9)  # words of the source
LONG = 0.2  # the fraction of sentences that counts as long
FEWEST = 20  # sentences that a group needs for a score
RESAMPLED = 1000
BASELINE = "seq2seq-rnn-tiny"
Interval = tuple[float, float, float]  # the value and both ends of its interval


def counts(translations: Sequence[str], references: Sequence[str], tokenize: str) -> np.ndarray:
    """What BLEU adds up of each sentence: (sentences, 10), n-grams found and possible, n = 1 … 4, and two lengths."""
    metric = BLEU(tokenize=tokenize, effective_order=True, force=True)
    scores = [metric.sentence_score(t, [r]) for t, r in zip(translations, references, strict=True)]
    return np.array([[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores])


def bleu(system: np.ndarray, some: np.ndarray) -> float:
    """Of a system, in some sentences."""
    sums = system[some].sum(0).tolist()
    return float(BLEU.compute_bleu(sums[:4], sums[4:8], sums[8], sums[9]).score)


def resampled(found: Callable[[np.ndarray], float], sentences: np.ndarray) -> Interval:
    """What is found in these sentences, and where it lies in samples of them."""
    rng = np.random.default_rng(1)
    low, high = np.percentile([found(rng.choice(sentences, len(sentences))) for _ in range(RESAMPLED)], [2.5, 97.5])
    return found(sentences), float(low), float(high)


def part(one: np.ndarray, other: np.ndarray, some: np.ndarray) -> float:
    """Of the BLEU of another system, in some sentences."""
    return bleu(one, some) / max(bleu(other, some), 1e-9)


def longest(words: np.ndarray) -> np.ndarray:
    """Which sentences are the longest fifth; of equally long ones, those that come first."""
    found = np.zeros(len(words), dtype=bool)
    found[np.argsort(-words, kind="stable")[: round(LONG * len(words))]] = True
    return found


def fall(one: np.ndarray, other: np.ndarray, long: np.ndarray, some: np.ndarray) -> float:
    """The part in long sentences over that in the others."""
    is_long = long[some]
    return part(one, other, some[is_long]) / part(one, other, some[~is_long])


def groups(words: np.ndarray) -> dict[str, np.ndarray]:
    """The sentences by their words: those groups that have a few."""
    found = {}
    for least, beyond in pairwise(LENGTHS):
        members = np.flatnonzero((words >= least) & (words < beyond))
        if len(members) >= FEWEST:
            found[f"{least} to {beyond - 1}" if beyond < LENGTHS[-1] else f"{least} and more"] = members
    return found


def draw(found: dict[str, dict[str, Interval]], sizes: dict[str, int], file: Path) -> None:
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for n, ((plan, scores), colour) in enumerate(zip(found.items(), colours([*found]))):
        places = [i + (n - len(found) / 2) / 40 for i in range(len(scores))]  # side by side
        middle, low, high = (np.array(column) for column in zip(*scores.values()))
        spread = np.stack((middle - low, high - middle)).clip(0)
        axes.errorbar(
            places,
            middle,
            spread,
            marker=MARKS[n % len(MARKS)],
            ms=4.5,
            lw=1.5,
            elinewidth=0.8,
            color=colour,
            label=plan,
        )
    axes.set_xticks(range(len(sizes)), [f"{name}\n{n:,} sentences" for name, n in sizes.items()])
    axes.set(xlabel="words of the source", ylabel="BLEU, with 95 % intervals", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, ncols=2)
    save(figure, file)


def main() -> None:
    options = arguments(__doc__)
    options.add_argument("runs", type=Path)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--pairs", choices=("multi30k", "tatoeba"), default="multi30k")
    given = options.parse_args()
    sources, references = zip(*read_pairs(data_files(given.data, "test", given.pairs), languages="en-de"))
    files = {f"{plan}-tiny": given.runs / f"{plan}-tiny-1" / "test.txt" for plan in PLANS}
    systems = {
        plan: counts(file.read_text("utf-8").split("\n"), references, tokenisation(given.pairs))
        for plan, file in files.items()
        if file.exists()
    }
    found = measure(systems, np.array([len(source.split()) for source in sources]))
    draw(found["bleu"], found["groups"], given.runs / "lengths.png")
    tables = [score_table(found), *([part_table(found)] if found["parts"] else [])]
    record(given, f"lengths-{given.pairs}", found, "\n\n".join(tables))


def measure(systems: dict[str, np.ndarray], words: np.ndarray) -> dict[str, Any]:
    """BLEU by length, and the part of it that the baseline reaches, where the baseline is among the systems."""
    members, long = groups(words), longest(words)
    one = systems.get(BASELINE)
    others = {} if one is None else {plan: other for plan, other in systems.items() if plan != BASELINE}
    return {
        "baseline": BASELINE,
        "groups": {name: len(some) for name, some in members.items()},
        "longest": int(long.sum()),
        "bleu": {
            plan: {name: resampled(partial(bleu, system), some) for name, some in members.items()}
            for plan, system in systems.items()
        },
        "parts": {
            plan: {
                **{name: resampled(partial(part, one, other), some) for name, some in members.items()},
                FALL: resampled(partial(fall, one, other, long), np.arange(len(words))),
            }
            for plan, other in others.items()
        },
    }


if __name__ == "__main__":
    main()
