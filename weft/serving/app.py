"""The application: the routes, the page, and the guard in front of them."""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.middleware.gzip import GZipMiddleware
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
from weft.serving.service import Scene, ServedModel, Service
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
SMALLEST = 2000  # bytes of an answer that is compressed
COMPRESSION = 5  # of 9: twice as fast for 3 % more


def create_app(
    predictor: Predictor,
    settings: Settings | None = None,
    languages: Languages | None = None,
    others: Sequence[Predictor] = (),
    scenes: Sequence[Scene] = (),
) -> FastAPI:
    """Return an application that serves a model, and others beside it at models/NAME/. Translators that do not record
    their languages need `languages`; the page shows `scenes` one after the other."""
    metrics, settings = Metrics(), settings or Settings()
    services: list[Service] = []
    models: list[ServedModel] = []
    for each in (predictor, *others):
        spoken = languages or each.languages
        if spoken is None and "translate" in each.routes:
            raise WeftError(f"{each.name} does not record its languages; pass --languages en-de.")
        first, name = each.folders[0], _unused(each.name, [model.name for model in models])
        models.append(ServedModel(name, first.plan().task.name, f"models/{quote(name)}/" if models else ""))
        queue = Queue(each, settings.waiting, metrics, settings.together)
        plan, card = first.plan(), first.card()
        services.append(Service(name, each, spoken, plan, card, settings, queue, metrics, models, scenes))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        for service in services:
            service.queue.start()
        yield
        for service in services:
            service.queue.close()

    app = _application(services[0], lifespan)

    @app.get("/metrics", response_class=PlainTextResponse, dependencies=[keys.required], responses=answers.ERRORS)
    async def read_metrics() -> PlainTextResponse:
        """Metrics for Prometheus, of all models together."""
        waiting = sum(len(service.queue) for service in services)
        return PlainTextResponse(metrics.text(waiting), media_type=CONTENT_TYPE)

    routes = set(_describe(app, services[0]))
    for service in services if others else ():
        beside = _application(service)
        routes |= {f"/models/{service.name}{path}" for path in _describe(beside, service)}
        app.mount(f"/models/{service.name}", beside)
    app.mount("/drawing", Page(directory=DRAWING))
    app.router.default = Page(directory=STATIC, html=True)  # a mount at / would hide 405 errors of the routes
    app.add_middleware(GZipMiddleware, minimum_size=SMALLEST, compresslevel=COMPRESSION)
    app.add_middleware(Guard, service=services[0], routes=frozenset(routes))
    if settings.cors:
        app.add_middleware(CORSMiddleware, allow_origins=settings.cors, allow_methods=["*"], allow_headers=["*"])
    return app


def _unused(name: str, used: Sequence[str]) -> str:
    """This name, or if it is in use the next one: NAME-2."""
    names = (name if i == 1 else f"{name}-{i}" for i in count(1))
    return next(each for each in names if each not in used)


def _application(service: Service, lifespan: Callable[[FastAPI], Any] | None = None) -> FastAPI:
    """Return the routes of one model."""
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
    for name in service.predictor.routes:
        own: dict[str, Any] = {"dependencies": [keys.required], "responses": answers.ERRORS}
        app.include_router(ROUTES[name], **({} if name in OF_OTHERS else own))
    return app


class Page(StaticFiles):
    """Static files that answer 404 before 405. A browser asks each time whether they have changed."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            await super().get_response(path, {**scope, "method": "GET"})
        answer = await super().get_response(path, scope)
        answer.headers["Cache-Control"] = "no-cache"
        return answer


def _describe(app: FastAPI, service: Service) -> Iterable[str]:
    """Make the OpenAPI document with an example of each answer, and return its paths. Invalid requests get 400 and a
    sentence, never FastAPI's 422."""
    described = app.openapi()
    for unused in ("HTTPValidationError", "ValidationError"):
        described["components"]["schemas"].pop(unused, None)
    examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))[service.predictor.verb]
    for path, methods in described["paths"].items():
        for operation in methods.values():
            operation["responses"].pop("422", None)
            if path in examples:
                operation["responses"]["200"]["content"]["application/json"]["example"] = examples[path]
    app.openapi = lambda: described  # type: ignore[method-assign]
    return described["paths"]  # type: ignore[no-any-return]
