"""The application: the routes, the page, and the guard in front of them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

import weft
from weft.data.languages import Languages
from weft.errors import WeftError
from weft.serving import answers, inside, keys, libretranslate, model, openai, pairs, run, tokeniser, translate
from weft.serving.guard import Guard
from weft.serving.metrics import CONTENT_TYPE, Metrics
from weft.serving.queue import Queue
from weft.serving.service import Served, ServedModel, Service
from weft.serving.settings import Settings
from weft.tasks.predictor import Predictor
from weft.viewing.page import DRAWING

STATIC = Path(__file__).parent / "static"
EXAMPLES = Path(__file__).parent / "examples.json"  # one answer of each route
ROUTES = {  # those that predictors can have
    "libretranslate": libretranslate.router,  # its clients send the key in a field
    "openai": openai.router,  # its errors have another shape
    "tokeniser": tokeniser.router,
    "translate": translate.router,
    "inside": inside.router,
    "run": run.router,
    "pairs": pairs.router,
    "model": model.router,
}
OF_OTHERS = ("libretranslate", "openai")  # which ask for the key themselves


def create_app(predictor: Predictor, settings: Settings | None = None, languages: Languages | None = None) -> FastAPI:
    """Return an application that serves a model; a translator needs `languages` if it does not record them."""
    languages = languages or predictor.languages
    if languages is None and "translate" in predictor.routes:
        raise WeftError("this model does not record its languages; pass --languages en-de.")
    settings = settings or Settings()
    metrics = Metrics()
    queue = Queue(predictor, settings.waiting, metrics, settings.together)
    first = predictor.folders[0]
    models = [ServedModel(",".join(folder.path.name for folder in predictor.folders), first.plan().task.name, "")]
    service = Service(predictor, languages, first.plan(), first.card(), settings, queue, metrics, models, [])

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        queue.start()
        yield
        queue.close()

    app = FastAPI(
        title=f"weft: {service.name}",
        version=weft.__version__,
        lifespan=lifespan,
        redirect_slashes=False,
        docs_url=None,  # FastAPI's page loads scripts from another host
        redoc_url=None,
    )
    app.state.service = service
    answers.install(app)
    for name in predictor.routes:
        own: dict[str, Any] = {"dependencies": [keys.required], "responses": answers.ERRORS}
        app.include_router(ROUTES[name], **({} if name in OF_OTHERS else own))

    @app.get("/metrics", response_class=PlainTextResponse, dependencies=[keys.required], responses=answers.ERRORS)
    async def read_metrics(service: Served) -> PlainTextResponse:
        """Metrics for Prometheus."""
        return PlainTextResponse(service.metrics.text(len(service.queue)), media_type=CONTENT_TYPE)

    described = _described(app, predictor.verb)
    app.openapi = lambda: described  # type: ignore[method-assign]
    app.mount("/drawing", Page(directory=DRAWING))
    app.router.default = Page(directory=STATIC, html=True)  # a mount at / would hide 405 errors of the routes
    app.add_middleware(Guard, service=service, routes=frozenset(described["paths"]))
    if settings.cors:
        app.add_middleware(CORSMiddleware, allow_origins=settings.cors, allow_methods=["*"], allow_headers=["*"])
    return app


class Page(StaticFiles):
    """Static files that answer 404 before 405."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            await super().get_response(path, {**scope, "method": "GET"})
        return await super().get_response(path, scope)


def _described(app: FastAPI, verb: str) -> dict[str, Any]:
    """Return the OpenAPI document with an example of each answer. Invalid requests get 400 and a sentence, never
    FastAPI's 422."""
    described = app.openapi()
    for unused in ("HTTPValidationError", "ValidationError"):
        described["components"]["schemas"].pop(unused, None)
    examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))[verb]
    for path, methods in described["paths"].items():
        for operation in methods.values():
            operation["responses"].pop("422", None)
            if path in examples:
                operation["responses"]["200"]["content"]["application/json"]["example"] = examples[path]
    return described
