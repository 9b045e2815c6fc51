"""Middleware that limits the size of a body and the time of an answer, cancels requests of clients that disconnect, and
counts requests."""

import asyncio
import time

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.serving.answers import problem
from weft.serving.service import Service

DRAINED = 16  # times the limit: read and discarded, because many clients read no answer before they have sent all
INCOMING = 100  # times the limit: held in memory of all bodies that are still arriving
DISCONNECTED = 499  # status counted for a request whose client disconnected


class _Disconnected(Exception):  # noqa: N818
    """The client disconnected before its body had arrived."""


class Guard:
    """The middleware in front of the application."""

    def __init__(self, app: ASGIApp, service: Service, routes: frozenset[str]):
        self.app = app
        self.service = service
        self.routes = routes
        self.incoming = 0  # bytes of bodies that are still arriving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.monotonic(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message.get("more_body") and not limit.expired():  # a stream has so long for each of its pieces
                limit.reschedule(asyncio.get_running_loop().time() + self.service.settings.timeout)
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        timeout = f"{self.service.settings.timeout:g} seconds"
        late = 408, f"the body did not arrive within {timeout}."
        try:
            async with asyncio.timeout(self.service.settings.timeout) as limit:
                body = await self._body(scope["path"], receive)
                late = 504, f"timed out after {timeout}; try a shorter text."
                if isinstance(body, bytes):
                    await self._answer(scope, body, receive, sending)
                else:
                    await body(scope, receive, sending)
        except TimeoutError:
            if not status:
                await problem(*late, path=scope["path"])(scope, receive, sending)
        except _Disconnected:
            pass
        except Exception:
            status = 500
            raise
        finally:
            route = scope["path"] if scope["path"] in self.routes else "other"
            self.service.metrics.answered(route, status or DISCONNECTED, time.monotonic() - start)

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(_gone(receive))
        first = True

        async def receiving() -> Message:
            nonlocal first
            if first:
                first = False
                return {"type": "http.request", "body": body, "more_body": False}
            await asyncio.shield(gone)
            return {"type": "http.disconnect"}

        answer = asyncio.ensure_future(self.app(scope, receiving, send))
        try:
            await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not answer.done():
                answer.cancel()
            await asyncio.wait({answer, gone})
        if not answer.cancelled():
            answer.result()

    async def _body(self, path: str, receive: Receive) -> bytes | JSONResponse:
        """Return the whole body, or an error answer if it is too large or too much arrives at once."""
        body, size, limit = bytearray(), 0, self.service.settings.body
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _Disconnected
                chunk = message.get("body", b"")
                size += len(chunk)
                if size <= limit:
                    body += chunk
                    self.incoming += len(chunk)
                if self.incoming > INCOMING * limit:
                    sentence = "too much data is being sent at once; retry in a second."
                    return problem(503, sentence, {"Retry-After": "1"}, path)
                if not message.get("more_body") or size > DRAINED * limit:
                    too_large = f"the body is larger than {limit:,} bytes."
                    return bytes(body) if size <= limit else problem(413, too_large, path=path)
        finally:
            self.incoming -= len(body)


async def _gone(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
