"""Connections with a timeout. uvicorn waits forever for the head of a request and for clients that do not read their
answer, and a thousand of these would block all others."""

from asyncio import Transport

from uvicorn.protocols.http.h11_impl import H11Protocol


def patient(seconds: float) -> type[H11Protocol]:
    """Return an HTTP protocol that closes a connection on which nothing is sent or read for this many seconds."""

    class Connection(H11Protocol):
        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def on_response_complete(self) -> None:
            self.deadline.cancel()
            self._wait()
            super().on_response_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self.deadline.cancel()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self.deadline = self.loop.call_later(seconds, self._lose_patience)

        def _lose_patience(self) -> None:
            is_computing = self.cycle and not self.cycle.response_complete and not self.transport.is_closing()
            self._wait() if is_computing else self.transport.abort()  # the guard limits the time of an answer

    return Connection
