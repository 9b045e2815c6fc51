"""What the service has done, in the text format that Prometheus reads."""

from collections import Counter
from collections.abc import Iterator, Sequence

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Histogram:
    """How many values lie at or below each bound, their sum and their number."""

    def __init__(self, bounds: Sequence[float]):
        self.bounds = bounds
        self.counts = [0] * len(bounds)
        self.total = 0.0
        self.number = 0

    def add(self, value: float) -> None:
        for i, bound in enumerate(self.bounds):
            self.counts[i] += value <= bound
        self.total += value
        self.number += 1

    def lines(self, name: str, label: str = "") -> Iterator[str]:
        comma, alone = f"{label}," if label else "", f"{{{label}}}" if label else ""
        for bound, count in zip(self.bounds, self.counts):
            yield f'{name}_bucket{{{comma}le="{bound:g}"}} {count}'
        yield f'{name}_bucket{{{comma}le="+Inf"}} {self.number}'
        yield f"{name}_sum{alone} {self.total:.6f}"
        yield f"{name}_count{alone} {self.number}"


class Metrics:
    """Written by the loop (requests) and by the thread that computes (batches), each to its own counts."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()  # by route and status
        self.latency: dict[str, Histogram] = {}  # by route: the page's files would hide how long a translation takes
        self.batches = Histogram(TEXTS)
        self.tokens = 0
        self.seconds = 0.0

    def answered(self, route: str, status: int, seconds: float) -> None:
        self.requests[route, status] += 1
        self.latency.setdefault(route, Histogram(SECONDS)).add(seconds)

    def computed(self, texts: int, tokens: int, seconds: float) -> None:
        self.batches.add(texts)
        self.tokens += tokens
        self.seconds += seconds

    def text(self, waiting: int) -> str:
        return "\n".join(self._lines(waiting)) + "\n"

    def _lines(self, waiting: int) -> Iterator[str]:
        yield from _head("weft_requests_total", "counter", "Requests that were answered, by route and status.")
        for (route, status), count in sorted(self.requests.items()):
            yield f'weft_requests_total{{route="{route}",status="{status}"}} {count}'
        yield from _head("weft_request_seconds", "histogram", "From a request's first byte to its answer's last.")
        for route, latency in sorted(self.latency.items()):
            yield from latency.lines("weft_request_seconds", f'route="{route}"')
        yield from _head("weft_queue_requests", "gauge", "Requests that wait or are being computed.")
        yield f"weft_queue_requests {waiting}"
        yield from _head("weft_batch_texts", "histogram", "Texts that were decoded together.")
        yield from self.batches.lines("weft_batch_texts")
        yield from _head("weft_tokens_total", "counter", "Tokens written, of the best translation of each text.")
        yield f"weft_tokens_total {self.tokens}"
        yield from _head("weft_decoding_seconds_total", "counter", "Time spent on writing them.")
        yield f"weft_decoding_seconds_total {self.seconds:.6f}"
        yield from _head("weft_tokens_per_second", "gauge", "Tokens written per second of decoding, since the start.")
        yield f"weft_tokens_per_second {self.tokens / self.seconds if self.seconds else 0.0:.3f}"


def _head(name: str, kind: str, words: str) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"
