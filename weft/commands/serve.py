"""weft serve MODEL…"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.commands.options import Device, Engine, Precision
from weft.serving.settings import Settings

if TYPE_CHECKING:
    import socket

NEEDED = ("fastapi", "uvicorn", "multipart", "prometheus_client", "jinja2")


def serve(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL…", help="Run folders or names of shipped models; A,B for an ensemble."),
    ],
    host: Annotated[str, typer.Option(help="127.0.0.1: this machine only; 0.0.0.0: all interfaces.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8080,
    api_key: Annotated[
        str | None, typer.Option(envvar="WEFT_API_KEY", help="API key that clients must send.", show_default=False)
    ] = Settings.api_key,
    cors: Annotated[
        list[str] | None, typer.Option(help="Allow cross-origin requests from this origin (repeatable; * for any).")
    ] = None,
    languages: Annotated[str | None, typer.Option(help="en-de, if the model does not record its languages.")] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy search.")] = Settings.beam,
    length_penalty: Annotated[
        float | None, typer.Option(help="α in log P / |Y|^α: larger prefers longer translations.")
    ] = Settings.length_penalty,
    characters: Annotated[int, typer.Option(min=1, help="Maximum characters per request.")] = Settings.characters,
    texts: Annotated[int, typer.Option(min=1, help="Maximum texts per request.")] = Settings.texts,
    tokens: Annotated[int, typer.Option(min=1, help="Maximum tokens that a language model writes.")] = Settings.tokens,
    together: Annotated[
        int, typer.Option(min=1, help="Texts that a language model writes at the same time.")
    ] = Settings.together,
    waiting: Annotated[int, typer.Option(min=1, help="Queue length; beyond it clients get 503.")] = Settings.waiting,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds until a request times out.")] = Settings.timeout,
    scenes: Annotated[
        Path | None, typer.Option(help="A Markdown file whose links to the page are shown one after the other.")
    ] = None,
    device: Device = "cpu",
    engine: Engine = "auto",
    precision: Precision = "float32",
) -> None:
    """Serve models over HTTP: an API for other programs, and a page that shows a model at work.

    weft serve en-de

    weft serve en-de shakespeare --scenes lecture.md

    Clients of LibreTranslate work unchanged, those of OpenAI with a language model; /openapi.json describes the API.
    """
    from importlib.util import find_spec

    from weft.errors import WeftError, install

    if missing := [name for name in NEEDED if not find_spec(name)]:
        raise WeftError(f"the service needs {' and '.join(missing)}: {install('serve')}.")

    import uvicorn

    from weft.data.reading import named_languages
    from weft.engines.choosing import Choice, equip

    choice = Choice(engine, precision)  # before torch is imported
    from weft.serving.app import create_app
    from weft.serving.connection import patient
    from weft.serving.scenes import scenes_of
    from weft.tasks import load

    settings = Settings(
        api_key=api_key or None,
        cors=tuple(cors or ()),
        beam=beam,
        length_penalty=length_penalty,
        characters=characters,
        texts=texts,
        tokens=tokens,
        together=together,
        waiting=waiting,
        timeout=timeout,
    )
    shown_scenes = scenes_of(scenes) if scenes else []
    first, *others = predictors = [load(model, device) for model in models]
    app = create_app(first, settings, named_languages(languages), others, shown_scenes)
    socket = _listening(host, port)
    engines = equip(predictors, choice)
    shown = f"[{host}]" if ":" in host else host
    print(f"Serving {', '.join(models)} at http://{shown}:{socket.getsockname()[1]} (press Ctrl-C to stop)", flush=True)
    for name, by in engines.items():
        print(f"{name}: translations by {by}", flush=True)
    # No request log: it would contain the texts of queries.
    config = uvicorn.Config(
        app,
        http=patient(2 * timeout),  # one for the head of a request, one for its answer
        ws="none",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=5,
    )
    uvicorn.Server(config).run([socket])


def _listening(host: str, port: int) -> "socket.socket":
    """Open the socket here, so that a port in use is reported as a sentence."""
    import socket

    from weft.errors import WeftError

    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:  # in use, not permitted, or no such host
        raise WeftError(f"cannot listen on {host} port {port}: {error.strerror}. --port 0 takes a free one.") from None
