"""A stream in portions: whatever has arrived by the time the last portion is done, so that a file is worked on in large
portions and a line typed at a terminal, or sent by a program that waits for its answer, at once."""

from collections.abc import Iterable, Iterator
from queue import Empty, Queue
from threading import Thread
from typing import TypeVar

Item = TypeVar("Item")
WINDOW = 0.01  # seconds that a portion waits for one more


def portions(items: Iterable[Item], most: int) -> Iterator[list[Item]]:
    """Lists of 1 to `most` items. An error of the stream is raised after all that came before it."""
    arrived: Queue[Item | _End] = Queue(maxsize=2 * most)
    Thread(target=_pour, args=(items, arrived), daemon=True).start()
    portion: list[Item] = []
    while True:
        try:
            item = arrived.get(timeout=WINDOW if portion else None)
        except Empty:
            yield portion
            portion = []
            continue
        if isinstance(item, _End):
            break
        portion.append(item)
        if len(portion) == most:
            yield portion
            portion = []
    if portion:
        yield portion
    if item.error is not None:
        raise item.error


class _End:
    def __init__(self, error: BaseException | None = None):
        self.error = error


def _pour(items: Iterable[Item], into: "Queue[Item | _End]") -> None:
    try:
        for item in items:
            into.put(item)
        into.put(_End())
    except BaseException as error:  # whatever it was, the reader must hear of it
        into.put(_End(error))
