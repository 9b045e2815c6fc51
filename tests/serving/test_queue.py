"""The queue before the model: a fake one, whose every step waits until the test lets it go on."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from weft.data.batches import pad
from weft.data.codecs.subwords import END
from weft.decoding import Greedy, Hypothesis
from weft.serving.metrics import Metrics
from weft.serving.queue import Died, Full, Queue
from weft.tasks.translator import Translator

LONG = "a" * 2000


class Model:
    """It writes down the size of every batch it is asked for, and steps only while `go` is set."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.ended: list[str] = []  # the first letter of every batch that has come to its end
        self.steps = 0
        self.go = threading.Event()
        self.go.set()

    def decode(self, rows: int) -> None:
        self.steps += 1
        assert self.go.wait(10)


class Steps:
    """A search of so many steps."""

    rows = 1

    def __init__(self, steps: int = 3):
        self.steps = steps

    def __call__(self, models: Any, source: Tensor, watch: Any = None) -> list[list[Hypothesis]]:
        models[0].batches.append(source.size(0))
        for _ in range(self.steps):
            models[0].decode(source.size(0))
        models[0].ended.append(chr(int(source[0, 0])))
        return [[Hypothesis((int(ids[0]), END), (0.0, 0.0), 0.0, (0, 0), True)] for ids in source]


class Fake:
    """What a queue asks of a translator: a text becomes its first letter."""

    engine = None

    def __init__(self) -> None:
        self.model = Model()
        self.models = [self.model]
        self.device = "cpu"

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [[*map(ord, text), END] for text in texts]

    def prompt(self, sources: Sequence[Sequence[int]]) -> Tensor:
        return pad(sources)

    def translation(self, one: Hypothesis) -> str:
        return chr(one.ids[0])


def served(test: Callable[[Queue, Model], Coroutine[Any, Any, None]], length: int = 10) -> Metrics:
    async def run() -> None:
        queue.start()
        try:
            await asyncio.wait_for(test(queue, fake.model), 20)
        finally:
            fake.model.go.set()
            queue.close()

    fake, metrics = Fake(), Metrics()
    queue = Queue(fake, length, metrics)  # type: ignore[arg-type]
    asyncio.run(run())
    return metrics


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.002)


def test_texts_that_arrive_together_are_decoded_together() -> None:
    search = Steps()

    async def test(queue: Queue, model: Model) -> None:
        answers = await asyncio.gather(queue.search(["x", "y"], search), queue.search(["z"], search))
        assert answers == [[["x"], ["y"]], [["z"]]]
        assert model.batches == [3]

    metrics = served(test)
    names = ("weft_batch_texts_count", "weft_batch_texts_sum", "weft_tokens_total")
    assert [metrics.registry.get_sample_value(name) for name in names] == [1, 3, 6]


def test_texts_with_different_searches_are_decoded_apart() -> None:
    async def test(queue: Queue, model: Model) -> None:
        await asyncio.gather(queue.search(["x"], Steps()), queue.search(["y"], Steps()))
        assert model.batches == [1, 1]

    served(test)


def test_a_short_request_goes_before_the_next_step_of_a_long_one() -> None:
    async def test(queue: Queue, model: Model) -> None:
        model.go.clear()
        long = asyncio.ensure_future(queue.search([LONG], Steps(steps=50)))
        await until(lambda: model.steps == 1)
        short = asyncio.ensure_future(queue.search(["s"], Steps(steps=2)))
        await until(lambda: len(queue) == 2)
        model.go.set()
        assert await asyncio.gather(short, long) == [[["s"]], [["a"]]]
        assert model.ended == ["s", "a"]

    served(test)


def test_long_requests_take_turns() -> None:
    """A batch holds a text of each before it holds a second of one."""

    async def test(queue: Queue, model: Model) -> None:
        search = Steps()
        done: list[str] = []

        async def ask(name: str, texts: list[str]) -> None:
            await queue.search(texts, search)
            done.append(name)

        await asyncio.gather(ask("twenty", [LONG] * 20), ask("two", [LONG] * 2))
        assert done == ["two", "twenty"]
        assert model.batches == [2] * 11

    served(test)


