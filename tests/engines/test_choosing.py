"""Which engine decodes, and what is kept of it: an engine is there completely or not at all, and a no is remembered."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import weft
from tests.engines.conftest import Maker, untrained
from weft.data.codecs import Subwords
from weft.engines import choosing, making
from weft.engines.choosing import RECORD, WORTH, Choice, engine_of, equip, is_worth
from weft.errors import WeftError
from weft.exports import ctranslate2 as exported
from weft.folder import Folder
from weft.machine import Answer, cache_file
from weft.plans.plan import Plan
from weft.tasks import load

AUTO, DEMAND = Choice(), Choice("ctranslate2")
ROOT = Path(__file__).parents[2]


def engines() -> list[Path]:
    return sorted(cache_file().with_name("engines").iterdir())


def recorded() -> dict[str, Any]:
    [only] = engines()
    found: dict[str, Any] = json.loads((only / RECORD).read_text())
    return found


def test_an_engine_is_made_once(toy: Folder, maker: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    assert engine_of([toy], AUTO, make=False) is None, "nobody waits without need"
    assert maker.made == 0
    first = engine_of([toy], AUTO, make=True)
    told = capsys.readouterr().err
    assert told == f"preparing CTranslate2 for {toy.path}, once: about 10 seconds\n"
    again = engine_of([toy], AUTO, make=False)
    assert first
    assert again
    assert (first.folder, first.limit, first.longest) == (again.folder, 200, None)
    assert first.name == "CTranslate2 in float32"
    assert maker.made == 1
    assert not capsys.readouterr().err
    found = recorded()
    assert found["gap"] < 1e-3
    assert found["searched"]["beam 5"]["same"] + found["searched"]["beam 5"]["cut"] == found["texts"] == 10


def test_other_weights_plans_and_precisions_have_engines_of_their_own(
    toy: Folder, maker: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for many in range(1, 5):
        engine_of([toy], DEMAND, make=True)
        assert len(engines()) == maker.made == many
        if many == 1:
            with torch.no_grad():
                toy.finish({name: value * 1.01 for name, value in toy.model().named_parameters()})
        elif many == 2:
            toy.plan().with_settings({"longest": 90}).write(toy.path / "plan.yaml")
        else:
            monkeypatch.setattr(choosing, "FORMAT", choosing.FORMAT + 1)
    assert engine_of([toy], DEMAND, make=True).limit == 90  # type: ignore[union-attr]


def test_the_engines_used_last_are_kept(toy: Folder, maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "KEPT", 2)
    made = []
    for number in range(3):
        monkeypatch.setattr(choosing, "FORMAT", number)
        found = engine_of([toy], DEMAND, make=True)
        assert found
        made.append(found.folder)
        os.utime(found.folder, (1000 + number, 1000 + number))
        if number == 0:
            left = found.folder.with_name(".left")  # by a process that was killed long ago
            left.mkdir()
            os.utime(left, (1, 1))
        if number == 1:
            monkeypatch.setattr(choosing, "FORMAT", 0)
            engine_of([toy], AUTO, make=False)  # the first is used again
    assert engines() == sorted([made[0], made[2]])


def test_a_plan_that_it_cannot_express_is_torchs(
    tmp_path: Path, maker: Maker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = untrained(tmp_path / "other", **{"encoder.norm": "none"})
    assert engine_of([other], AUTO, make=True) is None
    assert not capsys.readouterr().err
    assert maker.made == 0
    with pytest.raises(WeftError, match=r"engine ctranslate2 cannot be used here: plan .*\n.*encoder.norm is 'none';"):
        weft.load(other.path, engine="ctranslate2")
    assert "encoder.norm is 'none'" in recorded()["trouble"]
    monkeypatch.setattr(choosing, "_made", None)
    assert engine_of([other], AUTO, make=True) is None, "it is not looked at again"


def test_a_model_that_it_gets_wrong_is_torchs(toy: Folder, maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(plan: Plan, model: nn.Module, tokeniser: Subwords, out: Path, precision: str) -> None:
        with torch.no_grad():
            next(model.parameters()).mul_(1.01)
        exported.write(plan, model, tokeniser, out, precision)  # type: ignore[arg-type]
        with torch.no_grad():
            next(model.parameters()).div_(1.01)

    monkeypatch.setattr(making, "write", wrong)
    assert engine_of([toy], AUTO, make=True) is None
    assert "log-probabilities of the same tokens differ by" in recorded()["trouble"]
    assert not list(cache_file().parent.rglob("model.bin")), "only the answer is kept"
    assert engine_of([toy], AUTO, make=True) is None
    assert maker.made == 1


@pytest.mark.parametrize(
    ("trouble", "tries"),
    [("killed by SIGILL", 1), ("no answer in 1800 seconds", 1), ("OSError: no space", 2), ("killed by SIGKILL", 2)],
)
def test_a_machine_that_dies_of_it_is_not_tried_again(trouble: str, tries: int, toy: Folder, maker: Maker) -> None:
    maker.trouble = trouble
    assert engine_of([toy], AUTO, make=True) is None
    with pytest.raises(WeftError, match=trouble):
        engine_of([toy], DEMAND, make=True)
    assert maker.made == tries


@pytest.mark.parametrize("file", ["model.bin", RECORD, "SHA256SUMS", "config.json"])
@pytest.mark.parametrize("is_gone", [True, False])
def test_a_damaged_engine_is_made_again(file: str, is_gone: bool, toy: Folder, maker: Maker) -> None:
    found = engine_of([toy], DEMAND, make=True)
    assert found
    if is_gone:
        (found.folder / file).unlink()
    else:
        data = bytearray((found.folder / file).read_bytes())
        data[len(data) // 2] ^= 1
        (found.folder / file).write_bytes(data)
    assert engine_of([toy], AUTO, make=False) is None
    again = engine_of([toy], AUTO, make=True)
    assert again
    assert maker.made == 2
    assert again.search([[5, 6, 2]], 1, 1.0)
    assert engines() == [again.folder]


def test_a_cache_that_cannot_be_written_is_torchs(toy: Folder, maker: Maker, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert engine_of([toy], AUTO, make=True) is None
    with pytest.raises(WeftError, match="cannot be written"):
        engine_of([toy], DEMAND, make=True)


@pytest.mark.parametrize("is_damaged", [False, True])
def test_two_processes_make_it_at_once(
    is_damaged: bool, toy: Folder, maker: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the first makes its engine, the second begins and ends."""
    if is_damaged:
        found = engine_of([toy], DEMAND, make=True)
        assert found
        (found.folder / "model.bin").write_bytes(b"")

    def meanwhile(program: str, *words: str, **options: Any) -> Answer:
        monkeypatch.setattr(choosing, "ask", maker)
        assert engine_of([toy], DEMAND, make=True)
        return maker(program, *words, **options)

    monkeypatch.setattr(choosing, "ask", meanwhile)
    first = engine_of([toy], DEMAND, make=True)
    assert first
    assert maker.made == 2 + is_damaged
    assert engines() == [first.folder]
    assert first.search([[5, 6, 2]], 1, 1.0)


