"""Which language a text is in: the arithmetic by hand, and which sentences are looked at."""

import math

import pytest

from weft.serving.detection import SENTENCES, chance, sample
from weft.tasks.translator import Translator


def test_probability_of_the_source_language() -> None:
    sure = [math.log(1.0)] * 5
    assert chance(0, 0.0, [], vocabulary=100) == 0.5
    assert chance(40, 40 * math.log(100), sure, vocabulary=100) == pytest.approx(100 / 101)  # as good as any token
    assert chance(4, 0.0, sure, vocabulary=100) == pytest.approx(0.5)  # as many as it was thought to begin with
    assert chance(1, 0.0, sure, vocabulary=100) > 0.9 > 0.1 > chance(40, 0.0, sure, vocabulary=100)
    assert chance(40, 40 * 3.0, [-3.0, -3.0], vocabulary=100) == chance(40, 0.0, sure, vocabulary=100)


def test_sampled_sentences_are_spread_over_the_text(toy: Translator) -> None:
    sentences = [f"It is {'x' * i}." for i in range(2, 22)]
    found = sample(toy, " ".join(sentences))
    assert found == sentences[::3]
    assert len(found) <= SENTENCES
    assert sample(toy, " \n") == []
