"""A stream in chunks: each holds what arrived while the last one was processed. A file is processed in large chunks,
and a line typed at a terminal, or sent by a program that waits for its answer, at once."""

from collections.abc import Iterable, Iterator
from queue import Empty, Queue
from threading import Thread
from typing import TypeVar

Item = TypeVar("Item")
WINDOW = 0.01  # seconds that a chunk waits for one more item


def chunks(items: Iterable[Item], most: int) -> Iterator[list[Item]]:
    """Yield lists of 1 to `most` items. An error of the stream is raised after the items before it."""
    arrived: Queue[Item | _End] = Queue(maxsize=2 * most)
    Thread(target=_fill, args=(items, arrived), daemon=True).start()
    chunk: list[Item] = []
    while True:
        try:
            item = arrived.get(timeout=WINDOW if chunk else None)
        except Empty:
            yield chunk
            chunk = []
            continue
        if isinstance(item, _End):
            break
        chunk.append(item)
        if len(chunk) == most:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
    if item.error is not None:
        raise item.error


class _End:
    def __init__(self, error: BaseException | None = None):
        self.error = error


def _fill(items: Iterable[Item], into: "Queue[Item | _End]") -> None:
    try:
        for item in items:
            into.put(item)
        into.put(_End())
    except BaseException as error:  # raised again by the reader
        into.put(_End(error))
