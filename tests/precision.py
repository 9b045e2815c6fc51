"""Tests that compute below float32 run only where the machine supports it: some machines kill the process."""

import pytest

from weft.machine import may_use


def needs(precision: str) -> None:
    """Skip the test unless this machine computes in this precision."""
    if precision != "float32" and not may_use(precision):
        pytest.skip(f"this machine does not compute in {precision} (weft doctor)")
