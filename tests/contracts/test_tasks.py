"""Every task: rows survive the disk, batches count what is predicted, and a toy training gives a usable model."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import weft
from tests.toys import PAIRS, SMALL, SMALL_ALONE
from weft.checking.checks import CHECKS, check
from weft.checking.model_under_test import Finding
from weft.commands import VERBS, run
from weft.data.corpus import Corpus
from weft.decoding import Greedy
from weft.errors import WeftError
from weft.evaluation.report import Report
from weft.exports.export import FORMATS
from weft.folder import Folder
from weft.measuring.scaling import counted, declared
from weft.measuring.workloads import step
from weft.models.base import IGNORED
from weft.parts.batching import Row
from weft.plans.part import Part
from weft.plans.plan import Plan
from weft.plans.presets import plan
from weft.plans.size import step_cost
from weft.tasks import TASKS, Predictor, Task, load, pool, task_of
from weft.tasks.task import Codecs
from weft.tasks.translation import Translation
from weft.training.run import Trained

LINES = [(f"{source} is {target}.",) for source, target in PAIRS]

# For each task, a plan of a very small model, and examples to train and to validate on.
TOYS: dict[str, tuple[Plan, list[Any], list[Any]]] = {
    "translation": (plan("transformer-tiny").with_settings(SMALL), PAIRS[:200], PAIRS[200:210]),
    "language-model": (
        plan("gpt-tiny").with_settings({**SMALL_ALONE, "batching.length": 16, "position.limit": 64}),
        LINES[:200],
        LINES[200:210],
    ),
}
TEXTS = {"translation": "red cat", "language-model": "red cat is"}  # to look at the attention with
EVERY_TASK = pytest.mark.parametrize("name", list(TASKS))
trained: dict[str, Trained] = {}


def toy(name: str) -> tuple[Task[Any], Plan, list[Any], list[Any]]:
    """The task itself, and its toy."""
    return TASKS.build(Part(name)), *TOYS[name]


def encoded(name: str) -> tuple[Task[Any], Codecs, list[Row]]:
    """The task, its codecs, and its validation examples as rows of ids."""
    task, recipe, train, valid = toy(name)
    codecs = task.learn(train, recipe)
    return task, codecs, [row for rows, _ in task.encode(valid, codecs, None) for row in rows]


@pytest.fixture
def model(name: str, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A toy training of this task, from examples to a folder; once for all tests."""
    if name not in trained:
        _, recipe, train, valid = toy(name)
        trained[name] = weft.train(recipe, train, valid, tmp_path_factory.mktemp(name) / "run")
    return trained[name]


def as_lists(rows: Iterable[Row]) -> list[tuple[list[int], ...]]:
    return [tuple(np.asarray(ids).tolist() for ids in row) for row in rows]


def test_every_task_has_a_toy() -> None:
    assert TOYS.keys() == set(TASKS)


@EVERY_TASK
def test_plans_of_a_task_name_it(name: str) -> None:
    task, recipe, _, _ = toy(name)
    assert recipe.task.name == name
    assert type(task_of(recipe)) is type(task)
    assert TASKS.about(name), "a line for weft show"


@EVERY_TASK
def test_a_row_survives_the_corpus(name: str, tmp_path: Path) -> None:
    task, codecs, rows = encoded(name)
    assert set(codecs) == set(task.codecs)
    vocabulary = len(codecs[task.codecs[0]])
    Corpus.write(tmp_path, task.columns, [(rows, {})], vocabulary)
    stored = Corpus(tmp_path)
    assert stored.columns == task.columns
    assert len(stored) == len(rows) == len(toy(name)[3])
    assert as_lists(stored) == as_lists(rows)
    assert all(len(row) == len(task.columns) for row in rows)


