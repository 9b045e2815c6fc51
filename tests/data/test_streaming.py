"""A stream in chunks: complete, in order, without waiting for more than has arrived."""

import threading
from collections.abc import Iterator

import pytest

from weft.data.streaming import chunks


def test_chunks_hold_every_item_in_order_and_at_most_n() -> None:
    out = list(chunks(range(25), 10))
    assert [i for chunk in out for i in chunk] == list(range(25))
    assert max(map(len, out)) <= 10
    assert all(out)


def test_item_is_yielded_before_the_next_one_arrives() -> None:
    answered = threading.Event()

    def talk() -> Iterator[str]:
        yield "first"
        assert answered.wait(5), "the first line was held back until more came"
        yield "second"

    stream = chunks(talk(), 10)
    assert next(stream) == ["first"]
    answered.set()
    assert next(stream) == ["second"]


def test_error_is_raised_after_the_items_before_it() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    stream = chunks(broken(), 10)
    assert next(stream) == [1]
    with pytest.raises(ValueError, match="broken"):
        next(stream)


def test_empty_stream_yields_no_chunk() -> None:
    assert list(chunks([], 10)) == []
