"""The queue in front of the model. One thread computes, so requests do not compete for the cores.

Texts that wait at the same time and have the same search are decoded in one batch, by the translator's engine where it
has one that can; what follows of steps is then true of batches. A request of more than `SHORT`
positions is long: before each of its decoding steps the short requests that have arrived are computed, so a short one
waits for one step of a long one, never for all of it. Requests of clients that
disconnect are dropped at the next step.

Texts of a language model are written in one batch (`streams.py`), a token of each at a time; between two of these steps
the thread computes one other request, if any waits.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from torch import Tensor

from weft.data.texts import Translation
from weft.decoding import Search
from weft.decoding.many import POSITIONS
from weft.models.base import Generative
from weft.parts.call import Memory
from weft.serving.metrics import Metrics
from weft.serving.settings import Settings
from weft.serving.streams import Stream, Streams
from weft.tasks.writer import Writer

SHORT = 1280  # positions of all texts of a request, tokens × beam width: 256 tokens with a beam of 5
WINDOW = 0.005  # seconds that the first request of a batch waits for others
Result = TypeVar("Result")


class Full(Exception):  # noqa: N818 (a state, not a mistake)
    """The queue is full; retry after `seconds`."""

    def __init__(self, seconds: int):
        super().__init__(seconds)
        self.seconds = seconds


class Died(Exception):  # noqa: N818
    """The computing thread was ended during a request; it has restarted."""


class _Gone(Exception):  # noqa: N818
    """All clients of the current batch have disconnected."""


@dataclass(eq=False)
class _Job:
    """One request: texts to translate, or a function to call."""

    future: asyncio.Future[Any]
    search: Search | None = None
    sources: list[list[int]] = field(default_factory=list)
    rated: int | None = None  # see `Texts.search`
    function: Callable[[], Any] | None = None
    since: float = field(default_factory=time.monotonic)
    begun: int = 0  # sources taken so far
    found: dict[int, list[Translation]] = field(default_factory=dict)
    gone: bool = False

    @property
    def is_short(self) -> bool:
        return self.search is None or sum(map(len, self.sources)) * self.search.rows <= SHORT

    @property
    def is_waiting(self) -> bool:
        return not self.gone and self.begun < (len(self.sources) or 1)

    def settle(self, result: Any, error: BaseException | None = None) -> None:
        """Pass the result to the event loop of the request, if it still waits."""

        def tell() -> None:
            if self.future.done():
                return
            if error is None:
                self.future.set_result(result)
            elif isinstance(error, Exception):
                self.future.set_exception(error)
            else:  # SystemExit and the like would end the event loop
                self.future.set_exception(Died(f"the computing thread: {error!r}"))

        self.gone = True
        with suppress(RuntimeError):  # the event loop has ended
            self.future.get_loop().call_soon_threadsafe(tell)


class Queue:
    """Requests in the order of their arrival, and the thread that computes them."""

    def __init__(self, predictor: Any, length: int, metrics: Metrics, together: int = Settings.together):
        self.predictor = predictor
        self.length = length
        self.metrics = metrics
        self.streams = Streams(lambda off: predictor.batch(off), together, metrics)
        self.pace = 0.0  # seconds per request, a running mean
        self._jobs: list[_Job] = []  # oldest first, including those being computed
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="weft computes", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop the thread at the next decoding step."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def __len__(self) -> int:
        return len(self._jobs) + len(self.streams)

    def check_room(self) -> None:
        """Raise `Full` if no request can wait any more."""
        if len(self) >= self.length:
            raise Full(max(1, round(self.pace * len(self))))

    @contextmanager
    def write(self, writers: Sequence[Writer]) -> Iterator[Stream]:
        """Write the texts of a request of a language model for as long as the context is open."""
        stream = Stream(writers)
        with self._changed:
            self.streams.add(stream)
            self._changed.notify()
        try:
            yield stream
        finally:  # answered, disconnected, or timed out
            stream.gone = True

    async def search(self, texts: Sequence[str], search: Search, rated: int | None = None) -> list[list[Translation]]:
        """Return the translations of each text, best first, `rated` of them with the log-probabilities of their tokens
        (by default all). No text may be longer than the model allows."""
        if not texts:
            return []
        sources = self.predictor.encode_all(texts)
        found = await self._join(_Job(asyncio.get_running_loop().create_future(), search, sources, rated))
        return [found[i] for i in range(len(texts))]

    async def run(self, function: Callable[[], Result]) -> Result:
        """Call a function in the computing thread, when its turn has come, and return its result."""
        job = _Job(asyncio.get_running_loop().create_future(), function=function, since=0.0)  # it waits for no batch
        return cast(Result, await self._join(job))

    async def _join(self, job: _Job) -> Any:
        with self._changed:
            self.check_room()
            self._jobs.append(job)
            self._changed.notify()
        try:
            return await job.future
        finally:  # answered, disconnected, or timed out
            with self._changed:
                job.gone = True
                self._jobs.remove(job)

    def _work(self) -> None:
        """Compute until closed. No error ends the loop, because there is no other thread."""
        while not self._closed:
            try:
                while self._wait():
                    # A long request computes the short ones before each of its steps, so it goes first.
                    self._compute(self._next(short=False) or self._next(short=True))
                    self._write()
            except BaseException as error:
                self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        """Report the error to all requests that were being computed."""
        with self._changed:
            for job in self._jobs:
                if job.begun > len(job.found):
                    job.settle(None, error)

    def _wait(self) -> bool:
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or len(self.streams) or any(job.is_waiting for job in self._jobs)
            )
            if self._closed:
                return False
            oldest = min((job.since for job in self._jobs if job.is_waiting), default=0.0)
        time.sleep(max(0.0, oldest + WINDOW - time.monotonic()))
        return True

    def _write(self) -> None:
        """One step of all texts that are being written."""
        try:
            self.streams.step()
        except BaseException as error:
            self.streams.fail(error if isinstance(error, Exception) else Died(f"the computing thread: {error!r}"))

    def _next(self, short: bool) -> list[tuple[_Job, int]]:
        """Return what to compute next: a function, or texts that fill a batch, taken from the requests in turn."""
        with self._changed:
            jobs = [job for job in self._jobs if job.is_waiting and job.is_short == short]
            if not jobs:
                return []
            search = jobs[0].search
            if search is None:
                jobs[0].begun = 1
                return [(jobs[0], 0)]
            jobs = [job for job in jobs if job.search == search]
            batch: list[tuple[_Job, int]] = []
            longest = 0
            while jobs:
                for job in jobs:
                    longest = max(longest, len(job.sources[job.begun]))
                    if batch and longest * (len(batch) + 1) > POSITIONS // search.rows:
                        return batch
                    batch.append((job, job.begun))
                    job.begun += 1
                jobs = [job for job in jobs if job.is_waiting]
            return batch

    def _compute(self, batch: list[tuple[_Job, int]]) -> None:
        """Compute a batch and settle its requests with the results or the error."""
        start = time.monotonic()
        try:
            if batch and batch[0][0].function:
                batch[0][0].settle(batch[0][0].function())
            elif batch:
                self._search(batch)
        except _Gone:
            return
        except BaseException as error:
            for job, _ in batch:
                job.settle(None, error)
        if done := len({job for job, _ in batch if job.gone}):
            self.pace = 0.9 * self.pace + 0.1 * (time.monotonic() - start) / done

    def _search(self, batch: list[tuple[_Job, int]]) -> None:
        search, is_short = batch[0][0].search, batch[0][0].is_short
        assert search

        def pause() -> None:
            if self._closed or all(job.gone for job, _ in batch):
                raise _Gone
            if not is_short:
                self._compute(self._next(short=True))

        models = [cast(Generative, _Pausing(model, pause)) for model in self.predictor.models]
        start = time.monotonic()
        found = self._by_engine(batch, search, pause)
        tokens = sum(len(some[0].ids) for some in found.values())
        if left := [each for each in batch if each not in found]:
            computed = search(models, self.predictor.prompt([job.sources[i] for job, i in left]))
            tokens += sum(len(some[0].ids) for some in computed)
            found |= {each: [self.predictor.translation(one) for one in some] for each, some in zip(left, computed)}
        self.metrics.computed(len(batch), tokens, time.monotonic() - start)
        for job, i in batch:
            job.found[i] = found[job, i]
            if len(job.found) == len(job.sources):
                job.settle(job.found)

    def _by_engine(
        self, batch: list[tuple[_Job, int]], search: Search, pause: Callable[[], None]
    ) -> dict[tuple[_Job, int], list[Translation]]:
        """What the translator's engine finds, which cannot pause between its steps."""
        if not self.predictor.engine:
            return {}
        pause()
        rated = None if any(job.rated is None for job, _ in batch) else max(job.rated or 0 for job, _ in batch)
        found = self.predictor.by_engine([job.sources[i] for job, i in batch], search, rated)
        return {each: some for each, some in zip(batch, found) if some is not None}


class _Pausing:
    """A model that pauses before each of its steps."""

    def __init__(self, model: Generative, pause: Callable[[], None]):
        self.model = model
        self.pause = pause

    def prompt(self, *arguments: Any) -> Memory | None:
        self.pause()
        return self.model.prompt(*arguments)

    def decode(self, *arguments: Any) -> Tensor:
        self.pause()
        return self.model.decode(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)
