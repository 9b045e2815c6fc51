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
from tests.contracts.tiny import TRANSLATORS, stirred, tiny_plan
from tests.toys import PAIRS
from weft.checking import checks as checking
from weft.checking.checks import CHECKS, check
from weft.checking.model_under_test import Finding, ModelUnderTest
from weft.checking.weights import other_bits
from weft.data.codecs.subwords import Subwords
from weft.data.languages import Languages
from weft.decoding import Sample
from weft.errors import Interrupted
from weft.exports.agreement import Agreement, worst
from weft.exports.export import FORMATS
from weft.folder import Folder
from weft.models.encoder_decoder import EncoderDecoder
from weft.parts.call import Call, Memory, State
from weft.plans import names, plan
from weft.plans.plan import Plan
from weft.training import checkpoint
from weft.training.run import train
from weft.viewing.attention_maps import Recorder
from weft.weights import parameters, save_weights

SMALL = {"width": 32, "layers": 2, "feed_forward.hidden": 24, "vocabulary": 280, "dropout": 0.2}
TOKENISER = Subwords.train([text for pair in PAIRS[:50] for text in pair], 280)
INSIDE = {name: measure for name, measure in CHECKS.items() if not name.startswith("export")}


def model_folder(path: Path, chosen: Plan, languages: Languages | None = None) -> Folder:
    """A model that was never trained."""
    folder, chosen = Folder(path), chosen.with_settings({"vocabulary": len(TOKENISER)})
    folder.describe(chosen, {"tokeniser": TOKENISER}, languages=languages)
    torch.manual_seed(1)
    save_weights(dict(parameters(stirred(chosen.build()))), folder.average)
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


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A model that every format can express."""
    small = {"width": 16, "layers": 1, "mixer.heads": 2, "feed_forward.hidden": 16, "vocabulary": 270, "steps": 1}
    recipe = plan("llama").with_settings({**small, "batching.length": 16, "batch_tokens": 64, "accumulate": 1})
    out = tmp_path_factory.mktemp("checked") / "llama"
    return train(recipe, [("the cat sleeps. the dog sleeps. " * 20,)], None, out).folder


@pytest.mark.parametrize("name", names())
def test_every_plan_passes(tmp_path: Path, name: str) -> None:
    width = 32 if name in TRANSLATORS else 96  # which the heads of language models divide
    small = tiny_plan("preset", name).with_settings({"width": width, "dropout": 0.2, "optimiser": "adam"})
    skipped = set() if name.startswith(("transformer", "dates", "gpt", "llama")) else {"fused = reference attention"}
    for what, found in check(model_folder(tmp_path, small), checks=INSIDE):
        assert isinstance(found, str) == (what in skipped), found
        assert isinstance(found, str) or found.passed, f"{what}: {found}"


def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is a little off."""
    append = State.append
    monkeypatch.setattr(State, "append", lambda *given: append(*given) * 1.01)


def sees_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    def encode(model: EncoderDecoder, source: Tensor, call: Call | None = None) -> Memory:
        keep = torch.ones_like(source, dtype=torch.bool)
        call = replace(call or Call(), keep=keep, positions=None, state=None, place="encoder")
        return model.encoder(model.source(source), call)

    monkeypatch.setattr(EncoderDecoder, "encode", encode)


def another_beam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.checking.decoding.Beam", lambda width: Sample(temperature=9.0))


def meddling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recorder, "change", lambda self, place, name, value: value * 1.01)


def another_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = torch.nn.functional.scaled_dot_product_attention

    def another(q: Tensor, k: Tensor, *rest: Any, **more: Any) -> Tensor:
        return fast(q, k * 1.1, *rest, **more)

    monkeypatch.setattr("torch.nn.functional.scaled_dot_product_attention", another)


def rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "weft.checking.weights.save_weights",
        lambda weights, file: save_weights({name: value.detach() + 1e-9 for name, value in weights.items()}, file),
    )


def normalises(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = Subwords.encode
    monkeypatch.setattr(Subwords, "encode", lambda self, text: encode(self, unicodedata.normalize("NFC", text)))


def forgets_its_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "restore_random_state", lambda states: None)


def forgets_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    load = checkpoint.load
    monkeypatch.setattr(checkpoint, "load", lambda *given: replace(load(*given), batch=0))


def forgets_its_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = checkpoint.moments
    monkeypatch.setattr(checkpoint, "moments", lambda *given: {k: v * 0 for k, v in moments(*given).items()})


def drifts(monkeypatch: pytest.MonkeyPatch) -> None:
    for function in ("agreement", "continuing_agreement"):
        monkeypatch.setattr(f"weft.exports.export.{function}", lambda *given: Agreement(10, 0.5, ()))


Plant = Callable[[pytest.MonkeyPatch], None]
FAULTS: list[tuple[str, Plant]] = [
    ("cached = uncached decoding", forgetful),
    ("batched = single", sees_padding),
    ("padded = unpadded", sees_padding),
    ("beam 1 = greedy", another_beam),
    ("watched = unwatched", meddling),
    ("fused = reference attention", another_kernel),
    ("saved and loaded = original", rounds),
    ("text = its round trip", normalises),
    ("resumed = uninterrupted", forgets_its_draws),
    ("resumed = uninterrupted", forgets_its_place),
    ("resumed = uninterrupted", forgets_its_moments),
    *((f"export to {to} = original", drifts) for to in FORMATS),
]


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_check_finds_planted_fault(
    folder: Folder,
    llama: Folder,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    fault: Callable[[pytest.MonkeyPatch], None],
) -> None:
    fault(monkeypatch)
    assert failed(llama if name.startswith("export") else folder, name)


