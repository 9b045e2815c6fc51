"""Batches: the same for the same seed, every pair once, within the budget, little padding, and to be continued."""

from pathlib import Path

import numpy as np
import pytest
import torch

from weft.data import batches
from weft.data.batches import Batches, collate, compose, pad
from weft.data.codecs.subwords import PAD, SPECIAL_TOKENS, Subwords
from weft.data.corpus import Corpus
from weft.data.reading import read_pairs
from weft.models.base import Batch

TOKENISER = Subwords.train(
    (text for i in range(200) for text in (str(i), "x" * (1 + i % 10))), len(SPECIAL_TOKENS) + 280
)
MULTI30K = Path(__file__).parents[3] / "shared/data/multi30k"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """Each source is one of the numbers 0 … 199, its target is as many letters as its last digit says."""
    return Corpus.write(tmp_path, ((str(i), "x" * (1 + i % 10)) for i in range(200)), TOKENISER)


def sources(batch: Batch) -> list[int]:
    return [int(TOKENISER.decode(row)) for row in batch.source.tolist()]


def all_sources(some: object) -> list[list[int]]:
    return [sources(batch) for batch in some]  # type: ignore[attr-defined]


def are_equal(left: list[Batch], right: list[Batch]) -> bool:
    return len(left) == len(right) and all(
        a.source.equal(b.source) and a.target.equal(b.target) for a, b in zip(left, right)
    )


def padding(some: object) -> float:
    tokens = [tensor for batch in some for tensor in batch]  # type: ignore[attr-defined]
    return 1 - sum(int((t != PAD).sum()) for t in tokens) / sum(t.numel() for t in tokens)


def test_the_same_seed_gives_the_same_batches(corpus: Corpus) -> None:
    first, second = Batches(corpus, 60, 7, TOKENISER), Batches(corpus, 60, 7, TOKENISER)
    list(second.epoch(0))  # what was asked before does not matter
    assert are_equal(list(first.epoch(3)), list(second.epoch(3)))


def test_another_seed_and_another_epoch_give_others(corpus: Corpus) -> None:
    first = Batches(corpus, 60, 7, TOKENISER)
    composed = [
        {frozenset(group) for group in all_sources(some)}
        for some in (first.epoch(0), first.epoch(1), Batches(corpus, 60, 8, TOKENISER).epoch(0))
    ]
    assert composed[0] != composed[1]
    assert composed[0] != composed[2]


@pytest.mark.parametrize("bpe_dropout", [0.0, 0.5])
def test_every_pair_comes_once_an_epoch(corpus: Corpus, bpe_dropout: float) -> None:
    some = list(Batches(corpus, 60, 1, TOKENISER, bpe_dropout).epoch(0))
    assert sorted(i for batch in some for i in sources(batch)) == list(range(200))
    assert all(len(TOKENISER.decode(row)) == 1 + i % 10 for b in some for i, row in zip(sources(b), b.target.tolist()))


def test_every_pair_comes_once_an_epoch_over_several_pools(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "POOL", 64)  # three of them, and eight pairs that remain
    groups = all_sources(Batches(corpus, 60, 1, TOKENISER).epoch(0))
    assert sorted(i for group in groups for i in group) == list(range(200))


def test_a_pool_keeps_to_itself(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "POOL", 64)
    groups = all_sources(Batches(corpus, 60, 1, TOKENISER).epoch(0))
    order = np.random.default_rng((1, 0)).permutation(200).tolist()
    seen: list[int] = []
    for group in groups:
        seen += group
        if len(seen) == 64:
            break
    assert sorted(seen) == sorted(order[:64])


@pytest.mark.parametrize("bpe_dropout", [0.0, 0.5])
@pytest.mark.parametrize("budget", [20, 60, 1000])
def test_no_batch_is_larger_than_the_budget(corpus: Corpus, budget: int, bpe_dropout: float) -> None:
    for batch in Batches(corpus, budget, 1, TOKENISER, bpe_dropout).epoch(0):
        assert max(batch.source.numel(), batch.target.numel()) <= budget


