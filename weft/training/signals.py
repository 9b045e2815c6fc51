"""Handling Ctrl-C and SIGTERM: immediately, or after the update of the weights is complete."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def held_back() -> Iterator[list[int]]:
    """Hold Ctrl-C and SIGTERM back until the end of this block; the list has those that came. Signals that have another
    handler, or are ignored, are left alone."""
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
    """Raise KeyboardInterrupt on SIGTERM in this block, unless it has another handler. Nothing is held back."""
    is_ours = _is_main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if is_ours:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield []
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _is_main_thread() -> bool:
    """Whether this is the main thread, the only one that can handle signals."""
    return threading.current_thread() is threading.main_thread()
