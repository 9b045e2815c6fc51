"""Benchmarks take long and are not run here; but each of them begins, with the parts of weft that it names."""

from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = sorted(file.stem for file in (Path(__file__).parents[1] / "benchmarks").glob("[a-z]*.py"))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_it_can_be_imported(name: str) -> None:
    import_module(f"benchmarks.{name}")
