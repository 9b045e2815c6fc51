"""What stands before the application: a request's body is read up to a limit, its answer has a limit of time, and
whoever hangs up is no longer computed for. It also counts."""

import asyncio
import time

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.serving.answers import problem
from weft.serving.service import Service

DRAINED = 16  # times the limit that is read and thrown away, because many clients read no answer before they have sent

COMING = 100  # times the limit that is held of all bodies which are not whole yet

HUNG_UP = 499  # what is counted for a request that was not answered because nobody was there


class _HungUp(Exception):  # noqa: N818
    """The client has gone before its body was there."""


class Guard:
    def __init__(self, app: ASGIApp, service: Service, routes: frozenset[str]):
        self.app = app
        self.service = service
        self.routes = routes
        self.coming = 0  # bytes of bodies that are not whole yet

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.monotonic(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        within = f"within {self.service.settings.timeout:g} seconds"
        late = 408, f"the body did not come {within}."
        try:
            async with asyncio.timeout(self.service.settings.timeout):
                body = await self._body(receive)
                late = 504, f"there was no answer {within}; a shorter text may have one."
                if isinstance(body, bytes):
                    await self._answer(scope, body, receive, sending)
                else:
                    await body(scope, receive, sending)
        except TimeoutError:
            if not status:
                await problem(*late)(scope, receive, sending)
        except _HungUp:
            pass
        except Exception:
            status = 500
            raise
        finally:
            route = scope["path"] if scope["path"] in self.routes else "other"
            self.service.metrics.answered(route, status or HUNG_UP, time.monotonic() - start)

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

    async def _body(self, receive: Receive) -> bytes | JSONResponse:
        """All of it, or what is answered where it is too large, or too many come at once."""
        body, size, limit = bytearray(), 0, self.service.settings.body
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _HungUp
                chunk = message.get("body", b"")
                size += len(chunk)
                if size <= limit:
                    body += chunk
                    self.coming += len(chunk)
                if self.coming > COMING * limit:
                    return problem(503, "too much is being sent at once; come again in a second.", {"Retry-After": "1"})
                if not message.get("more_body") or size > DRAINED * limit:
                    return bytes(body) if size <= limit else problem(413, f"the body has more than {limit:,} bytes.")
        finally:
            self.coming -= len(body)


async def _gone(receive: Receive) -> None:
    """Ends when the client has hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass
