"""The application: the routes, the page, and the guard before them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles

from weft.errors import WeftError
from weft.serving.inside import router as inside
from weft.serving.metrics import Metrics
from weft.serving.queue import Queue
from weft.serving.service import Service, Settings
from weft.serving.translate import router as translate
from weft.translator import Translator
from weft.viewing.page import DRAWING

STATIC = Path(__file__).parent / "static"


def create_app(translator: Translator, settings: Settings | None = None) -> FastAPI:
    settings = settings or Settings()
    metrics = Metrics()
    queue = Queue(translator, settings.waiting, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        queue.start()
        yield
        queue.close()

    app = FastAPI(title="weft", lifespan=lifespan)
    app.state.service = Service(translator, translator.languages or ("en", "de"), settings, queue, metrics)
    app.add_exception_handler(WeftError, _mistake)
    app.include_router(translate)
    app.include_router(inside)
    app.mount("/drawing", StaticFiles(directory=DRAWING))
    app.mount("/", StaticFiles(directory=STATIC, html=True))
    return app


async def _mistake(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"error": str(error)}, 400)
