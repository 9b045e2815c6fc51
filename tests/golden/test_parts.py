"""Parts that describe themselves say what was said of them before, word for word and bit for bit."""

import json
from typing import Any

import pytest

from tests.golden.parts import FILE, computed
from tests.golden.record import machine

GOLDEN = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def now() -> dict[str, Any]:
    return json.loads(json.dumps(computed()))  # type: ignore[no-any-return]  # tuples are lists there


@pytest.mark.parametrize("what", ["parameters", "diagrams"])
def test_parts_are_described_as_before(what: str, now: dict[str, Any]) -> None:
    """New presets may come; what is said of the old ones stays."""
    for name, described in GOLDEN[what].items():
        assert now[what][name] == described, name
        assert list(now[what][name]) == list(described), f"{name}: in the same order"


def test_initial_weights_are_those_of_before(now: dict[str, Any]) -> None:
    close = 0.0 if GOLDEN["machine"] == machine() else 1e-4
    for name, number in GOLDEN["initial"].items():
        assert now["initial"][name] == pytest.approx(number, rel=close, abs=close), name
