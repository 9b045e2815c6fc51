"""Batches: the same for the same seed, every pair once, within the budget, little padding, and to be continued."""

from pathlib import Path

import numpy as np
import pytest
import torch

from weft.data import batches
from weft.data.batches import Batches, pad
from weft.data.codecs.subwords import PAD, SPECIAL_TOKENS, START, Subwords
from weft.data.corpus import PAIR, Corpus
from weft.data.pairs import batch_of
from weft.data.reading import read_pairs
from weft.models.base import IGNORED, Batch
from weft.parts.batching import by_length, group_by_length
from weft.plans.plan import Training
from weft.tasks.translation import Translation

TOKENISER = Subwords.train(
    (text for i in range(200) for text in (str(i), "x" * (1 + i % 10))), len(SPECIAL_TOKENS) + 280
)
MULTI30K = Path(__file__).parents[3] / "shared/data/multi30k"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """Each source is one of the numbers 0 … 199, its target is as many letters as its last digit says."""
    return written(tmp_path, [(str(i), "x" * (1 + i % 10)) for i in range(200)], TOKENISER)


def written(folder: Path, pairs: list[tuple[str, str]], tokeniser: Subwords) -> Corpus:
    return Corpus.write(folder, PAIR, Translation().encode(pairs, {"tokeniser": tokeniser}, None), len(tokeniser))


def batches_by_length(
    corpus: Corpus,
    budget: int,
    seed: int,
    tokeniser: Subwords = TOKENISER,
    bpe_dropout: float = 0.0,
    longest: int = 10_000,
) -> Batches:
    """The batches of a translation, as a training makes them."""
    task, codecs = Translation(), {"tokeniser": tokeniser}
    options = Training(bpe_dropout=bpe_dropout, longest=longest)
    return Batches(
        corpus,
        by_length(),
        budget,
        seed,
        lambda rows, random: task.collate(rows, codecs, random),
        lambda rows, seed: task.augment(rows, codecs, options, seed),
    )