@EVERY_TASK
def test_longer_examples_are_left_out_and_counted_or_cut(name: str) -> None:
    """Where none is left out, every token that is predicted in the whole rows is predicted in the cut ones."""
    task, codecs, rows = encoded(name)
    longest = sorted(max(map(len, row)) for row in rows)[len(rows) // 2] - 1
    chunks = list(task.encode(toy(name)[3], codecs, longest))
    kept = [row for some, _ in chunks for row in some]
    skipped = sum(sum(reasons.values()) for _, reasons in chunks)
    if skipped:
        assert as_lists(kept) == [row for row in as_lists(rows) if max(map(len, row)) <= longest]
        assert skipped == len(rows) - len(kept)
    else:
        assert max(len(ids) for row in kept for ids in row) == longest + 1, "the last one is only predicted"
        random = np.random.default_rng(1)
        assert task.collate(kept, codecs, random).count >= task.collate(rows, codecs, random).count


@EVERY_TASK
def test_made_up_rows_are_rows(name: str) -> None:
    task, codecs, _ = encoded(name)
    random = np.random.default_rng(1)
    for length in (1, 2, 7):
        row = task.made_up(length, codecs, random)
        assert [len(ids) for ids in row] == [length] * len(task.columns)
        task.collate([row], codecs, random)


@EVERY_TASK
def test_count_is_the_number_of_targets(name: str) -> None:
    """However many rows are padded together: a batch has the targets that its rows have one by one."""
    task, codecs, rows = encoded(name)

    def batch(some: list[Row]) -> Any:
        return task.collate(some, codecs, np.random.default_rng(1))

    whole = batch(rows)
    assert whole.count == sum(target != IGNORED for row in whole.targets.tolist() for target in row) > 0
    assert len(whole.targets) == len(rows)
    assert all(len(value) == len(rows) for value in whole.inputs.values())
    assert sum(whole.share(rank, 3).count for rank in range(3)) == whole.count
    assert whole.count == sum(batch([row]).count for row in rows)


@EVERY_TASK
def test_count_is_what_the_loss_sums_over(name: str) -> None:
    task, codecs, rows = encoded(name)
    batch = task.collate(rows, codecs, np.random.default_rng(1))
    vocabulary = len(codecs[task.codecs[0]])
    assert int(TOYS[name][0].build(vocabulary)(batch).count) == batch.count


@EVERY_TASK
def test_best_by_is_one_of_the_metrics(name: str) -> None:
    task = toy(name)[0]
    names = [metric.name for metric in task.metrics]
    assert len(set(names)) == len(names)
    assert task.best_by in names
    assert task.metric("auto").name == task.best_by
    assert [task.metric(each).name for each in names] == names
    with pytest.raises(WeftError, match=rf"training\.best_by: there is no score '{names[0]}x'\..*'{names[0]}'"):
        task.metric(f"{names[0]}x")


@EVERY_TASK
def test_a_toy_training_leaves_a_folder(name: str, model: Trained) -> None:
    task = toy(name)[0]
    assert [metric.name for metric in model.metrics] == list(model.scores) == [metric.name for metric in task.metrics]
    assert all(np.isfinite(value) for value in model.scores.values())
    folder = Folder.find(model.folder.path)
    assert folder.plan().task.name == name
    assert folder.average.is_file()
    assert folder.steps()
    assert all((folder.path / f"{codec}.json").is_file() for codec in task.codecs)
    assert all(len(Corpus(folder.path / "tokens" / part)) for part in ("train", "valid"))
    assert task.noted(folder), "a line for weft show"


@EVERY_TASK
def test_load_gives_a_predictor_whose_verb_is_a_command(name: str, model: Trained) -> None:
    predictor = weft.load(str(model.folder.path))
    assert isinstance(predictor, Predictor)
    assert predictor.verb in VERBS
    assert hasattr(predictor, predictor.verb), "what the command does can be done from Python"
    assert toy(name)[0].verb == predictor.verb
    assert type(load(model.folder.path, verb=predictor.verb)) is type(predictor)


@EVERY_TASK
def test_checks_pass(name: str, model: Trained) -> None:
    checks = {name: each for name, each in CHECKS.items() if not name.startswith("export")}
    found = dict(check(model.folder, checks=checks))
    assert found.keys() == checks.keys()
    assert not [name for name, one in found.items() if not isinstance(one, str) and not one.passed]


@EVERY_TASK
def test_an_export_works_or_says_what_it_cannot_express(name: str, model: Trained) -> None:
    for to in FORMATS:
        [(_, found)] = check(model.folder, checks={to: CHECKS[f"export to {to} = original"]})
        assert found.passed if isinstance(found, Finding) else re.search("cannot be exported|needs", found)


@EVERY_TASK
def test_cost_is_counted(name: str) -> None:
    recipe = TOYS[name][0]
    count, [said] = counted(recipe), declared(recipe, [8])
    assert count["layer"]["t·k²"] > 0
    assert count["step"]["t"] > 0
    assert said.path_length == said.sequential_steps == 1
    step(recipe, 4)()
    assert step_cost(recipe).operations > 0


@EVERY_TASK
def test_attention_is_shown(name: str, model: Trained, tmp_path: Path) -> None:
    seen = load(model.folder.path).attention(TEXTS[name])
    kind = seen.kind()
    assert kind == seen.kinds[-1]
    queries, keys = seen.axes[kind]
    assert seen.of().shape == (len(queries), len(keys))
    assert len(seen.target) == len(seen.log_probs)
    seen.save_html(tmp_path / "a.html")
    assert f'"kind": "{kind}"' in (tmp_path / "a.html").read_text(encoding="utf-8")
    seen.save_map(tmp_path / "a.png")
    seen.save_lines(tmp_path / "lines.svg")
    seen.save_grid(tmp_path / "grid.png")


@EVERY_TASK
def test_an_unknown_task_is_refused_with_the_nearest_name(name: str, tmp_path: Path) -> None:
    _, recipe, train, valid = toy(name)
    wrong = recipe.with_settings({"task": f"{name}s"})
    with pytest.raises(WeftError, match=f"there is no task '{name}s'. Did you mean '{name}'?") as caught:
        weft.train(wrong, train, valid, tmp_path / "run")
    assert "\n" not in str(caught.value), "one sentence"
    assert not (tmp_path / "run").exists()


class Shouting(Predictor):
    """A model for another command than the one it is asked for."""

    verb = "shout"
    views: ClassVar = {}

    def score_files(self, **options: Any) -> Report:
        raise NotImplementedError


class Shouts(Translation):
    """A text becomes a louder one"""

    def predictor(self, folders: Any, device: str) -> Any:
        return Shouting(folders, device)


@pytest.fixture
def shouting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model of a task that is registered for this test alone."""
    monkeypatch.setitem(TASKS.makers, "shouts", Shouts)
    monkeypatch.setattr(Shouts, "finish", lambda self, folder: None)
    _, recipe, train, valid = toy("translation")
    return weft.train(recipe.with_settings({"task": "shouts"}), train, valid, tmp_path / "run").folder.path


def test_a_registered_task_is_trained_and_loaded(shouting: Path) -> None:
    assert isinstance(weft.load(str(shouting)), Shouting)


def test_a_verb_for_another_task_is_refused_with_the_right_verb(shouting: Path) -> None:
    with pytest.raises(WeftError, match=f"^{re.escape(str(shouting))} has task=shouts; use weft shout {shouting}.$"):
        load(str(shouting), verb="translate")
    assert isinstance(load(str(shouting), verb="shout"), Shouting)


def test_a_command_for_another_task_is_refused_with_the_right_verb(
    shouting: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (shouting.parent / "said.txt").write_text("red cat\n")
    with pytest.raises(SystemExit, match="2"):
        run(["translate", str(shouting), str(shouting.parent / "said.txt")])
    assert capsys.readouterr().err == f"weft: {shouting} has task=shouts; use weft shout {shouting}.\n"


def test_a_process_of_a_pool_refuses_another_task_with_the_right_verb(shouting: Path) -> None:
    """Called here, as `weft translate --workers 2` calls it in a process of its own."""
    with pytest.raises(WeftError, match="has task=shouts; use weft shout "):
        pool._found(str(shouting), "cpu", ["red cat"], Greedy(), False, "split", 1)


def test_models_of_two_tasks_are_not_an_ensemble(shouting: Path) -> None:
    with pytest.raises(WeftError, match=r"en-de has task=translation, .* task=shouts: an ensemble needs a single task"):
        load(f"{shouting},en-de")


def test_a_model_of_a_task_that_is_gone_is_refused(shouting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TASKS.makers, "shouts")
    with pytest.raises(WeftError, match="there is no task 'shouts'"):
        load(str(shouting))
