"""Texts that are being written: those of all requests in one batch, which new ones join between two steps."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from weft.decoding.continuous import Continuation, Continuous, Step
from weft.serving.metrics import Metrics
from weft.tasks.writer import Writer
from weft.viewing.attention_heads import Head

Off = tuple[Head, ...]  # attention heads that are switched off
READ = 2048  # tokens of prompts that are read before a step, or one prompt: the texts under way wait so long


@dataclass(frozen=True)
class Piece:
    """What one of the texts of a request has grown by."""

    index: int  # of the text
    text: str
    steps: tuple[Step, ...]  # the tokens since the piece before
    finish: str | None  # if it is the last


class Stream:
    """One request, in the event loop that waits for its pieces."""

    def __init__(self, writers: Sequence[Writer]):
        self.writers = writers
        self.begun = self.ended = 0  # texts
        self.gone = False  # the client has disconnected, or has all it asked for
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Queue[Piece | Exception] = asyncio.Queue()

    @property
    def is_waiting(self) -> bool:
        """Whether a text of it has not begun."""
        return not self.gone and self.begun < len(self.writers)

    def tell(self, news: Piece | Exception) -> None:
        """Pass a piece, or what went wrong, to the event loop."""
        with suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._news.put_nowait, news)

    async def pieces(self) -> AsyncIterator[Piece]:
        """The pieces of all its texts as they are written."""
        left = len(self.writers)
        while left:
            news = await self._news.get()
            if isinstance(news, Exception):
                raise news
            left -= news.finish is not None
            yield news


@dataclass
class _Row:
    """A text in the batch."""

    stream: Stream
    index: int
    told: int = 0  # tokens that the request has been told of


class Streams:
    """The requests under way. Only `add` is called outside the computing thread."""

    def __init__(self, batch: Callable[[Off], Continuous], rows: int, metrics: Metrics):
        self.rows = rows
        self.metrics = metrics
        self._streams: list[Stream] = []  # in the order of their arrival
        self._make_batch = batch
        self._batches: dict[Off, Continuous] = {}  # by the heads that are off: mostly one, of none
        self._of: dict[Continuation, _Row] = {}

    def __len__(self) -> int:
        return len(self._streams)

    def add(self, stream: Stream) -> None:
        self._streams.append(stream)

    def step(self) -> None:
        """Write a token of each text in the batch; before that, let some go and some join."""
        if not self._streams:
            return
        read = 0
        self._let_go()
        while sum(map(len, self._batches.values())) < self.rows and read < READ:
            if (writer := self._next()) is None:
                break
            if writer.off not in self._batches:
                self._batches[writer.off] = self._make_batch(writer.off)
            self._batches[writer.off].add(writer.continuation)
            read += len(writer.continuation.prompt)
        self._batches = {off: batch for off, batch in self._batches.items() if len(batch)}
        for batch in self._batches.values():
            start, rows = time.monotonic(), len(batch)
            steps = batch.step()
            ended = [step.continuation for step in steps if self._take(step) and not step.finish]
            batch.drop(ended)
            self.metrics.computed(rows, len(steps), time.monotonic() - start)

    def fail(self, error: Exception) -> None:
        """Report an error to every request with a text in the batch, and begin anew."""
        for row in self._of.values():
            row.stream.tell(error)
            row.stream.gone = True
        self._batches, self._of = {}, {}
        self._streams = [stream for stream in self._streams if not stream.gone]

    def _let_go(self) -> None:
        """Drop the texts of clients that are gone."""
        gone = [one for one, row in self._of.items() if row.stream.gone]
        for batch in self._batches.values():
            batch.drop(gone)
        for one in gone:
            del self._of[one]
        for stream in [stream for stream in self._streams if stream.gone]:
            self._streams.remove(stream)

    def _next(self) -> Writer | None:
        """The next text to begin: of the request with the fewest in the batch, so that none waits for a large one."""
        waiting = [stream for stream in self._streams if stream.is_waiting]
        if not waiting:
            return None
        stream = min(waiting, key=lambda one: one.begun - one.ended)
        writer = stream.writers[stream.begun]
        self._of[writer.continuation] = _Row(stream, stream.begun)
        stream.begun += 1
        return writer

    def _take(self, step: Step) -> bool:
        """Tell a request of a token; return whether its text has ended."""
        row = self._of[step.continuation]
        writer = row.stream.writers[row.index]
        text = writer.add(step)
        if text or writer.finish:
            row.stream.tell(Piece(row.index, text, tuple(writer.steps[row.told :]), writer.finish))
            row.told = len(writer.steps)
        if writer.finish:
            row.stream.ended += 1
            row.stream.gone = row.stream.gone or row.stream.ended == len(row.stream.writers)
            del self._of[step.continuation]
        return writer.finish is not None
