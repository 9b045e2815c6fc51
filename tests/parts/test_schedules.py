"""Schedules by their formulas, as a fraction of the peak."""

import math

import pytest

from weft.parts.schedules import constant, cosine, inverse_sqrt


@pytest.mark.parametrize(
    ("step", "rate"), [(1, 1 / 4000), (2000, 0.5), (4000, 1.0), (16_000, 0.5), (100_000, math.sqrt(0.04))]
)
def test_inverse_sqrt(step: int, rate: float) -> None:
    assert inverse_sqrt(100_000)(step) == pytest.approx(rate)


def test_inverse_sqrt_is_the_papers_formula() -> None:
    """d^-0.5 · min(step^-0.5, step · warmup^-1.5), brought to a peak of 1: times √warmup."""
    schedule = inverse_sqrt(1000, warmup=30)
    for step in range(1, 200):
        assert schedule(step) == pytest.approx(min(step**-0.5, step * 30**-1.5) * math.sqrt(30))


def test_inverse_sqrt_without_warmup() -> None:
    assert [inverse_sqrt(100, warmup=0)(step) for step in (1, 4, 100)] == [1.0, 0.5, 0.1]


@pytest.mark.parametrize(
    ("step", "rate"), [(1, 0.1), (10, 1.0), (35, 0.5 + math.sqrt(0.125)), (60, 0.5), (110, 0.0), (500, 0.0)]
)
def test_cosine(step: int, rate: float) -> None:
    """Up to step 10, then half a cosine over 100 steps: a quarter of the way at 35, half at 60."""
    assert cosine(110, warmup=10)(step) == pytest.approx(rate, abs=1e-12)


def test_cosine_ends_at_its_floor() -> None:
    schedule = cosine(110, warmup=10, floor=0.2)
    assert [schedule(step) for step in (10, 60, 110)] == pytest.approx([1.0, 0.6, 0.2])


def test_a_training_shorter_than_its_warmup() -> None:
    assert [cosine(5, warmup=10)(step) for step in (1, 5)] == [0.1, 0.5]


def test_constant() -> None:
    assert [constant(100)(step) for step in (1, 50, 1000)] == [1.0, 1.0, 1.0]
    assert [constant(100, warmup=4)(step) for step in (1, 2, 4, 9)] == [0.25, 0.5, 1.0, 1.0]
