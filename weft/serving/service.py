"""What every route may use: the model, the queue in front of it, the limits, and the counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from weft.data.languages import Languages, direction_of
from weft.errors import WeftError
from weft.plans.plan import Plan
from weft.serving.metrics import Metrics
from weft.serving.queue import Queue
from weft.tasks.translator import Translator


@dataclass(frozen=True)
class Settings:
    """How a model is served, and what one request may ask for."""

    api_key: str | None = None
    cors: tuple[str, ...] = ()  # origins whose pages may ask from a browser; "*" is all of them
    beam: int = 5
    length_penalty: float = 1.0
    characters: int = 20_000  # of all texts of a request
    texts: int = 200  # of a request
    body: int = 1_000_000  # bytes
    waiting: int = 500  # requests
    timeout: float = 60.0  # seconds


@dataclass(frozen=True)
class Service:
    translator: Translator
    languages: Languages
    plan: Plan
    card: str | None
    settings: Settings
    queue: Queue
    metrics: Metrics

    @property
    def codes(self) -> tuple[str, str]:
        """What source and target are called in a request."""
        return direction_of(self.languages)

    def check_size(self, texts: Sequence[str]) -> None:
        """Refuse more than one request may ask for, and what could not be sent back."""
        size, limits = sum(map(len, texts)), self.settings
        if len(texts) > limits.texts:
            raise WeftError(f"{len(texts):,} texts are too many: at most {limits.texts:,} a request.")
        if size > limits.characters:
            raise WeftError(f"{size:,} characters are too many: at most {limits.characters:,} a request.")
        try:
            "".join(texts).encode()
        except UnicodeEncodeError:
            raise WeftError("a text that is not Unicode (a lone surrogate).") from None

    @property
    def name(self) -> str:
        """Of the model, without the path to it."""
        return ",".join(folder.path.name for folder in self.translator.folders)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(_service)]  # an argument of a route: `def route(service: Served)`
