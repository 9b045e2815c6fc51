"""A connection that is not kept for ever: uvicorn waits without end for the head of a request and for whoever does not
read an answer, and a thousand of these leave no place for others."""

from asyncio import Transport

from uvicorn.protocols.http.h11_impl import H11Protocol


def patient(seconds: float) -> type[H11Protocol]:
    """How HTTP is spoken on a connection that is cut when for so long nothing was asked on it, or nothing read."""

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
            is_computed_for = self.cycle and not self.cycle.response_complete and not self.transport.is_closing()
            self._wait() if is_computed_for else self.transport.abort()  # the guard has a limit for the former

    return Connection
