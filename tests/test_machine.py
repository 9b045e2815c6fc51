"""What the machine can do is found out in children: their death is a finding, and it is remembered."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

from tests.commands.test_commands import weft as command
from weft import machine
from weft.errors import WeftError
from weft.machine import Support, ask, cache_file, finding, may_use, measure

DIES = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
DIES_WITH_AMX = f"import os\nif 'ONEDNN_MAX_CPU_ISA' in os.environ: print(5.0)\nelse:\n  {DIES}"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(machine.CAP, raising=False)
    monkeypatch.setattr(machine, "_CAP_OF_THE_USER", None)


@pytest.mark.parametrize(
    ("program", "trouble"),
    [
        (DIES, "killed by SIGILL"),
        ("import os; os.abort()", "killed by SIGABRT"),
        ("import time; time.sleep(60)", "no answer in 0.5 seconds"),
        ("raise SystemExit('sorry, no')", "sorry, no"),
        ("raise SystemExit(3)", "ended with exit code 3"),
        ("pass", "ended without an answer"),
        ("print('nothing that JSON has')", "ended without an answer"),
    ],
)
def test_whatever_happens_to_a_child_is_an_answer(program: str, trouble: str) -> None:
    assert ask(program, patience=0.5 if "sleep" in program else 60).trouble == trouble


OF_DEVELOPERS = ("test", "torture", "dev", "bench")


def test_a_healthy_child_process_answers() -> None:
    assert ask("import sys, json; print('hm'); print(json.dumps(sys.argv[1:]))", "a", "b").value == ["a", "b"]


def test_a_precision_that_kills_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PRODUCTS", DIES)
    assert measure("bfloat16") == Support(False, None, None, "killed by SIGILL")
    assert not may_use("bfloat16")


def test_one_that_only_kills_with_all_instructions_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PRODUCTS", DIES_WITH_AMX)
    assert measure("bfloat16") == Support(True, 5.0, "AVX512_CORE_FP16", "killed by SIGILL")


def test_a_cap_comes_too_late_for_a_torch_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PRODUCTS", DIES_WITH_AMX)
    assert "torch" in sys.modules
    assert not may_use("bfloat16")
    monkeypatch.setenv(machine.CAP, "AVX512_CORE_FP16")  # as if set before torch came
    assert may_use("bfloat16")


def test_a_cap_is_set_before_torch_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine.CAP, "")  # to be put back afterwards
    monkeypatch.setattr(
        machine,
        "PRODUCTS",
        DIES_WITH_AMX.replace("'ONEDNN_MAX_CPU_ISA' in os.environ", "os.environ['ONEDNN_MAX_CPU_ISA']"),
    )
    monkeypatch.delitem(sys.modules, "torch")
    assert may_use("bfloat16")
    assert machine.os.environ[machine.CAP] == "AVX512_CORE_FP16"


def test_what_torch_refuses_in_words_is_not_tried_with_fewer_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(machine, "ask", lambda *words, **given: asked.append(given) or machine.Answer(trouble="no."))
    assert measure("int8") == Support(False, None, None, "no.")
    assert asked == [{"cap": None}]


def test_the_second_time_it_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PRODUCTS", "print(7.0)")
    assert finding("float16").gflops == 7.0
    monkeypatch.setattr(machine, "PRODUCTS", DIES)
    assert finding("float16").gflops == 7.0
    assert not finding("bfloat16").works  # the other one was not asked about before
    assert finding("float16").gflops == 7.0


def test_cache_is_not_used_for_another_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PRODUCTS", "print(7.0)")
    finding("float16")
    monkeypatch.setattr(machine, "_version", lambda name: "99.0")
    monkeypatch.setattr(machine, "PRODUCTS", "print(8.0)")
    assert finding("float16").gflops == 8.0


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", "3", '{"key": 1}', '{"key": KEY, "findings": {"float16": {"a": 1}}}', "\udcff"]
)
def test_a_damaged_memory_is_ignored(damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_file().parent.mkdir()
    text = damage.replace("KEY", json.dumps(machine.key()))
    cache_file().write_bytes(text.encode("utf-8", "surrogateescape"))
    monkeypatch.setattr(machine, "PRODUCTS", "print(7.0)")
    assert finding("float16").gflops == 7.0
    assert json.loads(cache_file().read_text())["findings"]["float16"]["gflops"] == 7.0


def test_where_nothing_can_be_written_it_works_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(machine, "PRODUCTS", "print(7.0)")
    assert finding("float16").gflops == 7.0


def test_an_unknown_precision_gets_a_sentence() -> None:
    with pytest.raises(WeftError, match=r"there is no precision 'bfloat'. Did you mean 'bfloat16'"):
        may_use("bfloat")


def test_the_doctor_speaks_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """With real children: float32 works everywhere."""
    done = command("doctor", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {name: set(part) for name, part in found.items() if name in ("cpu", "precisions", "devices")} == {
        "cpu": {"model", "cores", "threads", "memory_gb"},
        "precisions": {"float32", "bfloat16", "float16", "int8"},
        "devices": {"cuda", "mps", "trouble"},
    }
    assert set(found) == {"cpu", "precisions", "allocator", "devices", "versions", "optional"}
    assert all(set(one) == {"works", "gflops", "cap", "trouble"} for one in found["precisions"].values())
    assert all(set(one) == {"version", "for", "install"} for one in found["optional"].values())
    assert found["precisions"]["float32"]["works"]
    assert found["precisions"]["float32"]["gflops"] > 0
    assert found["cpu"]["threads"] >= 1
    assert found["versions"]["torch"]
    assert json.loads(cache_file().read_text())["findings"] == found["precisions"]


def test_the_doctor_is_calm_about_deaths_and_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PRODUCTS", DIES_WITH_AMX)
    monkeypatch.setattr(machine, "TORCH", DIES)
    monkeypatch.setattr(machine, "_version", lambda name: None)
    done = command("doctor")
    assert done.returncode == 0, done.stderr
    said = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert said["bfloat16"] == "5 GFLOP/s, limited to AVX512_CORE_FP16 (without: killed by SIGILL)"
    assert said["devices"] == "cpu (torch: killed by SIGILL)"
    assert (
        said["matplotlib"]
        == 'not installed, needed for pictures of attention and curves: pip install -e ".[view]" in the folder of weft'
    )
    monkeypatch.setattr(machine, "PRODUCTS", DIES)
    done = command("doctor")
    assert done.returncode == 0, done.stderr
    assert "bfloat16     not usable: killed by SIGILL" in done.stdout


def test_the_optional_packages_are_those_of_the_extras() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = {name: wanted for name, wanted in project["optional-dependencies"].items() if name not in OF_DEVELOPERS}
    named = {(package.split(">")[0], extra) for extra, wanted in extras.items() for package in wanted}
    assert {(name, extra) for name, (extra, _) in machine.OPTIONAL.items()} == named
