"""weft serve MODEL"""

from typing import TYPE_CHECKING, Annotated

import typer

from weft.commands.options import BeamWidth, Device, LengthPenalty, Model

if TYPE_CHECKING:
    import socket

NEEDED = ("fastapi", "uvicorn", "multipart", "prometheus_client")


def serve(
    model: Model,
    host: Annotated[str, typer.Option(help="127.0.0.1: for this machine only; 0.0.0.0: for others too.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8080,
    api_key: Annotated[
        str | None, typer.Option(envvar="WEFT_API_KEY", help="What whoever asks must know.", show_default=False)
    ] = None,
    cors: Annotated[
        list[str] | None, typer.Option(help="An origin whose pages may ask from a browser, several times; * is all.")
    ] = None,
    languages: Annotated[str | None, typer.Option(help="en-de, where the model does not know its languages.")] = None,
    beam: BeamWidth = 5,
    length_penalty: LengthPenalty = 1.0,
    characters: Annotated[int, typer.Option(min=1, help="Of all texts of a request.")] = 20_000,
    texts: Annotated[int, typer.Option(min=1, help="Of a request.")] = 200,
    waiting: Annotated[int, typer.Option(min=1, help="Requests that may wait; others are told to come again.")] = 500,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds until a request is given up.")] = 60.0,
    device: Device = "cpu",
) -> None:
    """Serve a model: translations for other programs, and a page that shows what it looks at.

    weft serve en-de

    It speaks LibreTranslate's API, so that its clients work unchanged; /openapi.json describes all there is.
    """
    from importlib.util import find_spec

    from weft.errors import WeftError, install

    if missing := [name for name in NEEDED if not find_spec(name)]:
        raise WeftError(f"the service needs {' and '.join(missing)}: {install('serve')}.")

    import uvicorn

    from weft.data.reading import named_languages
    from weft.serving.app import create_app
    from weft.serving.connection import patient
    from weft.serving.service import Settings
    from weft.tasks import load

    settings = Settings(
        api_key=api_key or None,
        cors=tuple(cors or ()),
        beam=beam,
        length_penalty=length_penalty,
        characters=characters,
        texts=texts,
        waiting=waiting,
        timeout=timeout,
    )
    app = create_app(load(model, device), settings, named_languages(languages))
    socket = _listening(host, port)
    shown = f"[{host}]" if ":" in host else host
    print(f"{model} is served at http://{shown}:{socket.getsockname()[1]} (Ctrl-C ends it)", flush=True)
    # No log of requests: texts in a query would stand in it.
    config = uvicorn.Config(
        app,
        http=patient(2 * timeout),  # one for the head of a request, one until it is answered
        ws="none",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=5,
    )
    uvicorn.Server(config).run([socket])


def _listening(host: str, port: int) -> "socket.socket":
    """A socket of our own, so that a port that is taken is told in a sentence."""
    import socket

    from weft.errors import WeftError

    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:  # taken, not ours, or no such host
        raise WeftError(
            f"{host} port {port} cannot be listened on: {error.strerror}. --port 0 takes a free one."
        ) from None
