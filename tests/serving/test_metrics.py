"""Counts, in the format that Prometheus reads."""

import re

from weft.serving.metrics import Histogram, Metrics


def test_a_histogram_counts_what_lies_at_or_below_each_bound() -> None:
    histogram = Histogram((1, 10))
    for value in (0.5, 1, 2, 11):
        histogram.add(value)
    assert list(histogram.lines("x")) == [
        'x_bucket{le="1"} 2',
        'x_bucket{le="10"} 3',
        'x_bucket{le="+Inf"} 4',
        "x_sum 14.500000",
        "x_count 4",
    ]


def test_every_line_is_a_comment_or_a_sample() -> None:
    metrics = Metrics()
    assert "weft_tokens_per_second 0.000" in metrics.text(0)
    metrics.answered("/translate", 200, 0.3)
    metrics.answered("/translate", 200, 0.02)
    metrics.answered("/health", 200, 0.001)
    metrics.computed(texts=3, tokens=30, seconds=0.5)
    text = metrics.text(waiting=7)
    assert text.endswith("\n")
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [\d.]+', line), line
    for sample in (
        'weft_requests_total{route="/translate",status="200"} 2',
        'weft_request_seconds_bucket{route="/translate",le="0.025"} 1',
        'weft_request_seconds_bucket{route="/translate",le="+Inf"} 2',
        'weft_request_seconds_sum{route="/translate"} 0.320000',
        'weft_request_seconds_count{route="/health"} 1',
        "weft_queue_requests 7",
        'weft_batch_texts_bucket{le="4"} 1',
        "weft_tokens_total 30",
        "weft_tokens_per_second 60.000",
    ):
        assert sample in text.splitlines()
