"""What the service has done, in the text format that Prometheus reads."""


class Metrics:
    def computed(self, texts: int, tokens: int, seconds: float) -> None: ...
