"""Every plan passes every check, and every check can fail: a fault is planted for each, and seen."""

import json
import math
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.commands.test_commands import weft as command
from tests.contracts.tiny import stirred, tiny_plan
from tests.toys import PAIRS
from weft.checking import check as checking
from weft.checking.checks import CHECKS, check
from weft.checking.model_under_test import Finding, ModelUnderTest
from weft.checking.weights import other_bits
from weft.data.languages import Languages
from weft.data.tokeniser import Tokeniser
from weft.decoding import Sample
from weft.errors import Interrupted
from weft.exports.agreement import Agreement, worst
from weft.folder import Folder, parameters, save_weights
from weft.models.sequence_to_sequence import SequenceToSequence
from weft.parts.call import Call, Memory, State
from weft.plans import names, plan
from weft.plans.plan import Plan
from weft.training import checkpoint
from weft.viewing.attention_maps import Recorder

SMALL = {"width": 32, "layers": 2, "feed_forward.hidden": 24, "vocabulary": 280, "dropout": 0.2}
TOKENISER = Tokeniser.train([text for pair in PAIRS[:50] for text in pair], 280)
INSIDE = {name: measure for name, measure in CHECKS.items() if not name.startswith("export")}


def model_folder(path: Path, chosen: Plan, languages: Languages | None = None) -> Folder:
    """A model that was never trained."""
    folder = Folder(path)
    folder.describe(chosen, TOKENISER, languages)
    torch.manual_seed(1)
    save_weights(dict(parameters(stirred(chosen.build(vocabulary=280)))), folder.average)
    return folder


def failed(folder: Folder, name: str) -> bool:
    ((_, found),) = check(folder, checks={name: CHECKS[name]})
    assert isinstance(found, Finding)
    return not found.passed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return model_folder(
        tmp_path_factory.mktemp("checked") / "model", plan("transformer-tiny").with_settings(SMALL), ("en", "de")
    )


@pytest.mark.parametrize("name", names())
def test_every_plan_passes(tmp_path: Path, name: str) -> None:
    small = tiny_plan("preset", name).with_settings({"width": 32, "dropout": 0.2})
    not_done = set() if name.startswith(("transformer", "dates")) else {"fast = clear attention"}
    for what, found in check(model_folder(tmp_path, small), checks=INSIDE):
        assert isinstance(found, str) == (what in not_done), found
        assert isinstance(found, str) or found.passed, f"{what}: {found}"


def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is a little off."""
    append = State.append
    monkeypatch.setattr(State, "append", lambda *given: append(*given) * 1.01)


def sees_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    def encode(model: SequenceToSequence, source: Tensor, watch: Any = None) -> Memory:
        call = Call(keep=torch.ones_like(source, dtype=torch.bool), watch=watch, place="encoder")
        return model.encoder(model.source(source), call)

    monkeypatch.setattr(SequenceToSequence, "encode", encode)


def another_beam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.checking.decoding.Beam", lambda width: Sample(temperature=9.0))


def meddling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recorder, "change", lambda self, place, name, value: value * 1.01)


def another_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr("torch.nn.functional.scaled_dot_product_attention", lambda q, k, *rest: fast(q, k * 1.1, *rest))


def rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "weft.checking.weights.save_weights",
        lambda weights, file: save_weights({name: value.detach() + 1e-9 for name, value in weights.items()}, file),
    )


def normalises(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = Tokeniser.encode
    monkeypatch.setattr(Tokeniser, "encode", lambda self, text: encode(self, unicodedata.normalize("NFC", text)))


def forgets_its_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "restore_random_state", lambda states: None)


def forgets_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    load = checkpoint.load
    monkeypatch.setattr(checkpoint, "load", lambda *given: replace(load(*given), batch=0))


def forgets_its_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = checkpoint.moments
    monkeypatch.setattr(checkpoint, "moments", lambda *given: {k: v * 0 for k, v in moments(*given).items()})


def drifts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.exports.export.agreement", lambda *given: Agreement(10, 0.5, ()))


FAULTS: list[tuple[str, Callable[[pytest.MonkeyPatch], None]]] = [
    ("cached = uncached decoding", forgetful),
    ("batched = single", sees_padding),
    ("padded = unpadded", sees_padding),
    ("beam 1 = greedy", another_beam),
    ("watched = unwatched", meddling),
    ("fast = clear attention", another_kernel),
    ("saved and loaded = original", rounds),
    ("text = its round trip", normalises),
    ("resumed = uninterrupted", forgets_its_draws),
    ("resumed = uninterrupted", forgets_its_place),
    ("resumed = uninterrupted", forgets_its_moments),
    ("export to ctranslate2 = original", drifts),
]


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_a_fault_is_seen(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, name: str, fault: Callable[[pytest.MonkeyPatch], None]
) -> None:
    fault(monkeypatch)
    assert failed(folder, name)


def test_there_is_a_fault_for_every_check() -> None:
    assert {name for name, _ in FAULTS} == set(CHECKS)


def filled_with(path: Path, value: float) -> Folder:
    """A model whose weights are all the same."""
    folder = model_folder(path, plan("transformer-tiny").with_settings(SMALL))
    save_weights(
        {name: torch.full_like(old, value) for name, old in parameters(folder.model()).items()}, folder.average
    )
    return folder


def test_a_model_of_no_numbers_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short training breaks off: that check has failed, in words, and the table is whole."""
    monkeypatch.setattr(check, "__defaults__", ("cpu", INSIDE))
    broken = filled_with(tmp_path, math.nan)
    done = command("check", str(broken.path), "--json")
    assert done.returncode == 1, done.stderr
    rows = {row.pop("check"): row for row in json.loads(done.stdout)["checks"]}
    assert list(rows) == list(INSIDE)
    assert {name for name, row in rows.items() if row["passed"]} == {
        "saved and loaded = original",
        "text = its round trip",
    }
    assert rows["resumed = uninterrupted"]["of"].startswith("the loss of step 1 is nan")
    *table, last = command("check", str(broken.path)).stdout.splitlines()
    assert len(table) == len(INSIDE)
    assert last == "7 of 9 failed"


