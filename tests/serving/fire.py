"""Clients of every bad kind, all at once, and good ones among them who know what their answer must be."""

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote

NAMES = ["Tom", "Mary", "My brother", "Our teacher", "The old man", "Her sister", "Peter", "Anna"]
DEEDS = ["bought {} books yesterday.", "has {} cats.", "waited for {} minutes.", "lives in room {}."]

STRANGE = [
    "\0",
    "one\0two",
    "\ud800",
    "שלום עולם",
    "\u202eabc\u202c مرحبا بالعالم",
    "x" * 10_000,
    "م" * 10_000,
    "a" + "\u0301" * 5_000,
    "👩\u200d👩\u200d👧" * 500,
    "\ufeff\u200b\u2028",
    " " * 15_000,
    "\n" * 15_000,
    "<b>" * 5_000,
    "<![<!",
    "a, " * 5_000,
]
MALFORMED = [
    b"",
    b"{",
    b"[" * 100_000,
    b"null",
    b"\xff\xfe\0",
    b'{"q": "a", "source": "en", "target": "\\ud800"}',
    b'{"q": 1e999, "source": "en"}',
    b'{"q": ["a", 7], "source": "en", "target": "de"}',
    b'{"q": "a", "alternatives": ' + b"9" * 9_000 + b"}",
    b"{" + b",".join(b'"%d": 0' % i for i in range(5_000)) + b"}",
]
EVERY = 30.0  # seconds from one crowd to the next
CROWD = 1000  # connections
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]
LATE = {408, 504}
BUSY = {500, 503} | LATE  # the thread was shot, too many wait
# A traceback, or a path: it begins in one of the folders that this machine has at its root.
ROOTS = b"|".join(re.escape(folder.name).encode() for folder in Path("/").iterdir() if folder.is_dir())
SECRETS = re.compile(rb"Traceback|File \"|\.py\b|site-packages|/(" + ROOTS + rb")/")


def marked(number: int) -> list[str]:
    """So many sentences, no two alike."""
    each = [f"{name} {deed}" for deed in DEEDS for name in NAMES]
    return [each[i % len(each)].format(11 + i) for i in range(number)]


