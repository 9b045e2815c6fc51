"""Texts of several requests that are written in one batch: new ones join, gone ones leave, and none waits for all."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.serving.test_openai import served
from weft.decoding.continuous import Continuous, Step
from weft.decoding.sampling import Sampling
from weft.serving.app import create_app
from weft.serving.metrics import Metrics
from weft.serving.queue import Died, Full, Queue
from weft.serving.settings import Settings
from weft.tasks.generator import Generator
from weft.tasks.writer import Writer
from weft.viewing.attention_heads import Head

TEXT = "The red cat"
LONG = 200


def run(lm: Generator, test: Callable[[Queue], Coroutine[Any, Any, None]], together: int = 8) -> Metrics:
    metrics = Metrics()

    async def running() -> None:
        queue.start()
        try:
            await asyncio.wait_for(test(queue), 60)
        finally:
            queue.close()

    queue = Queue(lm, 10, metrics, together)
    asyncio.run(running())
    return metrics


def writer(lm: Generator, tokens: int, seed: int = 1, draw: int = 0, off: Sequence[Head] = ()) -> Writer:
    return lm.writer(lm.prompt(TEXT), Sampling(), max_tokens=tokens, seed=seed, draw=draw, off=off)


async def text(queue: Queue, *writers: Writer) -> list[str]:
    with queue.write(writers) as stream:
        async for _ in stream.pieces():
            pass
    return [one.text for one in writers]


def alone(lm: Generator, tokens: int, seed: int = 1, off: Sequence[Head] = ()) -> str:
    return lm.complete([TEXT], Sampling(), max_tokens=tokens, seed=seed, off=off)[0][0].text


def test_a_new_request_joins_and_each_is_what_it_is_alone(lm: Generator) -> None:
    async def test(queue: Queue) -> None:
        ended: list[str] = []
        long, short = writer(lm, LONG), writer(lm, 5, seed=2)

        async def ask(name: str, one: Writer) -> None:
            await text(queue, one)
            ended.append(name)

        first = asyncio.ensure_future(ask("long", long))
        while len(long.steps) < 3:
            await asyncio.sleep(0.001)
        await ask("short", short)
        assert len(long.steps) < LONG, "the short one has ended on the way"
        await first
        assert ended == ["short", "long"]
        assert long.text == alone(lm, LONG)
        assert short.text == alone(lm, 5, seed=2)

    metrics = run(lm, test)
    assert metrics.registry.get_sample_value("weft_tokens_total") == LONG + 5
    assert metrics.registry.get_sample_value("weft_batch_texts_count") == LONG, "five steps were of both"


def test_many_texts_of_one_request_do_not_keep_another_waiting(lm: Generator) -> None:
    async def test(queue: Queue) -> None:
        many = [writer(lm, 20, draw=draw) for draw in range(40)]
        large = asyncio.ensure_future(text(queue, *many))
        while not many[0].steps:
            await asyncio.sleep(0.001)
        await text(queue, writer(lm, 5))
        assert sum(one.finish is not None for one in many) < 20
        assert len({*await large}) == 40

    run(lm, test, together=4)


def test_other_work_is_done_between_two_steps(lm: Generator) -> None:
    async def test(queue: Queue) -> None:
        long = writer(lm, LONG)
        writing = asyncio.ensure_future(text(queue, long))
        while not long.steps:
            await asyncio.sleep(0.001)
        for _ in range(3):
            assert await queue.run(lambda: threading.current_thread().name) == "weft computes"
        assert long.finish is None
        await writing

    run(lm, test)


def test_a_request_that_is_cancelled_leaves_the_batch(lm: Generator) -> None:
    async def test(queue: Queue) -> None:
        gone, other = writer(lm, 4000), writer(lm, 50, seed=3)
        writing, staying = asyncio.ensure_future(text(queue, gone)), asyncio.ensure_future(text(queue, other))
        while len(gone.steps) < 3:
            await asyncio.sleep(0.001)
        writing.cancel()
        assert await staying == [alone(lm, 50, seed=3)]
        assert len(gone.steps) < 1000
        assert gone.finish is None
        while len(queue):
            await asyncio.sleep(0.001)

    run(lm, test)


@pytest.mark.parametrize(("fault", "told"), [(RuntimeError("broken"), RuntimeError), (SystemExit("the end"), Died)])
def test_an_error_reaches_every_request_in_the_batch(
    lm: Generator, monkeypatch: pytest.MonkeyPatch, fault: BaseException, told: type[Exception]
) -> None:
    step, faults = Continuous.step, iter([fault])

    def failing_once(batch: Continuous) -> list[Step]:
        for one in faults:
            raise one
        return step(batch)

    monkeypatch.setattr(Continuous, "step", failing_once)

    async def test(queue: Queue) -> None:
        both = [text(queue, writer(lm, 5)), text(queue, writer(lm, 5, seed=2))]
        assert {type(one) for one in await asyncio.gather(*both, return_exceptions=True)} <= {told, list}
        assert await text(queue, writer(lm, 5)) == [alone(lm, 5)]

    run(lm, test)


def test_streams_count_as_waiting_requests(lm: Generator) -> None:
    async def test(queue: Queue) -> None:
        queue.length = 1
        with queue.write([writer(lm, 4000)]):
            with pytest.raises(Full):
                queue.check_room()
            with pytest.raises(Full):
                await queue.run(lambda: None)

    run(lm, test)


def test_a_client_that_leaves_in_mid_stream_frees_its_row(lm: Generator) -> None:
    with served(lm) as client:
        with closing(client.completions.create(model="toy", prompt=TEXT, max_tokens=4000, stream=True)) as stream:
            for _, _ in zip(range(3), stream):
                pass
        metrics = str(client.base_url.copy_with(path="/metrics"))
        for _ in range(200):
            told = client._client.get(metrics).text
            if "weft_queue_requests 0.0" in told:
                break
            time.sleep(0.02)
        else:
            raise AssertionError("the text is still being written")
        assert float(told.split("\nweft_tokens_total ")[1].split()[0]) < 4000


def test_a_stream_may_last_longer_than_the_timeout_and_an_answer_may_not(
    lm: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Continuous.step

    def slow(batch: Continuous) -> list[Step]:
        time.sleep(0.1)
        return step(batch)

    monkeypatch.setattr(Continuous, "step", slow)
    with TestClient(create_app(lm, Settings(timeout=1.0))) as client:
        asked = {"prompt": TEXT, "max_tokens": 15, "seed": 1}
        assert client.post("/v1/completions", json={**asked, "stream": True}).text.endswith("data: [DONE]\n\n")
        late = client.post("/v1/completions", json=asked)
        assert late.status_code == 504
        assert late.json()["error"]["type"] == "server_error"


def test_texts_without_some_heads_are_written_beside_others(lm: Generator) -> None:
    off = [Head("decoder", 1, 1), Head("decoder", 2, 2)]

    async def test(queue: Queue) -> None:
        without = writer(lm, 30, off=off)
        found = await asyncio.gather(
            text(queue, writer(lm, 30)), text(queue, without), text(queue, writer(lm, 30, seed=5))
        )
        assert found == [[alone(lm, 30)], [alone(lm, 30, off=off)], [alone(lm, 30, seed=5)]]
        assert found[0] != found[1]

    run(lm, test)
