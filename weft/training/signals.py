"""Ctrl-C and the request to end (SIGTERM): at once, or when the weights have moved as a whole."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def held_back() -> Iterator[list[int]]:
    """Ctrl-C and a request to end wait for the end of this block; which of them came is in the list.

    What someone else takes care of, or ignores, is left to them.
    """
    asked: list[int] = []
    ctrl_c = signal.default_int_handler
    usual: dict[int, tuple[Any, ...]] = {signal.SIGINT: (ctrl_c,), signal.SIGTERM: (ctrl_c, signal.SIG_DFL)}
    now = {number: signal.getsignal(number) for number in usual}
    held = {number: handler for number, handler in now.items() if _is_main_thread() and handler in usual[number]}
    for number in held:
        signal.signal(number, lambda number, _: asked.append(number))
    try:
        yield asked
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)


@contextmanager
def as_ctrl_c() -> Iterator[list[int]]:
    """A request to end is a KeyboardInterrupt in this block, unless someone else takes care of it. Nothing is held."""
    is_ours = _is_main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if is_ours:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield []
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _is_main_thread() -> bool:
    """Only there can signals be heard."""
    return threading.current_thread() is threading.main_thread()
