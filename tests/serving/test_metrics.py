"""The metrics that Prometheus scrapes."""

from prometheus_client.parser import text_string_to_metric_families

from weft.serving.metrics import Metrics


def samples(text: str) -> dict[str, float]:
    """The value of each sample, by its name and labels."""
    return {
        " ".join([sample.name, *(f"{key}={value}" for key, value in sorted(sample.labels.items()))]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_every_metric_has_its_name_and_value() -> None:
    metrics = Metrics()
    assert samples(metrics.text(0))["weft_tokens_per_second"] == 0.0
    metrics.answered("/translate", 200, 0.3)
    metrics.answered("/translate", 200, 0.02)
    metrics.answered("/health", 200, 0.001)
    metrics.computed(texts=3, tokens=30, seconds=0.5)
    found = samples(metrics.text(waiting=7))
    expected = {
        "weft_requests_total route=/translate status=200": 2,
        "weft_request_seconds_bucket le=0.025 route=/translate": 1,
        "weft_request_seconds_bucket le=+Inf route=/translate": 2,
        "weft_request_seconds_sum route=/translate": 0.32,
        "weft_request_seconds_count route=/health": 1,
        "weft_queue_requests": 7,
        "weft_batch_texts_bucket le=2.0": 0,
        "weft_batch_texts_bucket le=4.0": 1,
        "weft_tokens_total": 30,
        "weft_decoding_seconds_total": 0.5,
        "weft_tokens_per_second": 60,
    }
    assert {name: found[name] for name in expected} == expected


def test_each_application_counts_for_itself() -> None:
    one, other = Metrics(), Metrics()
    one.answered("/translate", 200, 0.3)
    assert "weft_requests_total route=/translate status=200" in samples(one.text(0))
    assert "weft_requests_total route=/translate status=200" not in samples(other.text(0))
