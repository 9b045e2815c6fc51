"""How does the service cope with many clients at once, and with one long request?

    python -m benchmarks.load                      200 clients for 60 seconds
    python -m benchmarks.load --quick --json

`weft serve` runs in a process of its own, and clients on the same machine keep their connections. Three measurements:
one client with short sentences alone (idle); the same while another asks for 10,000 characters again and again; and all
clients at once, each with the next sentence as soon as the last is answered. A request without status 200 is lost.
"""

import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Any

from benchmarks.record import arguments, record
from benchmarks.tables import load as table
from weft.samples.sentences import EXAMPLES

SHORT = EXAMPLES["en"]
LONG = (" ".join(SHORT) + "\n") * 30
CHARACTERS = 10_000


class Client:
    """One connection, one request after the other."""

    def __init__(self, address: str, key: str = ""):
        self.host, self.port = address.removeprefix("http://").split(":")
        self.key = key

    async def __aenter__(self) -> "Client":
        self.reader, self.writer = await asyncio.open_connection(self.host, int(self.port))
        return self

    async def __aexit__(self, *error: object) -> None:
        self.writer.close()

    async def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Status and body of the answer."""
        sent = json.dumps(body).encode() if body else b""
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n"
        head += f"Authorization: Bearer {self.key}\r\nContent-Length: {len(sent)}\r\n\r\n"
        self.writer.write(head.encode() + sent)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: (\d+)", answer, re.IGNORECASE)
        return int(answer.split()[1]), await self.reader.readexactly(int(length[1]) if length else 0)

    async def translate(self, text: str) -> tuple[int, float]:
        """Status and seconds."""
        began = time.perf_counter()
        status, _ = await self.ask("POST", "/translate", {"q": text, "source": "en", "target": "de"})
        return status, time.perf_counter() - began


async def press(address: str, clients: int, seconds: float, key: str = "") -> dict[str, Any]:
    """Runs clients for some seconds: how many requests were answered, how many lost, and how long they took."""
    end = time.perf_counter() + seconds
    taken: list[float] = []
    lost = 0

    async def one(first: int) -> None:
        nonlocal lost
        async with Client(address, key) as client:
            for text in cycle([*SHORT[first:], *SHORT[:first]]):
                if time.perf_counter() > end:
                    return
                try:
                    status, spent = await client.translate(text)
                except (OSError, EOFError):
                    lost += 1
                    return
                lost += status != 200
                taken.append(spent)

    await asyncio.gather(*(one(i % len(SHORT)) for i in range(clients)))
    return {"clients": clients, "requests": len(taken), "lost": lost, **spread(taken)}


async def beside_a_long_one(address: str, seconds: float) -> dict[str, Any]:
    """One short client, while another asks for 10,000 characters, again and again."""

    async def long() -> int:
        async with Client(address) as client:
            done = 0
            while True:
                assert (await client.translate(LONG[:CHARACTERS]))[0] == 200
                done += 1

    other = asyncio.ensure_future(long())
    await asyncio.sleep(0.5)
    found = await press(address, 1, seconds)
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)
    return found


def spread(seconds: Sequence[float]) -> dict[str, float]:
    marks = statistics.quantiles(seconds, n=100, method="inclusive") if len(seconds) > 1 else [seconds[0]] * 99
    return {f"p{n}": round(marks[n - 1], 4) for n in (50, 95, 99)}


@contextmanager
def serving(model: str) -> Iterator[str]:
    """The address of a service of its own."""
    words = [sys.executable, "-m", "weft", "serve", model, "--port", "0", "--engine", "torch"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().split()[3]  # Serving en-de at http:…
        finally:
            process.terminate()


async def measure(address: str, clients: int, seconds: float) -> dict[str, Any]:
    await press(address, 2, seconds / 10)  # to warm it up
    idle = await press(address, 1, seconds / 4)
    beside = await beside_a_long_one(address, seconds / 2)
    crowd = await press(address, clients, seconds)
    async with Client(address) as client:
        counts = dict(re.findall(r"^(\w+) ([\d.]+)$", (await client.ask("GET", "/metrics"))[1].decode(), re.MULTILINE))
    return {
        "seconds": seconds,
        "idle": idle,
        "beside": beside,
        "load": crowd,
        "texts_per_batch": round(float(counts["weft_batch_texts_sum"]) / float(counts["weft_batch_texts_count"]), 1),
        "tokens_per_second": float(counts["weft_tokens_per_second"]),
    }


def main() -> None:
    options = arguments(__doc__, quick="20 clients for 8 seconds")
    options.add_argument("--model", default="en-de")
    options.add_argument("--clients", type=int, default=200)
    options.add_argument("--seconds", type=float, default=60.0)
    given = options.parse_args()
    clients, seconds = (20, 8.0) if given.quick else (given.clients, given.seconds)
    with serving(given.model) as address:
        found = asyncio.run(measure(address, clients, seconds))
    record(given, "load", found, table(found), seeds=())
    sys.exit(found["load"]["lost"] > 0)


if __name__ == "__main__":
    main()
