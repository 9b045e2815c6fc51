"""The settings of the service. `weft serve` takes the defaults of its options from here, so this imports no torch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How a model is served, and what one request may ask for."""

    api_key: str | None = None
    cors: tuple[str, ...] = ()  # origins whose pages may send requests; "*" allows all
    beam: int | None = None  # of LibreTranslate's route; None: the default of `Beam`
    length_penalty: float | None = None
    characters: int = 20_000  # per request, all texts together
    texts: int = 200  # per request
    tokens: int = 4_096  # that a language model writes of one text
    together: int = 64  # texts that a language model writes at the same time; others wait
    body: int = 1_000_000  # bytes
    waiting: int = 500  # requests
    timeout: float = 60.0  # seconds
