"""weft serve MODEL"""

from typing import Annotated

import typer

from weft.commands.options import BeamWidth, Device, LengthPenalty, Model


def serve(
    model: Model,
    host: Annotated[
        str, typer.Option(help="Who can reach it: 127.0.0.1 is this machine, 0.0.0.0 is any.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8080,
    beam: BeamWidth = 5,
    length_penalty: LengthPenalty = 1.0,
    device: Device = "cpu",
) -> None:
    """Serve a model: translations for other programs, and a page that shows what it looks at.

    weft serve en-de
    """
    import uvicorn

    from weft.serving.app import create_app
    from weft.serving.service import Settings
    from weft.translator import load

    uvicorn.run(
        create_app(load(model, device), Settings(beam=beam, length_penalty=length_penalty)), host=host, port=port
    )
