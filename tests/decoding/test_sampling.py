"""Sampling, by hand: what each option leaves of a distribution of four tokens, and which token a chance draws."""

import math

import pytest
import torch
from torch import Tensor

from weft.decoding.sampling import Sampling, drawn
from weft.errors import WeftError

P = [0.1, 0.4, 0.3, 0.2]
LOG_P = torch.tensor(P).log()


def left(sampling: Sampling, log_probs: Tensor = LOG_P) -> list[float]:
    """The probabilities that are drawn from."""
    weights = sampling.shaped(log_probs[None])[0]
    return [round(value, 4) for value in (weights / weights.sum()).tolist()]


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(), P),
        (Sampling(0.0), [0, 1, 0, 0]),
        (Sampling(0.5), [0.0333, 0.5333, 0.3, 0.1333]),  # p² / Σ p²
        (Sampling(1e-30), [0, 1, 0, 0]),
        (Sampling(top_k=1), [0, 1, 0, 0]),
        (Sampling(top_k=2), [0, 0.5714, 0.4286, 0]),
        (Sampling(top_k=9), P),
        (Sampling(0.0, top_k=2), [0, 1, 0, 0]),
        (Sampling(top_p=0.0), [0, 1, 0, 0]),
        (Sampling(top_p=0.39), [0, 1, 0, 0]),
        (Sampling(top_p=0.6), [0, 0.5714, 0.4286, 0]),  # 0.4 are not enough, 0.7 are
        (Sampling(top_p=0.71), [0, 0.4444, 0.3333, 0.2222]),
        (Sampling(top_p=1.0), P),
        (Sampling(min_p=0.6), [0, 0.5714, 0.4286, 0]),  # at least 0.24
        (Sampling(min_p=0.0), P),
        (Sampling(min_p=1.0), [0, 1, 0, 0]),
        (Sampling(top_k=3, top_p=0.7), [0, 0.5714, 0.4286, 0]),  # of 0.9: 0.44 and 0.33 make 0.78
        (Sampling(0.5, top_p=0.6), [0, 0.64, 0.36, 0]),  # the temperature first: 0.53 are not enough
    ],
)
def test_what_is_left(sampling: Sampling, expected: list[float]) -> None:
    assert left(sampling) == pytest.approx(expected, abs=1e-4)


def test_tokens_as_likely_as_the_kth_stay() -> None:
    assert left(Sampling(top_k=1), torch.tensor([0.4, 0.4, 0.2]).log()) == [0.5, 0.5, 0]


def penalised(sampling: Sampling, prompt: list[int], written: list[int]) -> list[float]:
    assert sampling.penalises
    return (sampling.penalised(LOG_P, prompt, written) - LOG_P).tolist()


def test_repetition_penalty_is_of_prompt_and_continuation() -> None:
    """Log-probabilities are negative, so they are multiplied."""
    found = Sampling(repetition_penalty=2.0).penalised(LOG_P, [3, 3], [0])
    assert found.tolist() == pytest.approx([2 * math.log(0.1), math.log(0.4), math.log(0.3), 2 * math.log(0.2)])


def test_presence_and_frequency_penalties_are_of_what_was_written() -> None:
    assert penalised(Sampling(presence_penalty=0.5), [3], [1, 1, 2]) == pytest.approx([0, -0.5, -0.5, 0])
    assert penalised(Sampling(frequency_penalty=0.5), [3], [1, 1, 2]) == pytest.approx([0, -1.0, -0.5, 0])
    assert penalised(Sampling(presence_penalty=-1.0, frequency_penalty=0.5), [], [1, 1]) == pytest.approx([0, 0, 0, 0])


def test_bias_is_added() -> None:
    assert penalised(Sampling(logit_bias=((2, -100.0), (0, 1.5))), [], []) == pytest.approx([1.5, 0, -100.0, 0])


def test_penalties_leave_the_models_own_distribution_alone() -> None:
    before = LOG_P.clone()
    Sampling(repetition_penalty=2.0, presence_penalty=1.0, logit_bias=((0, 1.0),)).penalised(LOG_P, [1], [2])
    assert torch.equal(LOG_P, before)
    assert not Sampling(0.3, 5, 0.5, 0.5).penalises


@pytest.mark.parametrize(
    ("chance", "token"), [(0.0, 0), (0.0999, 0), (0.1001, 1), (0.4999, 1), (0.5001, 2), (0.8001, 3), (0.99999999, 3)]
)
def test_a_chance_draws_the_token_in_whose_part_it_falls(chance: float, token: int) -> None:
    for scale in (1.0, 7.0):  # weights need not be normalised
        weights = scale * torch.tensor([P], dtype=torch.float64)
        assert drawn(weights, torch.tensor([chance], dtype=torch.float64)).tolist() == [token]


def test_nothing_of_weight_zero_is_drawn() -> None:
    weights = torch.tensor([[0.0, 0.5, 0.0, 0.5, 0.0]], dtype=torch.float64).expand(1001, 5)
    chances = torch.linspace(0, 1 - 1e-12, 1001, dtype=torch.float64)
    assert set(drawn(weights, chances).tolist()) == {1, 3}


def test_draws_follow_the_distribution() -> None:
    chances = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    found = drawn(torch.tensor([P], dtype=torch.float64).expand(1000, 4), chances)
    assert torch.bincount(found).tolist() == [100, 400, 300, 200]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"temperature": -1.0}, "temperature must be a finite number of at least 0, got -1.0."),
        ({"temperature": math.nan}, "temperature must be a finite number of at least 0, got nan."),
        ({"top_k": 1.5}, "top_k: expected int, got 1.5."),
        ({"temperature": "hot"}, "temperature: expected float, got 'hot'."),
        ({"top_k": -1}, "top_k must be at least 0, got -1."),
        ({"top_p": 1.1}, "top_p must be between 0 and 1, got 1.1."),
        ({"min_p": -0.1}, "min_p must be between 0 and 1, got -0.1."),
        ({"repetition_penalty": 0.0}, "repetition_penalty must be a finite number above 0, got 0.0."),
        ({"presence_penalty": math.inf}, "presence_penalty must be a finite number, got inf."),
        ({"frequency_penalty": math.nan}, "frequency_penalty must be a finite number, got nan."),
        (
            {"top_k": -1, "top_p": 2.0},
            "top_k must be at least 0, got -1; top_p must be between 0 and 1, got 2.0.",
        ),
    ],
)
def test_options_out_of_range(options: dict[str, float], sentence: str) -> None:
    with pytest.raises(WeftError) as caught:
        Sampling(**options)  # type: ignore[arg-type]
    assert str(caught.value) == sentence
