"""What strangers send: files that were good once, and a way to see that whoever reads them survives."""

import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st

from weft.errors import WeftError

PATIENCE = 10.0  # seconds of the processor's time: nothing here is large
Result = TypeVar("Result")


def survived(action: Callable[[], Result]) -> Result | None:
    """What comes of it, or None where it is refused in words. Anything else is a bug of ours, and so is a hang."""
    began = time.process_time()
    try:
        return action()
    except WeftError:
        return None
    finally:
        assert time.process_time() - began < PATIENCE


@st.composite
def mutated(draw: st.DrawFn, good: bytes) -> bytes:
    """A file with a few pieces lost, repeated, overwritten or put in."""
    data = good
    for _ in range(draw(st.integers(1, 4))):
        at, until = sorted(draw(st.tuples(*[st.integers(0, len(data))] * 2)))
        until = min(until, at + draw(st.sampled_from([1, 2, 8, 64, 10**9])))
        piece = draw(st.one_of(st.binary(max_size=8), st.just(data[at:until] * 2), st.just(b"")))
        data = data[:at] + piece + data[until:]
    return data


anything: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([10**9, 10**18, -1, 0, 2**70, "none", "attention", "9" * 50])
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def meddled(draw: st.DrawFn, good: Any) -> Any:
    """Plain data with one of its values, at some depth, become anything."""
    if isinstance(good, dict) and good and draw(st.integers(0, 9)):
        key = draw(st.sampled_from(sorted(good)))
        return {**good, key: draw(meddled(good[key]))}
    if isinstance(good, list) and good and draw(st.integers(0, 9)):
        at = draw(st.integers(0, min(len(good), 300) - 1))
        return [*good[:at], draw(meddled(good[at])), *good[at + 1 :]]
    return draw(anything)


@st.composite
def lying(draw: st.DrawFn, good: bytes) -> bytes:
    """A safetensors file whose header says something else than it holds."""
    length = int.from_bytes(good[:8], "little")
    header = json.dumps(draw(meddled(json.loads(good[8 : 8 + length])))).encode()
    claimed = draw(st.sampled_from([len(header), len(header) + 1, 2**31, 2**63, 0]) | st.just(len(header)))
    return claimed.to_bytes(8, "little") + header + good[8 + length :]