def sides(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Source and target as they came from the corpus, PAD on the right."""
    return batch.inputs["source"], batch.targets.masked_fill(batch.targets == IGNORED, PAD)


def sources(batch: Batch) -> list[int]:
    return [int(TOKENISER.decode(row)) for row in batch.inputs["source"].tolist()]


def all_sources(some: object) -> list[list[int]]:
    return [sources(batch) for batch in some]  # type: ignore[attr-defined]


def are_equal(left: list[Batch], right: list[Batch]) -> bool:
    return len(left) == len(right) and all(
        a.targets.equal(b.targets)
        and a.inputs.keys() == b.inputs.keys()
        and all(a.inputs[name].equal(b.inputs[name]) for name in a.inputs)
        for a, b in zip(left, right)
    )


def padding(some: object) -> float:
    tokens = [tensor for batch in some for tensor in sides(batch)]  # type: ignore[attr-defined]
    return 1 - sum(int((t != PAD).sum()) for t in tokens) / sum(t.numel() for t in tokens)


def test_the_same_seed_gives_the_same_batches(corpus: Corpus) -> None:
    first, second = batches_by_length(corpus, 60, 7), batches_by_length(corpus, 60, 7)
    list(second.epoch(0))  # what was asked before does not matter
    assert are_equal(list(first.epoch(3)), list(second.epoch(3)))


def test_another_seed_or_epoch_gives_other_batches(corpus: Corpus) -> None:
    first = batches_by_length(corpus, 60, 7)
    composed = [
        {frozenset(group) for group in all_sources(some)}
        for some in (first.epoch(0), first.epoch(1), batches_by_length(corpus, 60, 8).epoch(0))
    ]
    assert composed[0] != composed[1]
    assert composed[0] != composed[2]


@pytest.mark.parametrize("bpe_dropout", [0.0, 0.5])
def test_every_pair_comes_once_an_epoch(corpus: Corpus, bpe_dropout: float) -> None:
    some = list(batches_by_length(corpus, 60, 1, bpe_dropout=bpe_dropout).epoch(0))
    assert sorted(i for batch in some for i in sources(batch)) == list(range(200))
    assert all(
        len(TOKENISER.decode(row)) == 1 + i % 10 for b in some for i, row in zip(sources(b), sides(b)[1].tolist())
    )


def test_every_pair_comes_once_an_epoch_over_several_pools(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "POOL", 64)  # three of them, and eight pairs that remain
    groups = all_sources(batches_by_length(corpus, 60, 1).epoch(0))
    assert sorted(i for group in groups for i in group) == list(range(200))


def test_batches_of_one_pool_come_before_those_of_the_next(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "POOL", 64)
    groups = all_sources(batches_by_length(corpus, 60, 1).epoch(0))
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
    for batch in batches_by_length(corpus, budget, 1, bpe_dropout=bpe_dropout).epoch(0):
        assert max(tensor.numel() for tensor in (*batch.inputs.values(), batch.targets)) <= budget


def test_a_batch_is_as_large_as_the_budget_allows() -> None:
    """Four rows of five tokens are 20: a fifth would not fit."""
    groups = group_by_length([([1] * 5, [1] * 5)] * 9, budget=20)
    assert [len(group) for group in groups] == [4, 4, 1]


def test_a_pair_longer_than_the_budget_is_a_batch_of_its_own() -> None:
    pairs = [([1] * 3, [1] * 3), ([1] * 9, [1] * 30), ([1] * 3, [1] * 3), ([1] * 30, [1] * 31)]
    assert sorted(sorted(group.tolist()) for group in group_by_length(pairs, budget=10)) == [[0, 2], [1], [3]]


def test_no_rows_make_no_batches() -> None:
    assert group_by_length([], 100) == []
    assert pad([]).shape == (0, 0)


@pytest.mark.parametrize("bpe_dropout", [0.0, 0.5])
@pytest.mark.parametrize("pool", [2**18, 64])
def test_skip_gives_the_remaining_batches_of_an_epoch(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch, pool: int, bpe_dropout: float
) -> None:
    monkeypatch.setattr(batches, "POOL", pool)
    some = batches_by_length(corpus, 60, 1, bpe_dropout=bpe_dropout)
    whole = list(some.epoch(2))
    for skipped in (0, 1, len(whole) // 2, len(whole) - 1, len(whole), len(whole) + 1):
        assert are_equal(list(some.epoch(2, skip=skipped)), whole[skipped:])


def test_bpe_dropout_makes_no_text_longer_than_the_longest(corpus: Corpus) -> None:
    longest = max(len(side) for pair in corpus for side in pair)
    some = list(batches_by_length(corpus, 60, 1, bpe_dropout=0.9, longest=longest).epoch(0))
    assert max(tensor.size(1) for batch in some for tensor in sides(batch)) == longest
    unlimited = batches_by_length(corpus, 60, 1, bpe_dropout=0.9).epoch(0)
    assert max(tensor.size(1) for batch in unlimited for tensor in sides(batch)) > longest
    assert sorted(i for batch in some for i in sources(batch)) == list(range(200))


def test_targets_are_ignored_beyond_the_end_of_their_row_whatever_their_id() -> None:
    batch = batch_of([([5, 2], [0, 0, 2]), ([5, 2], [7, 2])], START)
    assert batch.targets.tolist() == [[0, 0, 2], [7, 2, IGNORED]]


def test_batches_are_padded_on_the_right() -> None:
    batch = batch_of([([5, 6, 2], [7, 2]), ([5, 2], [7, 8, 9, 2])], START)
    assert batch.inputs["source"].tolist() == [[5, 6, 2], [5, 2, PAD]]
    assert sides(batch)[1].tolist() == [[7, 2, PAD, PAD], [7, 8, 9, 2]]
    assert batch.inputs["source"].dtype == batch.targets.dtype == torch.int64


def test_the_decoder_reads_the_target_shifted_by_the_start_token() -> None:
    batch = batch_of([([5, 6, 2], [7, 2]), ([5, 2], [7, 8, 9, 2])], START)
    assert batch.inputs["target"].tolist() == [[START, 7, 2, PAD], [START, 7, 8, 9]]
    assert batch.targets.tolist() == [[7, 2, IGNORED, IGNORED], [7, 8, 9, 2]]
    assert batch.count == 6


def test_at_most_six_percent_is_padding() -> None:
    """Lengths of caption-like sentences: log-normal, and the target's follows the source's."""
    random = np.random.default_rng(1)
    source = np.clip(random.lognormal(2.6, 0.35, 29_000), 4, 60).astype(int)
    target = np.clip(source * random.lognormal(0.0, 0.2, 29_000), 4, 60).astype(int)
    pairs = [(range(s), range(t)) for s, t in zip(source.tolist(), target.tolist())]
    groups = group_by_length(pairs, 4096)
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
    corpus = written(tmp_path, pairs, tokeniser)
    assert len(corpus) == 29_000
    assert padding(batches_by_length(corpus, 4096, 1, tokeniser).epoch(0)) <= 0.06
