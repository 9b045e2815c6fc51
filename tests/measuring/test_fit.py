"""The fit recovers known coefficients, and finds where terms cross."""

import numpy as np
import pytest

from weft.commands.cost import cost
from weft.errors import WeftError
from weft.measuring.fit import Fit, fit

GRID = [(t, k) for t in (16, 64, 256, 1024) for k in (64, 128, 256)]


def points(coefficients: dict[str, float], noise: float = 0.0) -> list[tuple[int, int, float]]:
    draw = np.random.default_rng(1)
    made = Fit(coefficients, 0.0)
    return [(t, k, made.at(t, k) * (1 + noise * draw.standard_normal())) for t, k in GRID]


def test_known_coefficients_are_found_again() -> None:
    found = fit(points({"t·k²": 3e-10, "t²·k": 5e-11}), ["t·k²", "t²·k"])
    assert found.coefficients == pytest.approx({"t·k²": 3e-10, "t²·k": 5e-11})
    assert found.error < 1e-9
    assert found.crossing(128) == pytest.approx(6 * 128), "t = a · k / b"


def test_terms_that_were_not_put_in_stay_out() -> None:
    made = {"t·k²": 3e-10, "t²·k": 5e-11, "t": 1e-6, "1": 2e-4}
    found = fit(points(made), ["t·k²", "t²·k", "t", "1", "k²", "k"]).coefficients
    assert found == pytest.approx({**made, "k²": 0, "k": 0}, rel=1e-6, abs=1e-15)


def test_noise_moves_them_a_little() -> None:
    found = fit(points({"t·k²": 3e-10, "t²·k": 5e-11, "1": 1e-5}, noise=0.05), ["t·k²", "t²·k", "1"])
    assert found.coefficients == pytest.approx({"t·k²": 3e-10, "t²·k": 5e-11, "1": 1e-5}, rel=0.15)
    assert 0.02 < found.error < 0.08


def test_no_coefficient_is_negative() -> None:
    falling = [(t, 64, 1.0 + 1.0 / t) for t in (16, 32, 64, 256)]
    found = fit(falling, ["t·k", "1"])
    assert found.coefficients["t·k"] == 0
    assert found.coefficients["1"] == pytest.approx(1.03, abs=0.03)


def test_small_and_large_points_count_the_same() -> None:
    """The relative error: of 1 and of 1,000,000 the constant is between, not at the larger one."""
    assert fit([(2, 2, 1.0), (3, 3, 1e6)], ["1"]).coefficients["1"] < 3


def test_a_term_needs_two_points() -> None:
    """Four points can be met by any four terms: that says nothing."""
    four = [(t, k, 1e-9 * t * k * k) for t in (16, 64) for k in (32, 64)]
    terms = ["t·k²", "t²·k", "1", "t"]
    assert list(fit(four, terms).coefficients) == ["t·k²", "t²·k"]
    assert list(fit(four[:1], terms).coefficients) == ["t·k²"]


def test_terms_that_the_sizes_cannot_tell_apart_are_one() -> None:
    """In one width t·k² and t are the same, and at one length t²·k and k."""
    narrow = [(t, 64, 1e-6 * t + 1e-4) for t in (16, 32, 64, 128, 256, 512, 1024, 2048)]
    assert fit(narrow, ["t·k²", "t", "1"]).coefficients == pytest.approx({"t·k²": 1e-6 / 64**2, "1": 1e-4})
    short = [(16, k, 1e-6 * k) for k in (16, 32, 64, 128, 256, 512)]
    assert list(fit(short, ["t²·k", "k", "1"]).coefficients) == ["t²·k", "1"]


def test_crossing_counts_all_that_grows_with_t() -> None:
    both = Fit({"t·k²": 2.0, "t·k": 4.0, "t": 8.0, "k²": 99.0, "1": 99.0, "t²·k": 1.0, "t²": 2.0}, 0.0)
    assert both.crossing(10) == pytest.approx((2 * 100 + 4 * 10 + 8) / (10 + 2))
    assert Fit({"t·k²": 1.0}, 0.0).crossing(10) is None


def test_powers_are_how_steep_it_is() -> None:
    """One term has its own powers; two of the same size have the mean of theirs."""
    assert Fit({"t²·k": 3.0}, 0.0).powers(16, 8) == pytest.approx((2, 1))
    assert Fit({"t·k²": 1.0, "t²·k": 1.0}, 0.0).powers(8, 8) == pytest.approx((1.5, 1.5))


def test_cost_without_scipy_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(WeftError, match=r'weft cost needs scipy: pip install -e "\.\[measure\]"'):
        cost(["transformer-tiny"])