class Fire:
    """What was sent to a service, and what came back: `seen` counts kinds of clients with the status that they got."""

    def __init__(self, port: int, answers: dict[str, str], seed: int = 2017):
        self.port = port
        self.answers = answers  # of each marked sentence
        self.dice = random.Random(seed)
        self.seen: Counter[tuple[str, str]] = Counter()

    async def burn(self, seconds: float, asking: int) -> None:
        """All kinds of clients for so long, each again as soon as it has its answer; of a crowd so many ask."""
        kinds: Sequence[Callable[[], Awaitable[None]]] = [
            *[self.good] * 6,
            *[self.good_list] * 2,
            self.good_api,
            *[self.strange] * 2,
            self.malformed,
            self.oversized,
            self.slow_body,
            self.slow_head,
            self.hangs_up,
        ]
        end = time.monotonic() + seconds

        async def again(kind: Callable[[], Awaitable[None]], pause: float = 0.0) -> None:
            while time.monotonic() < end:
                await kind()
                await asyncio.sleep(min(pause, max(0.0, end - time.monotonic())))

        await asyncio.gather(*map(again, kinds), again(partial(self.crowd, asking), EVERY))

    @property
    def lost(self) -> dict[tuple[str, str], int]:
        """Whoever got no answer, one of another, or one that gives something away."""
        return {key: count for key, count in self.seen.items() if key[1] in ("lost", "mixed", "tells", "unexpected")}

    # Those who behave.

    async def good(self, line: Line | None = None) -> None:
        text = self.dice.choice(list(self.answers))
        await self._ask("good", "/translate", _json(q=text), BUSY, {"translatedText": self.answers[text]}, line)

    async def good_list(self) -> None:
        texts = self.dice.sample(list(self.answers), 3)
        expected = {"translatedText": [self.answers[text] for text in texts]}
        await self._ask("good list", "/translate", _json(q=texts), BUSY, expected)

    async def good_api(self) -> None:
        text = self.dice.choice(list(self.answers))
        body = json.dumps({"text": text, "alignment": True}).encode()
        await self._ask("good api", "/api/translate", body, BUSY, {"translation": self.answers[text]})

    async def crowd(self, asking: int) -> None:
        """Very many connections at once, of which so many ask."""
        lines = await asyncio.gather(*(self._connected() for _ in range(CROWD)))
        await asyncio.gather(*(self.good(line) for line in lines[:asking]))
        for _, writer in lines:
            writer.close()

    # Those who do not.

    async def strange(self) -> None:
        text, path = self.dice.choice(STRANGE), self.dice.choice(["/translate", "/api/translate", "/detect"])
        way = self.dice.choice(["text", "html", "form"])
        if way == "form":
            body = f"q={quote(text, errors='surrogatepass')}&source=auto&target=de".encode()
        else:
            body = json.dumps({"text": text}).encode() if path == "/api/translate" else _json(q=text, format=way)
        kind = "application/x-www-form-urlencoded" if way == "form" else "application/json"
        await self._ask("strange", path, body, {200, 400} | BUSY, kind=kind)

    async def malformed(self) -> None:
        path = self.dice.choice(["/translate", "/api/translate", "/api/attention", "/detect"])
        await self._ask("malformed", path, self.dice.choice(MALFORMED), {400} | LATE)
        await asyncio.sleep(0.1)

    async def oversized(self) -> None:
        await self._ask("oversized", "/translate", b"x" * 2_000_000, {413} | LATE)
        await asyncio.sleep(0.5)

    async def slow_body(self) -> None:
        """A byte now and then, and never all of them."""
        answer = await self._trickled(_request("/translate", b" " * 10_000)[:-9_999], b" ")
        self.seen["slow body", "408" if answer == b"HTTP/1.1 408" else "lost"] += 1

    async def slow_head(self) -> None:
        """Nobody has asked, so nobody is answered; but the line is cut."""
        answer = await self._trickled(b"POST /translate HTTP/1.1\r\nX-Slow: ", b"x")
        self.seen["slow head", "unexpected" if answer else "cut"] += 1

    async def hangs_up(self) -> None:
        _, writer = await self._connected()
        request = _request("/translate", _json(q=" ".join(self.answers)))
        writer.write(request[: self.dice.randrange(1, 2 * len(request))])
        await asyncio.sleep(self.dice.uniform(0, 1))
        writer.transport.abort()
        self.seen["hangs up", "gone"] += 1

    # What is sent and what comes back.

    async def _connected(self) -> Line:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def _ask(
        self,
        name: str,
        path: str,
        body: bytes,
        errors: set[int],
        expected: dict[str, object] | None = None,
        line: Line | None = None,
        kind: str = "application/json",
    ) -> None:
        head = answer = b""
        reader, writer = line or await self._connected()
        with suppress(OSError, EOFError):
            writer.write(_request(path, body, kind))
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            answer = await reader.readexactly(int(length[1]) if length else 0)
        writer.close()
        self.seen[name, self._judged(head, answer, errors, expected)] += 1

    def _judged(self, head: bytes, answer: bytes, errors: set[int], expected: dict[str, object] | None) -> str:
        if not answer:
            return "lost"
        status, told = int(head.split()[1]), json.loads(answer)
        if SECRETS.search(head + answer):
            return "tells"
        if status == 200 and expected is not None:
            return "200" if expected.items() <= told.items() else "mixed"
        is_clear = status == 200 or list(told) == ["error"]
        return str(status) if status in errors and is_clear else "unexpected"

    async def _trickled(self, begin: bytes, more: bytes) -> bytes:
        """How the answer begins that comes while a byte is sent now and then; nothing, where the line is cut."""
        reader, writer = await self._connected()
        writer.write(begin)
        answer = asyncio.ensure_future(reader.read(len("HTTP/1.1 408")))
        while not (await asyncio.wait({answer}, timeout=0.2))[0]:
            writer.write(more)
        writer.close()
        return b"" if answer.exception() else answer.result()


def _json(**fields: object) -> bytes:
    return json.dumps({"source": "en", "target": "de", **fields}).encode()


def _request(path: str, body: bytes, kind: str = "application/json") -> bytes:
    head = ["Host: x", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    return "\r\n".join([f"POST {path} HTTP/1.1", *head, "", ""]).encode() + body
