"""Plan loading: whatever a file says, a plan comes of it or a sentence."""

import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.broken import anything, meddled, mutated, survived
from weft.errors import WeftError
from weft.plans import plan
from weft.plans.plan import Plan
from weft.plans.presets import read_plan_file, read_whole_plan
from weft.plans.rules import check
from weft.plans.size import outline

GOOD = plan("transformer-tiny").with_settings({"layers": 2})
TEXT = yaml.safe_dump(GOOD.to_dict()).encode()
PRESET = b"about: mine\nbase: transformer-tiny\nset: {width: 64, mixer: {name: attention, heads: 2}}\n"


def loaded(data: bytes) -> Plan | None:
    """Read, checked and, unless it is large, built; what was read can be written and read again."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "plan.yaml")
        file.write_bytes(data)
        survived(lambda: read_whole_plan(file))
        found = survived(lambda: read_plan_file(file))
        if found is not None:
            found.write(file)
            assert read_plan_file(file).to_dict() == found.to_dict() or found.to_dict() != found.to_dict()  # NaN
            survived(lambda: check(found))
            if max(found.encoder.layers, found.decoder.layers) < 10:
                survived(lambda: outline(found))
    return found


@given(mutated(TEXT) | mutated(PRESET) | st.binary(max_size=200))
def test_files(data: bytes) -> None:
    loaded(data)


@given(meddled(GOOD.to_dict()))
def test_wrong_values(data: object) -> None:
    loaded(yaml.safe_dump(data).encode())


@given(st.text(max_size=20), anything)
def test_settings(key: str, value: object) -> None:
    survived(lambda: GOOD.with_settings([f"{key}={value}"]))
    survived(lambda: GOOD.with_settings([key]))
    for real in ("width", "mixer", "encoder.mixer.heads", "training.steps", "schedule", "name"):
        survived(lambda real=real: check(GOOD.with_settings({real: value})))


def refused(data: str, tmp_path: Path) -> str:
    (tmp_path / "plan.yaml").write_text(data)
    with pytest.raises(WeftError) as caught:
        check(read_plan_file(tmp_path / "plan.yaml"))
    return str(caught.value)


def test_bombs_are_refused(tmp_path: Path) -> None:
    laughs = "a: &a [x, x, x, x]\n" + "".join(
        f"{n}: &{n} [*{p}, *{p}, *{p}, *{p}]\n" for p, n in zip("abcdefghij", "bcdefghijk")
    )
    assert "aliases (*name) are not part of a plan" in refused(laughs, tmp_path)
    assert "nested too deeply" in refused("width: " + "[" * 20_000, tmp_path)
    assert "larger than 100,000 bytes" in refused("about: " + "x" * 100_000, tmp_path)
    assert "too large for a plan" in refused("width: 0x" + "f" * 5000, tmp_path)
    assert "encoder.layers: expected at most 1000, got 1000000000." in refused(
        "encoder: {layers: 1000000000}", tmp_path
    )
    assert "training.rate: expected a finite number, got inf." in refused("training: {rate: .inf}", tmp_path)


@pytest.mark.parametrize("code", ["!!python/object/apply:os.system [touch pwned]", "!!python/name:os.system"])
def test_a_plan_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert "is not YAML" in refused(f"width: {code}", tmp_path)
    assert not (tmp_path / "pwned").exists()
