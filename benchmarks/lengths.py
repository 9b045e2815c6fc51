"""Does a source that is squeezed into one vector suffer most where it is long?

    python -m benchmarks.lengths runs/families --data ../shared/data
    python -m benchmarks.lengths runs/families-tatoeba --data ../shared/data --pairs tatoeba

For the runs of `benchmarks.families` in a folder, seed 1 of each: BLEU by the words of the source, and what part of it
is left to `seq2seq-rnn-tiny`, which has only the one vector; last, that part in the longest fifth of the sentences over
that in the others: less than 1, and the long ones suffer more. Intervals hold 95 % of 1,000 resamplings of the
sentences (Koehn 2004, aclanthology.org/W04-3250), the same ones for all systems of a ratio. `lengths.png` is drawn
beside the runs.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sacrebleu.metrics.bleu import BLEU

from benchmarks.families import PLANS, data_files, tokenisation
from weft.data.reading import read_pairs

LENGTHS = (1, 6, 11, 16, 21, 10**9)  # words of the source
LONG = 0.2  # so many are the longest
FEWEST = 20  # sentences that a score is given of
RESAMPLED = 1000
BOTTLENECK = "seq2seq-rnn-tiny"
Interval = tuple[float, float, float]  # what was found, and the two ends of it


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


def table(found: dict[str, dict[str, Interval]], sizes: dict[str, int], digits: int) -> str:
    """A row for each plan, as Markdown."""
    head = ["", *(f"{name} ({n:,})" for name, n in sizes.items())]
    rows = [head, ["---"] * len(head)]
    for plan, scores in found.items():
        cells = (f"{s:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})" for s, low, high in scores.values())
        rows.append([f"`{plan}`", *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def draw(found: dict[str, dict[str, Interval]], sizes: dict[str, int], file: Path) -> None:
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for n, (plan, scores) in enumerate(found.items()):
        places = [i + (n - len(found) / 2) / 40 for i in range(len(scores))]  # side by side
        middle, low, high = (np.array(column) for column in zip(*scores.values()))
        spread = np.stack((middle - low, high - middle)).clip(0)
        axes.errorbar(places, middle, spread, marker="o", ms=4, lw=1.5, elinewidth=0.8, label=plan)
    axes.set_xticks(range(len(sizes)), [f"{name}\n{n:,} sentences" for name, n in sizes.items()])
    axes.set(xlabel="words of the source", ylabel="BLEU, with 95 % intervals", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, ncols=2)
    figure.savefig(file, dpi=130)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("runs", type=Path)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--pairs", choices=("multi30k", "tatoeba"), default="multi30k")
    given = options.parse_args()
    sources, references = zip(*read_pairs(data_files(given.data, "test", given.pairs), languages="en-de"))
    words = np.array([len(source.split()) for source in sources])
    members = groups(words)
    sizes = {name: len(some) for name, some in members.items()}
    files = {f"{plan}-tiny": given.runs / f"{plan}-tiny-1" / "test.txt" for plan in PLANS}
    systems = {
        plan: counts(file.read_text("utf-8").split("\n"), references, tokenisation(given.pairs))
        for plan, file in files.items()
        if file.exists()
    }
    scores = {
        plan: {name: resampled(partial(bleu, system), some) for name, some in members.items()}
        for plan, system in systems.items()
    }
    print(table(scores, sizes, 1))
    draw(scores, sizes, given.runs / "lengths.png")
    if (one := systems.pop(BOTTLENECK, None)) is not None:
        long = longest(words)
        left = {
            plan: {
                **{name: resampled(partial(part, one, other), some) for name, some in members.items()},
                "fall": resampled(partial(fall, one, other, long), np.arange(len(words))),
            }
            for plan, other in systems.items()
        }
        sizes["longest fifth over the others"] = int(long.sum())
        print(f"\n{BOTTLENECK}: its part of the BLEU of\n\n{table(left, sizes, 2)}")


if __name__ == "__main__":
    main()
