"""Benchmarks take long and are not run here; but each can be imported, and the docs agree with their result files."""

import json
from datetime import date
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from benchmarks import families, lengths, record, tables
from weft.evaluation import scores
from weft.machine import facts

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
        scores.bleu(found, wanted, tokenize="none").value
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


def test_families_summary_has_the_mean_and_deviation_of_each_plan() -> None:
    row = {"plan": "a", "seed": 1, "parameters": 2_620_000, "steps": 4877, "greedy": 30.0, "bleu": 31.0}
    found = families.summary([row, {**row, "seed": 2, "bleu": 33.0}, {**row, "plan": "b", "bleu": 35.0}])
    assert found["plans"][0]["seeds"] == [1, 2]
    assert tables.families(found).splitlines()[2:] == [
        "| `b` | 2.62M | 4,877 | 1 | 30.0 | **35.0** |",
        "| `a` | 2.62M | 4,877 | 2 | 30.0 ± 0.0 | **32.0 ± 1.4** |",
    ]


def test_lengths_compares_every_system_with_the_baseline() -> None:
    wanted, words = [f"one two three four five {n}" for n in range(25)], np.array([6] * 25)
    right, worse = (lengths.counts(texts, wanted, "none") for texts in (wanted, [w[4:] for w in wanted]))
    found = lengths.measure({lengths.BASELINE: worse, "a": right}, words)
    assert found["groups"] == {"6 to 10": 25}
    assert found["longest"] == 5
    assert list(found["parts"]) == ["a"]
    assert len(tables.parts(found).splitlines()) == 3
    assert lengths.measure({"a": right}, words)["parts"] == {}


@pytest.mark.parametrize("page", sorted(tables.DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_tables_in_the_docs_are_those_of_the_result_files(page: Path) -> None:
    """`make tables` writes them."""
    text = page.read_text(encoding="utf-8")
    assert tables.filled(text) == text
    assert text.count("<!-- table: ") == text.count("<!-- end -->") == len(tables.MARKED.findall(text))


def test_every_table_is_in_the_docs_once() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in tables.DOCS.rglob("*.md"))
    assert sorted(tables.MARKED.findall(pages)) == sorted(tables.TABLES)


def test_a_changed_number_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (tables.DOCS / "scale.md").read_text(encoding="utf-8")
    numbers = record.read("growth")
    numbers["sizes"][0]["gigaoperations"] += 1
    monkeypatch.setattr(tables, "read", lambda name: numbers)
    assert tables.filled(page) != page


@pytest.mark.parametrize("file", sorted(record.RESULTS.glob("*.json")), ids=lambda file: file.stem)
def test_result_files_name_command_date_machine_and_seeds(file: Path) -> None:
    found = json.loads(file.read_text(encoding="utf-8"))
    assert {"command", "date", "machine", "versions", "seeds", "numbers"} <= set(found)
    assert date.fromisoformat(found["date"])
    assert found["machine"]["processor"]
    assert found["machine"]["torch"]


def test_a_run_is_written_with_its_facts_and_a_quick_one_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(record, "RESULTS", tmp_path / "full")
    parser = record.arguments("a benchmark", quick="less")
    for words in ([], ["--quick"], ["--quick", "--results", str(tmp_path / "quick")]):
        record.record(parser.parse_args(words), "it", {"seconds": 1.5}, "| a table |", seeds=(1, 2))
    assert capsys.readouterr().out == "| a table |\n" * 3
    for folder in ("full", "quick"):
        found = json.loads((tmp_path / folder / "it.json").read_text(encoding="utf-8"))
        assert (found["numbers"], found["seeds"]) == ({"seconds": 1.5}, [1, 2])
        assert found["machine"] == facts()
        assert "transcribed" not in found
    assert len(list(tmp_path.rglob("*.json"))) == 2