def test_a_model_of_zeros_is_not_divided_by(tmp_path: Path) -> None:
    assert not failed(filled_with(tmp_path, 0.0), "fast = clear attention")


def test_who_stops_a_check_stops_all(folder: Folder) -> None:
    def stopped(subject: ModelUnderTest) -> Finding:
        raise Interrupted

    with pytest.raises(Interrupted):
        list(check(folder, checks={"one": stopped}))


def test_what_is_no_number_is_the_worst() -> None:
    assert math.isnan(worst([0.0, math.nan, 1.0]))
    assert worst([]) == 0.0
    assert not Finding(math.nan, 1.0, "").passed


def test_bits_are_counted() -> None:
    ours = {"a": torch.tensor([0.0, math.nan, 1.0]), "b": torch.zeros(2, dtype=torch.uint8)}
    assert other_bits(ours, ours).passed
    assert other_bits(ours, {**ours, "a": torch.tensor([-0.0, math.nan, 1.0 + 2**-23])}).difference == 2
    assert other_bits(ours, {"a": ours["a"]}).difference == 1
    assert other_bits(ours, {**ours, "b": torch.zeros(3, dtype=torch.uint8)}).difference == 2


def test_sources_fit_the_model(tmp_path: Path) -> None:
    short = plan("transformer-tiny").with_settings({**SMALL, "position": {"name": "learned", "limit": 5}, "longest": 5})
    folder = model_folder(tmp_path, short)
    assert max(map(len, ModelUnderTest.of(folder).sources)) == 5
    assert all(isinstance(found, Finding) and found.passed for _, found in check(folder, checks=INSIDE))


def test_the_verb_prints_a_table(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "CHECKS", {"one": CHECKS["beam 1 = greedy"], "two": lambda subject: "no engine"})
    monkeypatch.setattr(check, "__defaults__", ("cpu", checking.CHECKS))
    done = command("check", str(folder.path))
    assert done.returncode == 0, done.stderr
    first, second, last = done.stdout.splitlines()
    assert first.split() == ["one", "pass", "0", "allowed", "0.0001", "log-probability"]
    assert second.split() == ["two", "not", "done", "no", "engine"]
    assert last == "all checks passed"


def test_a_failure_is_exit_code_1(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = {"good": Finding(0, 0, "weights"), "bad": Finding(math.nan, 0.1, "weights")}
    checks = {name: lambda subject, found=found: found for name, found in findings.items()}
    monkeypatch.setattr(check, "__defaults__", ("cpu", checks))
    done = command("check", str(folder.path))
    assert done.returncode == 1
    assert done.stdout.splitlines()[1:] == [f"{'bad':34} FAIL          nan  allowed 0.1     weights", "1 of 2 failed"]
    done = command("check", str(folder.path), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "passed": False,
        "checks": [
            {"check": "good", "difference": 0, "tolerance": 0, "of": "weights", "passed": True},
            {"check": "bad", "difference": "nan", "tolerance": 0.1, "of": "weights", "passed": False},
        ],
    }
