"""Whoever says nothing, or does not read, is cut; whoever waits for an answer is not."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from weft.serving.connection import patient

SECONDS = 0.5
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def slow(scope: Scope, receive: Receive, send: Send) -> None:
    """An answer that takes longer than is waited for a question, and is larger than all buffers between."""
    await asyncio.sleep(2 * SECONDS)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"30000000")]})
    await send({"type": "http.response.body", "body": bytes(30_000_000)})


@pytest.fixture(scope="module")
def server() -> Iterator[uvicorn.Server]:
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(slow, http=patient(SECONDS), ws="none", lifespan="off", log_level="critical")
    server = uvicorn.Server(config)
    server.address = listening.getsockname()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    yield server
    server.should_exit = True
    thread.join()


def connected(server: uvicorn.Server) -> socket.socket:
    return socket.create_connection(server.address, timeout=30)  # type: ignore[attr-defined]


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHo"])
def test_an_idle_connection_is_closed(server: uvicorn.Server, said: bytes) -> None:
    with connected(server) as line:
        line.sendall(said)
        assert line.recv(1) == b""


def test_a_slow_reader_gets_the_whole_answer(server: uvicorn.Server) -> None:
    with connected(server) as line:
        line.sendall(REQUEST)
        assert sum(iter(lambda: len(line.recv(1_000_000)), 0)) > 30_000_000  # and then the line is closed


def test_a_client_that_does_not_read_is_disconnected(server: uvicorn.Server) -> None:
    with connected(server) as line:
        line.sendall(REQUEST)
        assert line.recv(8) == b"HTTP/1.1"
        time.sleep(4 * SECONDS)
        with suppress(ConnectionResetError):
            assert sum(iter(lambda: len(line.recv(1_000_000)), 0)) < 30_000_000
