"""Several processes that translate side by side."""

import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import weft
from tests.toys import toy_run
from weft.decoding import Beam, Greedy
from weft.tasks.pool import TranslatorPool


def test_a_pool_translates_as_one_translator_does(tmp_path: Path) -> None:
    folder = str(toy_run(tmp_path / "run", longest=24).path)
    texts = ["red cat", "", "blue dog one", "cat", "two red cats"]
    alone = weft.load(folder)
    with TranslatorPool(folder, 2) as pool:
        found = list(pool.search(texts, Beam(3)))
        # To the last bit, in batches of the same sentences with the same threads; others may be rounded differently.
        threads = torch.get_num_threads()
        torch.set_num_threads(max(1, threads // 2))
        assert found == [*alone.search(texts[:3], Beam(3)), *alone.search(texts[3:], Beam(3))]
        torch.set_num_threads(threads)
        for some, others in zip(found, alone.search(texts, Beam(3)), strict=True):
            for one, other in zip(some, others, strict=True):
                assert replace(one, score=0.0, log_probs=()) == replace(other, score=0.0, log_probs=())
                assert (one.score, *one.log_probs) == pytest.approx((other.score, *other.log_probs), abs=1e-5)
        assert list(pool.search([], Greedy())) == []
        with pytest.raises(weft.WeftError, match=r"line 14 has \d+ tokens"):  # counted over all shares
            list(pool.search(["cat", "cat", "cat", "cat", "q" * 300], Greedy(), too_long="error", first=10))


def test_a_pool_that_is_stopped_ends_at_once() -> None:
    with suppress(KeyboardInterrupt), TranslatorPool("en-de", 1) as pool:
        job = pool._pool.submit(time.sleep, 120)
        while not job.running():
            time.sleep(0.01)
        began = time.monotonic()
        raise KeyboardInterrupt
    assert time.monotonic() - began < 60


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    with TranslatorPool("en-dee", 2) as pool, pytest.raises(weft.WeftError, match="en-de"):
        list(pool.search(["cat"], Greedy()))