def test_a_cancelled_request_is_not_computed() -> None:
    async def test(queue: Queue, model: Model) -> None:
        model.go.clear()
        asked = asyncio.ensure_future(queue.search(["x"], Steps(steps=1000)))
        waiting = asyncio.ensure_future(queue.search(["y"], Steps()))
        await until(lambda: model.steps == 1)
        for one in (asked, waiting):
            one.cancel()
        await asyncio.gather(asked, waiting, return_exceptions=True)
        assert len(queue) == 0
        model.go.set()
        assert await queue.search(["z"], Steps()) == [["z"]]
        assert model.steps == 1 + 3
        assert model.batches == [1, 1]

    served(test)


def test_a_full_queue_gives_a_retry_time() -> None:
    async def test(queue: Queue, model: Model) -> None:
        model.go.clear()
        asked = asyncio.ensure_future(queue.search(["x"], Steps()))
        await until(lambda: model.steps == 1)
        with pytest.raises(Full) as full:
            await queue.search(["y"], Steps())
        assert full.value.seconds >= 1
        model.go.set()
        await asked
        assert await queue.search(["y"], Steps()) == [["y"]]

    served(test, length=1)


def test_a_function_runs_in_the_computing_thread() -> None:
    async def test(queue: Queue, model: Model) -> None:
        here = threading.current_thread().name
        there = await queue.run(lambda: threading.current_thread().name)
        assert there != here
        assert await queue.run(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await queue.run(lambda: 1 // 0)
        assert await queue.search(["x"], Steps()) == [["x"]]  # and it goes on computing

    served(test)


def test_an_error_of_a_search_reaches_all_its_requests() -> None:
    class Broken(Steps):
        def __call__(self, models: Any, source: Tensor, watch: Any = None) -> list[list[Hypothesis]]:
            raise RuntimeError("broken")

    async def test(queue: Queue, model: Model) -> None:
        search = Broken()
        answers = await asyncio.gather(*(queue.search(["x"], search) for _ in range(2)), return_exceptions=True)
        assert [str(answer) for answer in answers] == ["broken", "broken"]

    served(test)


def test_an_exception_that_ends_the_thread_fails_only_its_batch() -> None:
    class Fatal(Steps):
        def __call__(self, models: Any, source: Tensor, watch: Any = None) -> list[list[Hypothesis]]:
            raise SystemExit("the end")

    async def test(queue: Queue, model: Model) -> None:
        search = Fatal()
        asked = [queue.search(["x"], search), queue.search(["y"], search), queue.search(["z"], Steps())]
        first, second, other = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(first), type(second), other] == [Died, Died, [["z"]]]
        assert await queue.search(["x"], Steps()) == [["x"]]

    served(test)


def test_an_error_outside_the_search_is_reported_too(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, faults = Queue._next, iter([MemoryError("no room")])

    def failing_once(queue: Queue, short: bool) -> Any:
        batch = taken(queue, short)
        for fault in faults if batch else ():
            raise fault
        return batch

    monkeypatch.setattr(Queue, "_next", failing_once)

    async def test(queue: Queue, model: Model) -> None:
        with pytest.raises(MemoryError):
            await queue.search(["x"], Steps())
        assert await queue.search(["x"], Steps()) == [["x"]]

    served(test)


def test_a_real_model_gives_the_same_without_a_queue(toy: Translator) -> None:
    texts = ["red cat", "one two three", "blue dog", "green"]

    async def run() -> list[list[str]]:
        queue = Queue(toy, 10, Metrics())
        queue.start()
        try:
            found = await asyncio.gather(*(queue.search([text, "house"], Greedy()) for text in texts))
        finally:
            queue.close()
        return [[one[0].text for one in some] for some in found]

    assert asyncio.run(run()) == [toy.translate([text, "house"], beam=1) for text in texts]
    assert torch.is_inference_mode_enabled() is False
