"""Several processes that translate side by side."""

import time
from contextlib import suppress
from pathlib import Path

import pytest

import weft
from tests.toys import toy_run
from weft.crew import Crew
from weft.decoding import Beam, Greedy


def test_a_crew_says_what_one_translator_says(tmp_path: Path) -> None:
    folder = str(toy_run(tmp_path / "run", longest=24).path)
    texts = ["red cat", "", "blue dog one", "cat", "two red cats"]
    with Crew(folder, 2) as crew:
        assert list(crew.search(texts, Beam(3))) == list(weft.load(folder).search(texts, Beam(3)))
        assert list(crew.search([], Greedy())) == []
        with pytest.raises(weft.WeftError, match=r"line 14 has \d+ tokens"):  # counted over all shares
            list(crew.search(["cat", "cat", "cat", "cat", "q" * 300], Greedy(), too_long="error", first=10))


def test_a_crew_that_is_stopped_ends_at_once() -> None:
    with suppress(KeyboardInterrupt), Crew("en-de", 1) as crew:
        job = crew._pool.submit(time.sleep, 120)
        while not job.running():
            time.sleep(0.01)
        began = time.monotonic()
        raise KeyboardInterrupt
    assert time.monotonic() - began < 60


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    with Crew("en-dee", 2) as crew, pytest.raises(weft.WeftError, match="en-de"):
        list(crew.search(["cat"], Greedy()))
