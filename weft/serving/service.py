"""What every route can use: the model, its queue, the settings and the metrics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from pydantic import Field

from weft.data.languages import Languages, direction_of
from weft.decoding import Beam, Search, best_first
from weft.decoding.hypothesis import STRONGEST
from weft.errors import WeftError
from weft.plans.plan import Plan
from weft.serving.metrics import Metrics
from weft.serving.queue import Queue
from weft.serving.settings import Settings
from weft.tasks.generator import Generator
from weft.tasks.predictor import Predictor, Writing
from weft.tasks.translator import Translator
from weft.viewing.attention_heads import Head

# Fields of a request.
BeamWidth = Annotated[int, Field(ge=1, le=20)]
LengthPenalty = Annotated[float, Field(ge=-STRONGEST, le=STRONGEST, allow_inf_nan=False)]
HeadsOff = Annotated[
    list[Head], Field(max_length=1000, description="Heads to switch off; layers and heads count from 1.")
]


@dataclass(frozen=True)
class ServedModel:
    """One of the models of a service."""

    name: str
    task: str
    base: str  # what its paths begin with; empty: those of the page itself


@dataclass(frozen=True)
class Scene:
    """One state of the page that a lecture shows."""

    title: str
    caption: str
    address: str  # of the page: #/look?text=…


@dataclass(frozen=True)
class Service:
    """One served model."""

    name: str  # without its path
    predictor: Predictor
    languages: Languages | None
    plan: Plan
    card: str | None
    settings: Settings
    queue: Queue
    metrics: Metrics
    models: Sequence[ServedModel]  # itself, and all that are served beside it
    scenes: Sequence[Scene]

    @property
    def writing(self) -> Writing:
        """The model, for routes that only a model has that writes."""
        assert isinstance(self.predictor, Writing)
        return self.predictor

    @property
    def translator(self) -> Translator:
        """The model, for routes that only a translator has."""
        assert isinstance(self.predictor, Translator)
        return self.predictor

    @property
    def generator(self) -> Generator:
        """The model, for routes that only a language model has."""
        assert isinstance(self.predictor, Generator)
        return self.predictor

    @property
    def codes(self) -> tuple[str, str]:
        """The codes of the source and target language in a request."""
        assert self.languages
        return direction_of(self.languages)

    def search(self, options: int) -> Search:
        """Return the search by which LibreTranslate's route finds at least this many translations."""
        given = {"width": self.settings.beam, "length_penalty": self.settings.length_penalty}
        beam = Beam(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
        return best_first(max(beam.width, options), beam.length_penalty)

    def check_size(self, texts: Sequence[str]) -> None:
        """Raise an error for a request that is too large, or whose text cannot be encoded in an answer."""
        size, limits = sum(map(len, texts)), self.settings
        if len(texts) > limits.texts:
            raise WeftError(f"{len(texts):,} texts are too many; the limit is {limits.texts:,} per request.")
        if size > limits.characters:
            raise WeftError(f"{size:,} characters are too many; the limit is {limits.characters:,} per request.")
        try:
            "".join(texts).encode()
        except UnicodeEncodeError:
            raise WeftError("invalid Unicode: the text has a lone surrogate.") from None


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(_service)]  # for the arguments of a route: `def route(service: Served)`