def sees_what_is_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that joined a batch sees the padding on its left."""
    monkeypatch.setattr(State, "real", lambda state, steps: None)


def loses_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces_of = Subwords.pieces_of
    monkeypatch.setattr(Subwords, "pieces_of", lambda self, texts: pieces_of(self, [t.replace(" ", "") for t in texts]))


ALONE: list[tuple[str, Plant]] = [
    ("cached = uncached decoding", forgetful),
    ("batched = single", sees_what_is_before_it),
    ("beam 1 = greedy", another_beam),
    ("watched = unwatched", meddling),
    ("fused = reference attention", another_kernel),
    ("saved and loaded = original", rounds),
    ("text = its round trip", loses_spaces),
    ("resumed = uninterrupted", forgets_its_place),
]


@pytest.mark.parametrize(("name", "fault"), ALONE)
def test_check_of_a_decoder_alone_finds_planted_fault(
    llama: Folder, monkeypatch: pytest.MonkeyPatch, name: str, fault: Plant
) -> None:
    assert not failed(llama, name)
    fault(monkeypatch)
    assert failed(llama, name)


def test_every_check_has_a_fault() -> None:
    assert {name for name, _ in FAULTS} == set(CHECKS)


def filled_with(path: Path, value: float) -> Folder:
    """A model whose weights are all the same."""
    folder = model_folder(path, plan("transformer-tiny").with_settings(SMALL))
    save_weights(
        {name: torch.full_like(old, value) for name, old in parameters(folder.model()).items()}, folder.average
    )
    return folder


def test_model_of_nan_weights_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert rows["resumed = uninterrupted"]["of"].startswith("training diverged: loss is nan at step 1")
    *table, last = command("check", str(broken.path)).stdout.splitlines()
    assert len(table) == len(INSIDE)
    assert last == "7 of 9 checks failed"


def test_model_of_zeros_passes_the_attention_check(tmp_path: Path) -> None:
    assert not failed(filled_with(tmp_path, 0.0), "fused = reference attention")


def test_interrupted_check_stops_all(folder: Folder) -> None:
    def stopped(subject: ModelUnderTest) -> Finding:
        raise Interrupted

    with pytest.raises(Interrupted):
        list(check(folder, checks={"one": stopped}))


def test_nan_is_the_worst_difference() -> None:
    assert math.isnan(worst([0.0, math.nan, 1.0]))
    assert worst([]) == 0.0
    assert not Finding(math.nan, 1.0, "").passed


def test_other_bits_counts_differences() -> None:
    ours = {"a": torch.tensor([0.0, math.nan, 1.0]), "b": torch.zeros(2, dtype=torch.uint8)}
    assert other_bits(ours, ours).passed
    assert other_bits(ours, {**ours, "a": torch.tensor([-0.0, math.nan, 1.0 + 2**-23])}).difference == 2
    assert other_bits(ours, {"a": ours["a"]}).difference == 1
    assert other_bits(ours, {**ours, "b": torch.zeros(3, dtype=torch.uint8)}).difference == 2


def test_rows_fit_the_model(tmp_path: Path) -> None:
    short = plan("transformer-tiny").with_settings({**SMALL, "position": {"name": "learned", "limit": 5}, "longest": 5})
    folder = model_folder(tmp_path, short)
    assert max(len(ids) for row in ModelUnderTest.of(folder).rows for ids in row) == 5
    assert all(isinstance(found, Finding) and found.passed for _, found in check(folder, checks=INSIDE))


def test_command_prints_a_table(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "CHECKS", {"one": CHECKS["beam 1 = greedy"], "two": lambda subject: "no engine"})
    monkeypatch.setattr(check, "__defaults__", ("cpu", checking.CHECKS))
    done = command("check", str(folder.path))
    assert done.returncode == 0, done.stderr
    first, second, last = done.stdout.splitlines()
    assert first.split() == ["one", "pass", "0", "allowed", "0.0001", "log-probability"]
    assert second.split() == ["two", "skipped", "no", "engine"]
    assert last == "all checks passed"


def test_failed_check_is_exit_code_1(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = {"good": Finding(0, 0, "weights"), "bad": Finding(math.nan, 0.1, "weights")}
    checks = {name: lambda subject, found=found: found for name, found in findings.items()}
    monkeypatch.setattr(check, "__defaults__", ("cpu", checks))
    done = command("check", str(folder.path))
    assert done.returncode == 1
    assert done.stdout.splitlines()[1:] == [
        f"{'bad':34} FAIL          nan  allowed 0.1     weights",
        "1 of 2 checks failed",
    ]
    done = command("check", str(folder.path), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "passed": False,
        "checks": [
            {"check": "good", "difference": 0, "tolerance": 0, "of": "weights", "passed": True},
            {"check": "bad", "difference": "nan", "tolerance": 0.1, "of": "weights", "passed": False},
        ],
    }
