"""Which rows make a batch: by length, shuffled, or as blocks of one stream."""

import numpy as np
import pytest

from weft.parts.batching import Batching, Row, blocks, by_length, group_by_length, shuffled


def random(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def pairs(*lengths: tuple[int, int]) -> list[Row]:
    """Pairs of sequences of these lengths; each holds the number of its row."""
    return [([i] * source, [i] * target) for i, (source, target) in enumerate(lengths)]


def numbers(batches: list[list[Row]]) -> list[list[int]]:
    """The numbers of the rows in each batch."""
    return [[int(row[0][0]) for row in batch] for batch in batches]


def stream_of(*lengths: int) -> list[Row]:
    """Rows of one column whose tokens count 0, 1, 2 … from row to row."""
    ends = np.cumsum(lengths)
    return [(np.arange(end - length, end),) for end, length in zip(ends, lengths)]


def many_pairs() -> list[Row]:
    draw = random(5)
    return pairs(*((int(s), int(t)) for s, t in draw.integers(1, 12, (100, 2))))


@pytest.mark.parametrize("batching", [by_length(), shuffled()])
@pytest.mark.parametrize("budget", [12, 40, 1000])
def test_every_row_comes_once_and_batches_fit_the_budget(batching: Batching, budget: int) -> None:
    batches = batching(many_pairs(), budget, random())
    assert sorted(i for batch in numbers(batches) for i in batch) == list(range(100))
    assert all(len(batch) * max(len(side) for row in batch for side in row) <= budget for batch in batches)


@pytest.mark.parametrize("batching", [by_length(), shuffled(), blocks(length=4)])
def test_no_rows_make_no_batches(batching: Batching) -> None:
    assert batching([], 100, random()) == []


@pytest.mark.parametrize("batching", [by_length(), shuffled()])
def test_a_batch_is_as_large_as_the_budget_allows(batching: Batching) -> None:
    """Four rows of five tokens are 20: a fifth would not fit."""
    assert [len(batch) for batch in batching(pairs(*[(5, 5)] * 9), 20, random())] == [4, 4, 1]


@pytest.mark.parametrize("batching", [by_length(), shuffled()])
def test_a_row_longer_than_the_budget_is_a_batch_of_its_own(batching: Batching) -> None:
    rows = pairs((3, 3), (3, 3), (9, 30), (30, 31))
    assert sorted(numbers(batching(rows, 10, random()))) == [[0, 1], [2], [3]]


def test_by_length_is_what_group_by_length_finds() -> None:
    rows = many_pairs()
    groups = [group.tolist() for group in group_by_length(rows, 40)]
    assert numbers(by_length()(rows, 40, random())) == groups


def test_by_length_sorts_by_the_target_in_steps_of_two_and_then_by_the_source() -> None:
    """Targets of 2 and 3 tokens are one step, with sources down; those of 4 and 5 are the next, with sources up."""
    rows = pairs((4, 5), (2, 3), (3, 4), (4, 2), (2, 4), (3, 3))
    assert numbers(by_length()(rows, 1000, random())) == [[3, 5, 1, 4, 2, 0]]


def test_by_length_keeps_the_order_of_rows_of_equal_lengths() -> None:
    assert numbers(by_length()(pairs(*[(3, 3)] * 5), 6, random())) == [[0, 1], [2, 3], [4]]


def test_by_length_has_less_padding_than_shuffled() -> None:
    def places(batches: list[list[Row]]) -> int:
        return sum(len(batch) * max(len(row[side]) for row in batch) for batch in batches for side in (0, 1))

    rows = many_pairs()
    assert places(by_length()(rows, 60, random())) < places(shuffled()(rows, 60, random()))


def test_shuffled_takes_rows_in_the_order_they_come_in() -> None:
    """2 rows of 4 tokens are 8; a row of 9 does not fit beside them, nor a row of 1 beside it."""
    assert numbers(shuffled()(pairs((4, 1), (1, 3), (9, 2), (1, 1), (5, 5)), 10, random())) == [[0, 1], [2], [3, 4]]


def test_blocks_of_a_short_stream_by_hand() -> None:
    """Seven tokens in blocks of four predictions: one block, as fewer than two leave no choice where to begin."""
    [[(block,)]] = blocks(length=4)(stream_of(3, 2, 2), 100, random())
    assert block.tolist() == [0, 1, 2, 3, 4]  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(8))
def test_blocks_predict_every_token_between_the_ends_once_and_in_order(seed: int) -> None:
    """50 tokens in blocks of 8: fewer than a block are left out before the first and after the last."""
    batches = blocks(length=8)(stream_of(1, 20, 3, 9, 17), 24, random(seed))
    cut = sorted(np.asarray(row[0]).tolist() for batch in batches for row in batch)
    predicted = [token for block in cut for token in block[1:]]
    assert {len(block) for block in cut} == {9}, "blocks of one length, and so no padding"
    assert [block[0] for block in cut[1:]] == [block[-1] for block in cut[:-1]]
    assert predicted == list(range(predicted[0], predicted[-1] + 1))
    assert predicted[0] <= 8
    assert 49 - predicted[-1] < 8


def test_blocks_fill_a_batch_up_to_the_budget() -> None:
    """48 tokens from 0 … 7 on are five blocks or six of 8, three to a batch of 24 … 31."""
    for budget in (24, 31):
        batches = blocks(length=8)(stream_of(48), budget, random())
        assert [len(batch) for batch in batches][:-1] == [3] * (len(batches) - 1)
        assert all(len(batch) * 8 <= budget for batch in batches)
    assert {len(batch) for batch in blocks(length=8)(stream_of(48), 5, random())} == {1}, "a block is never cut"


def test_blocks_begin_at_another_offset_in_each_epoch() -> None:
    """The generator of each epoch is another: of eight offsets, forty epochs see all."""

    def offset(epoch: int) -> int:
        batches = blocks(length=8)(stream_of(80), 1000, random(epoch))
        return min(int(row[0][0]) for batch in batches for row in batch)

    assert {offset(epoch) for epoch in range(40)} == set(range(8))
    assert [offset(epoch) for epoch in range(5)] == [offset(epoch) for epoch in range(5)], "the same for the same seed"


def test_blocks_come_in_random_order() -> None:
    [batch] = blocks(length=2)(stream_of(100), 1000, random())
    begins = [int(row[0][0]) for row in batch]
    assert begins != sorted(begins)
