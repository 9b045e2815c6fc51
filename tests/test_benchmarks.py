"""Benchmarks take long and are not run here; but each of them begins, with the parts of weft that it names."""

from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from benchmarks import families, lengths
from weft.evaluation import scores

BENCHMARKS = sorted(file.stem for file in (Path(__file__).parents[1] / "benchmarks").glob("[a-z]*.py"))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_it_can_be_imported(name: str) -> None:
    import_module(f"benchmarks.{name}")


def test_the_pace_of_training_leaves_the_first_steps_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"step": n, "seconds": s, "tokens": 900} for n, s in ((1, 9.0), (10, 10.0), (40, 25.0))]
    monkeypatch.setattr(families, "train", lambda *_, **__: rows)
    assert families.pace("bahdanau-tiny", Path(), "multi30k") == (2.0, 1800.0)  # half a second each


def test_bleu_from_counts_is_sacrebleus() -> None:
    found = ["the cat sat on the mat", "a dog ran over there now", "no"]
    wanted = ["the cat sat on a mat", "a dog ran over there", "yes"]
    assert lengths.bleu(lengths.counts(found, wanted, "none"), np.arange(3)) == pytest.approx(
        scores.bleu(found, wanted, tokenize="none").score
    )


def test_a_system_beside_itself_and_beside_a_worse_one() -> None:
    wanted = [f"one two three four five {n}" for n in "abcdefgh"]
    right, worse = lengths.counts(wanted, wanted, "none"), lengths.counts([w[4:] for w in wanted], wanted, "none")
    everyone = np.arange(8)
    assert lengths.resampled(partial(lengths.bleu, right), everyone) == (pytest.approx(100.0),) * 3
    assert lengths.resampled(partial(lengths.part, worse, worse), everyone) == (1.0, 1.0, 1.0)
    ratio, low, high = lengths.resampled(partial(lengths.part, worse, right), everyone)
    assert low <= ratio <= high < 1.0


def test_a_system_that_is_worse_where_sentences_are_long() -> None:
    wanted, words = [f"one two three four five {n}" for n in "abcdefghij"], np.array([5] * 8 + [9] * 2)
    right = lengths.counts(wanted, wanted, "none")
    falling = lengths.counts(wanted[:8] + [w[4:] for w in wanted[8:]], wanted, "none")
    everyone = np.arange(10)
    long = lengths.longest(words)
    assert lengths.fall(right, right, long, everyone) == 1.0
    assert lengths.fall(falling, right, long, everyone) == pytest.approx(lengths.bleu(falling, everyone[8:]) / 100)


def test_the_longest_fifth_is_a_fifth() -> None:
    assert np.flatnonzero(lengths.longest(np.array([3, 7, 7, 7, 7, 9, 1, 1, 1, 1]))).tolist() == [1, 5]


def test_sentences_by_their_words() -> None:
    words = np.array([2] * 20 + [6] * 19 + [21] * 25)  # 19 are too few
    found = {name: some.tolist() for name, some in lengths.groups(words).items()}
    assert found == {"1 to 5": list(range(20)), "21 and more": list(range(39, 64))}


def test_the_table_has_a_row_for_each_plan_with_its_seeds() -> None:
    row = {"plan": "a", "parameters": 2_620_000, "steps": 4877, "minutes": 19.6, "greedy": 30.0, "bleu": 31.0}
    found = families.table([row, {**row, "minutes": 24.2, "bleu": 33.0}, {**row, "plan": "b", "bleu": 35.0}])
    assert found.splitlines()[2:] == [
        "| `b` | 2.62M | 4,877 | 1 | 20 | 30.0 | **35.0** |",
        "| `a` | 2.62M | 4,877 | 2 | 20 to 24 | 30.0 ± 0.0 | **32.0 ± 1.4** |",
    ]
