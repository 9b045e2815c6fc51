"""Sampling: from the model's own distribution, sharpened or cut, and the same for the same seed."""

import math
from collections import Counter

import pytest
import torch

from tests.decoding.fakes import FOREVER, TRAP, A, B, C, TableModel, one_table, searched, sources
from weft.data.codecs.subwords import END, START
from weft.decoding import Greedy, Sample
from weft.errors import WeftError

P = {A: 0.5, B: 0.3, C: 0.2}
ONE_WORD = {START: P, A: {END: 1.0}, B: {END: 1.0}, C: {END: 1.0}}


def shaped(sample: Sample) -> list[float]:
    """What is drawn from instead of 0.5, 0.3, 0.2."""
    weights = sample.shaped(torch.tensor([[0.5, 0.3, 0.2]]).log())[0]
    return (weights / weights.sum()).tolist()


def test_default_is_the_models_own_distribution() -> None:
    assert shaped(Sample()) == pytest.approx([0.5, 0.3, 0.2])


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_temperature_sharpens_or_flattens(temperature: float) -> None:
    powers = [p ** (1 / temperature) for p in (0.5, 0.3, 0.2)]
    assert shaped(Sample(temperature)) == pytest.approx([p / sum(powers) for p in powers])


@pytest.mark.parametrize(
    ("top_k", "expected"), [(1, [1, 0, 0]), (2, [0.625, 0.375, 0]), (3, P.values()), (9, P.values())]
)
def test_top_k_keeps_the_k_likeliest(top_k: int, expected: list[float]) -> None:
    assert shaped(Sample(top_k=top_k)) == pytest.approx(list(expected))


@pytest.mark.parametrize(
    ("top_p", "expected"),
    [(0.0, [1, 0, 0]), (0.49, [1, 0, 0]), (0.51, [0.625, 0.375, 0]), (0.79, [0.625, 0.375, 0]), (0.81, P.values())],
)
def test_top_p_keeps_the_fewest_that_hold_p(top_p: float, expected: list[float]) -> None:
    assert shaped(Sample(top_p=top_p)) == pytest.approx(list(expected))


def test_top_p_is_for_each_row_and_in_any_order() -> None:
    probs = torch.tensor([[0.2, 0.5, 0.3], [0.05, 0.05, 0.9]])
    weights = Sample(top_p=0.6).shaped(probs.log())
    assert weights.tolist() == [pytest.approx([0, 0.5, 0.3]), pytest.approx([0, 0, 0.9])]


@pytest.mark.parametrize("sample", [Sample(temperature=1e-4), Sample(top_k=1), Sample(top_p=0.0)])
def test_sharpest_sampling_is_greedy(sample: Sample) -> None:
    batch = sources(1, 4, 2)
    for table in (TRAP, FOREVER, ONE_WORD):
        assert searched(sample, [one_table(table)], batch) == searched(Greedy(), [one_table(table)], batch)


def test_draws_are_as_frequent_as_they_are_probable() -> None:
    (found,) = searched(Sample(draws=4000), [one_table(ONE_WORD)], sources(2))
    counts = Counter(hypothesis.ids[0] for hypothesis in found)
    assert {token: counts[token] / 4000 for token in P} == pytest.approx(P, abs=0.025)


def test_log_probs_are_the_models_own() -> None:
    (found,) = searched(Sample(temperature=0.3, top_k=2, draws=20), [one_table(ONE_WORD)], sources(2))
    assert {h.ids[0] for h in found} == {A, B}
    for hypothesis in found:
        assert [math.exp(p) for p in hypothesis.log_probs] == pytest.approx([P[hypothesis.ids[0]], 1.0])


def test_the_same_seed_gives_the_same_draws() -> None:
    batch = sources(2, 3)

    def draws(seed: int) -> object:
        return searched(Sample(draws=20, seed=seed), [one_table(TRAP)], batch)

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)


def test_draws_do_not_depend_on_the_rest_of_the_batch() -> None:
    sample, batch = Sample(draws=3), sources(2, 7, 4)
    together = searched(sample, [one_table(TRAP)], batch)
    turned = searched(sample, [one_table(TRAP)], batch.flip(0))
    alone = [searched(sample, [one_table(TRAP)], batch[i : i + 1, :length])[0] for i, length in enumerate((2, 7, 4))]
    for found in (turned[::-1], alone):
        assert [[h.ids for h in some] for some in found] == [[h.ids for h in some] for some in together]


def test_sentences_and_draws_differ() -> None:
    found = searched(Sample(draws=8), [one_table(TRAP)], sources(3, 4))
    assert len({h.ids for h in found[0]}) > 1
    assert {h.ids for h in found[0]} != {h.ids for h in found[1]}


def test_global_random_state_is_unchanged() -> None:
    before = torch.get_rng_state()
    searched(Sample(draws=5), [one_table(TRAP)], sources(2))
    assert torch.equal(torch.get_rng_state(), before)


def test_draws_belong_to_their_sentence_best_first() -> None:
    tables = {A: {START: {A: 0.7, B: 0.3}, A: {END: 1.0}, B: {END: 1.0}}, B: {START: {C: 1.0}, C: {END: 1.0}}}
    first, second = searched(Sample(draws=10), [TableModel(tables)], sources(2, 2))
    assert {h.ids for h in first} == {(A, END), (B, END)}
    assert {h.ids for h in second} == {(C, END)}
    assert (len(first), len(second)) == (10, 10)
    assert [h.score for h in first] == sorted((h.score for h in first), reverse=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0.0},
        {"temperature": -1.0},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"top_k": -1},
        {"top_p": 1.5},
        {"top_p": -0.1},
        {"draws": 0},
        {"seed": -1},
    ],
)
def test_invalid_sampling_options_are_refused(wrong: dict[str, float]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(WeftError, match=f"sampling needs a finite temperature > 0, .*, got Sample.*{name}={value}"):
        Sample(**wrong)  # type: ignore[arg-type]


def test_no_sources_give_no_draws() -> None:
    assert searched(Sample(draws=2), [one_table(TRAP)], torch.zeros(0, 4, dtype=torch.long)) == []
