"""Metrics of the service for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The counts of one application, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = to = CollectorRegistry()
        self.requests = Counter("weft_requests", "Requests answered.", ["route", "status"], registry=to)
        # By route, because the files of the page would hide how long a translation takes.
        self.latency = Histogram(
            "weft_request_seconds", "Time from first byte in to last byte out.", ["route"], buckets=SECONDS, registry=to
        )
        self.waiting = Gauge("weft_queue_requests", "Requests that are waiting or being computed.", registry=to)
        self.batches = Histogram(
            "weft_batch_texts",
            "Texts decoded together; for a language model, at each step.",
            buckets=TEXTS,
            registry=to,
        )
        self.tokens = Counter("weft_tokens", "Tokens written; of a translation, those of the best.", registry=to)
        self.seconds = Counter("weft_decoding_seconds", "Time spent decoding.", registry=to)
        self.speed = Gauge("weft_tokens_per_second", "Tokens per second of decoding, since the start.", registry=to)
        self._tokens, self._seconds = 0, 0.0

    def answered(self, route: str, status: int, seconds: float) -> None:
        self.requests.labels(route, status).inc()
        self.latency.labels(route).observe(seconds)

    def computed(self, texts: int, tokens: int, seconds: float) -> None:
        """Count a batch; only the computing thread does."""
        self.batches.observe(texts)
        self.tokens.inc(tokens)
        self.seconds.inc(seconds)
        self._tokens, self._seconds = self._tokens + tokens, self._seconds + seconds
        self.speed.set(self._tokens / max(self._seconds, 1e-9))

    def text(self, waiting: int) -> str:
        self.waiting.set(waiting)
        return generate_latest(self.registry).decode()
