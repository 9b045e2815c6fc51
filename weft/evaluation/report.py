"""A test set translated and scored."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from weft.decoding import Search
from weft.errors import WeftError
from weft.evaluation.perplexity import perplexity
from weft.evaluation.scores import Score, bleu_metric, chrf, scored


class Scored(Protocol):
    """What is scored: something that translates and that knows how likely it finds a reference."""

    def search(self, texts: Sequence[str], search: Search) -> Any: ...

    def loss(self, pairs: Sequence[tuple[str, str]]) -> tuple[float | None, int]: ...


@dataclass(frozen=True)
class Report:
    bleu: Score
    chrf: Score
    perplexity: float | None  # None: every pair is left out
    left_out: int  # pairs that are longer than the model's positions, and so have no perplexity
    sentences: int
    seconds: float  # of translating
    translations: list[str]

    def to_dict(self) -> dict[str, Any]:
        return {
            "bleu": vars(self.bleu),
            "chrf": vars(self.chrf),
            "perplexity": self.perplexity,
            "left_out": self.left_out,
            "sentences": self.sentences,
            "seconds": self.seconds,
        }


def report(
    translator: Scored,
    pairs: Sequence[tuple[str, str]],
    search: Search,
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> Report:
    if not pairs:
        raise WeftError("there is nothing to score: the files are empty.")
    metric = bleu_metric(lowercase, tokenize)
    sources, references = [s for s, _ in pairs], [t for _, t in pairs]
    began = time.perf_counter()
    translations = [found[0].text for found in translator.search(sources, search)]
    seconds = time.perf_counter() - began
    loss, left_out = translator.loss(pairs)
    return Report(
        scored(metric, translations, references),
        chrf(translations, references, lowercase=lowercase),
        None if loss is None else perplexity(loss),
        left_out,
        len(pairs),
        seconds,
        translations,
    )
