"""Dropout keeps the expectation, forgets nothing on the way back, and is the identity afterwards."""

import pytest
import torch
from torch.testing import assert_close

from weft.parts.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.9])
def test_the_expectation_is_unchanged(p: float) -> None:
    """One survivor weighs 1/(1 - p): the mean of n ones strays by √(p / (1 - p) / n), 0.003 at most here."""
    assert Dropout(p)(torch.ones(1_000_000)).mean().item() == pytest.approx(1.0, abs=0.015)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.9])
def test_a_share_p_is_dropped(p: float) -> None:
    assert (Dropout(p)(torch.ones(1_000_000)) == 0).float().mean().item() == pytest.approx(p, abs=0.003)


def test_what_is_kept_is_scaled() -> None:
    kept = Dropout(0.25)(torch.full((1000,), 3.0))
    assert_close(kept.unique(), torch.tensor([0.0, 4.0]))


def test_the_four_features_of_one_random_number_are_drawn_apart() -> None:
    """Pairs of neighbours both dropped: p², not p."""
    dropped = (Dropout(0.5)(torch.ones(400_000)) == 0).view(-1, 4).float()
    both = dropped.T @ dropped / dropped.size(0)
    assert_close(both, torch.full((4, 4), 0.25) + 0.25 * torch.eye(4), atol=0.01, rtol=0)


def test_a_number_of_features_that_four_does_not_divide() -> None:
    assert Dropout(0.5)(torch.ones(3, 1, 5)).shape == (3, 1, 5)


def test_nothing_to_drop() -> None:
    assert Dropout(0.5)(torch.ones(0, 4)).shape == (0, 4)


def test_it_is_the_identity_in_eval() -> None:
    x = torch.randn(4, 6)
    assert Dropout(0.5).eval()(x) is x


def test_a_rate_of_zero_does_nothing() -> None:
    x = torch.randn(4, 6)
    assert Dropout(0.0)(x) is x


def test_the_gradient_is_masked_as_the_features_were() -> None:
    x = torch.ones(50, 6, requires_grad=True)
    y = Dropout(0.4)(x)
    y.sum().backward()
    assert_close(x.grad, y.detach())


def test_the_seed_decides() -> None:
    torch.manual_seed(7)
    first = Dropout(0.5)(torch.ones(100))
    torch.manual_seed(7)
    assert torch.equal(Dropout(0.5)(torch.ones(100)), first)


def test_a_rate_next_to_one() -> None:
    assert Dropout(1 - 1e-9)(torch.ones(100)).isfinite().all()


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5])
def test_a_rate_that_is_none(p: float) -> None:
    with pytest.raises(AssertionError, match=r"a dropout rate lies in \[0, 1\)"):
        Dropout(p)