def test_int8_is_asked_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "may_use", lambda precision: False)
    for engine in ("auto", "ctranslate2"):
        with pytest.raises(WeftError, match="this machine cannot compute in int8"):
            Choice(engine, "int8")
    assert Choice("torch").precision == "float32"


def test_int8_is_reported_and_no_gap_is_demanded(toy: Folder, maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "may_use", lambda precision: True)
    monkeypatch.setattr(making, "ROUNDING", 0.0)
    found = engine_of([toy], Choice(precision="int8"), make=False)  # a demand
    assert found
    gap = recorded()["gap"]
    assert gap > 1e-6
    assert found.name == f"CTranslate2 in int8 (log-probabilities differ by up to {gap:.2g})"
    monkeypatch.setattr(choosing, "find_spec", lambda name: None)
    with pytest.raises(WeftError, match="engine ctranslate2 cannot be used here: it is not installed"):
        engine_of([toy], Choice(precision="int8"), make=False)


@pytest.mark.parametrize(
    ("engine", "precision", "told"),
    [
        ("ctranslate", "float32", "there is no engine 'ctranslate'. Did you mean 'ctranslate2'?"),
        ("auto", "int4", "there is no precision of an engine 'int4'. Did you mean 'int8'?"),
        ("torch", "int8", "precision int8 needs engine ctranslate2; torch decodes in float32."),
    ],
)
def test_what_there_is_not_gets_a_sentence(engine: str, precision: str, told: str) -> None:
    with pytest.raises(WeftError) as caught:
        weft.load("en-de", engine=engine, precision=precision)
    assert told in str(caught.value)


def test_ensembles_other_devices_and_other_tasks_are_torchs(toy: Folder, maker: Maker) -> None:
    for folders, device, told in (([toy, toy], "cpu", "an ensemble"), ([toy], "mps", "on mps, torch decodes")):
        assert engine_of(folders, AUTO, make=True, device=device) is None
        with pytest.raises(WeftError, match=told):
            engine_of(folders, DEMAND, make=True, device=device)
    lm = load("shakespeare")
    assert equip([lm], AUTO) == {}
    with pytest.raises(WeftError, match="shakespeare does not translate"):
        equip([lm], DEMAND)
    assert maker.made == 0
    translator = load(toy.path)
    assert equip([lm, translator], DEMAND) == {"toy": "CTranslate2 in float32"}


def test_python_decodes_with_torch_unless_it_is_told(toy: Folder, maker: Maker) -> None:
    assert weft.load(toy.path).engine is None
    assert weft.load(toy.path, engine="auto").engine.name == "CTranslate2 in float32"


def test_damaged_weights_are_an_error_with_every_engine(toy: Folder, maker: Maker) -> None:
    engine_of([toy], DEMAND, make=True)
    data = toy.average.read_bytes()
    toy.average.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(WeftError, match=r"model\.safetensors does not match its checksum"):
        engine_of([toy], AUTO, make=False)


def test_a_long_file_is_worth_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = tmp_path / "short", tmp_path / "long"
    short.write_text("a" * (WORTH - 1))
    long.write_text("a" * WORTH)
    assert (is_worth(short), is_worth(long), is_worth(tmp_path / "none")) == (False, True, False)
    for file in (short, long):
        with file.open() as opened:
            monkeypatch.setattr(sys, "stdin", opened)
            assert is_worth(None) == is_worth(file)
    read, write = os.pipe()
    os.close(write)
    with os.fdopen(read) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        assert not is_worth(None)
