"""A stream in portions."""

import threading
from collections.abc import Iterator

import pytest

from weft.data.portions import portions


def test_everything_comes_out_in_order_in_portions_of_at_most_n() -> None:
    out = list(portions(range(25), 10))
    assert [i for portion in out for i in portion] == list(range(25))
    assert max(map(len, out)) <= 10
    assert all(out)


def test_a_line_is_answered_before_the_next_one_is_sent() -> None:
    answered = threading.Event()

    def talk() -> Iterator[str]:
        yield "first"
        assert answered.wait(5), "the first line was held back until more came"
        yield "second"

    stream = portions(talk(), 10)
    assert next(stream) == ["first"]
    answered.set()
    assert next(stream) == ["second"]


def test_an_error_of_the_stream_comes_after_what_came_before_it() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    stream = portions(broken(), 10)
    assert next(stream) == [1]
    with pytest.raises(ValueError, match="broken"):
        next(stream)


def test_nothing_gives_nothing() -> None:
    assert list(portions([], 10)) == []