def test_the_budget_is_used_to_the_brim() -> None:
    """Four rows of five tokens are 20: a fifth would not fit."""
    groups = compose([([1] * 5, [1] * 5)] * 9, budget=20)
    assert [len(group) for group in groups] == [4, 4, 1]


def test_a_pair_longer_than_the_budget_is_alone() -> None:
    pairs = [([1] * 3, [1] * 3), ([1] * 9, [1] * 30), ([1] * 3, [1] * 3), ([1] * 30, [1] * 31)]
    assert sorted(sorted(group.tolist()) for group in compose(pairs, budget=10)) == [[0, 2], [1], [3]]


def test_nothing_composes_to_nothing() -> None:
    assert compose([], 100) == []
    assert pad([]).shape == (0, 0)


@pytest.mark.parametrize("bpe_dropout", [0.0, 0.5])
@pytest.mark.parametrize("pool", [2**18, 64])
def test_skipping_continues_where_another_stopped(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch, pool: int, bpe_dropout: float
) -> None:
    monkeypatch.setattr(batches, "POOL", pool)
    some = Batches(corpus, 60, 1, TOKENISER, bpe_dropout)
    whole = list(some.epoch(2))
    for skipped in (0, 1, len(whole) // 2, len(whole) - 1, len(whole), len(whole) + 1):
        assert are_equal(list(some.epoch(2, skip=skipped)), whole[skipped:])


def test_bpe_dropout_makes_no_sentence_too_long(corpus: Corpus) -> None:
    longest = max(len(side) for pair in corpus for side in pair)
    some = list(Batches(corpus, 60, 1, TOKENISER, 0.9, longest).epoch(0))
    assert max(tensor.size(1) for batch in some for tensor in batch) == longest
    assert max(t.size(1) for batch in Batches(corpus, 60, 1, TOKENISER, 0.9).epoch(0) for t in batch) > longest
    assert sorted(i for batch in some for i in sources(batch)) == list(range(200))


def test_batches_are_filled_up_on_the_right() -> None:
    batch = collate([([5, 6, 2], [7, 2]), ([5, 2], [7, 8, 9, 2])])
    assert batch.source.tolist() == [[5, 6, 2], [5, 2, PAD]]
    assert batch.target.tolist() == [[7, 2, PAD, PAD], [7, 8, 9, 2]]
    assert batch.source.dtype == torch.int64


def test_at_most_six_percent_is_padding() -> None:
    """Lengths of caption-like sentences: log-normal, and the target's follows the source's."""
    random = np.random.default_rng(1)
    source = np.clip(random.lognormal(2.6, 0.35, 29_000), 4, 60).astype(int)
    target = np.clip(source * random.lognormal(0.0, 0.2, 29_000), 4, 60).astype(int)
    pairs = [(range(s), range(t)) for s, t in zip(source.tolist(), target.tolist())]
    groups = compose(pairs, 4096)
    assert sum(map(len, groups)) == 29_000
    places = sum(len(group) * sum(_widths(pairs, group)) for group in groups)
    assert 1 - (source.sum() + target.sum()) / places <= 0.06


def _widths(pairs: list[tuple[range, range]], group: object) -> list[int]:
    return [max(len(pairs[i][side]) for i in group.tolist()) for side in (0, 1)]  # type: ignore[attr-defined]


def test_at_most_six_percent_is_padding_on_multi30k(tmp_path: Path) -> None:
    if not MULTI30K.is_dir():
        pytest.skip(f"{MULTI30K} is not there")
    pairs = list(read_pairs([MULTI30K / "train.en.xz", MULTI30K / "train.de.xz"]))
    tokeniser = Subwords.train((text for pair in pairs for text in pair), 10_000)
    corpus = Corpus.write(tmp_path, pairs, tokeniser)
    assert len(corpus) == 29_000
    assert padding(Batches(corpus, 4096, 1, tokeniser).epoch(0)) <= 0.06
