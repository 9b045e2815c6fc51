"""Metrics and scores. BLEU and chrF are sacreBLEU's, with its signatures (Post 2018, arXiv:1804.08771)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError, unknown

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as Computed

MANY = 1e6  # from here on scores are written in scientific notation: a perplexity can be huge


@dataclass(frozen=True)
class Metric:
    """What a score measures, and how it is printed."""

    name: str  # in plans, files and JSON
    label: str  # for people
    higher_is_better: bool
    digits: int = 2

    def show(self, value: float) -> str:
        """Format a value for people.

        >>> PERPLEXITY.show(12.345), PERPLEXITY.show(1e300)
        ('12.35', '1.0e+300')
        """
        return f"{value:.{self.digits}f}" if abs(value) < MANY else f"{value:.1e}"


LOSS = Metric("loss", "loss", higher_is_better=False, digits=3)
PERPLEXITY = Metric("perplexity", "perplexity", higher_is_better=False)
BITS_PER_BYTE = Metric("bits_per_byte", "bits/byte", higher_is_better=False, digits=3)
BITS_PER_CHARACTER = Metric("bits_per_character", "bits/char", higher_is_better=False, digits=3)
BLEU = Metric("bleu", "BLEU", higher_is_better=True, digits=1)
CHRF = Metric("chrf", "chrF", higher_is_better=True)


@dataclass(frozen=True)
class Score:
    metric: Metric
    value: float
    signature: str = ""  # which variant of the metric it is

    def to_json(self) -> dict[str, Any] | float | None:
        """The score for JSON, which has no NaN."""
        if self.signature:
            return {"score": self.value, "signature": self.signature}
        return None if math.isnan(self.value) else self.value


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False, tokenize: str = "13a"
) -> Score:
    """BLEU, by default cased and detokenised; `tokenize="none"` is for text that is already tokenised."""
    return scored(BLEU, bleu_metric(lowercase, tokenize), hypotheses, references)


def bleu_metric(lowercase: bool, tokenize: str) -> "Computed":
    """sacreBLEU's metric. Raises errors before there is anything to score."""
    from sacrebleu.metrics import bleu as sacre_bleu  # heavy, and translating does not need it

    if tokenize not in sacre_bleu.BLEU.TOKENIZERS:
        raise WeftError(unknown("BLEU tokeniser", tokenize, sacre_bleu.BLEU.TOKENIZERS))
    try:
        return sacre_bleu.BLEU(lowercase=lowercase, tokenize=tokenize, force=True)
    except (ImportError, RuntimeError) as error:  # some need extra packages
        raise WeftError(f"BLEU tokeniser {tokenize!r} is not available: {' '.join(str(error).split())}") from None


def chrf(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Score:
    from sacrebleu.metrics import chrf as sacre_chrf

    return scored(CHRF, sacre_chrf.CHRF(lowercase=lowercase), hypotheses, references)


def scored(metric: Metric, computed_by: "Computed", hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    if not hypotheses or len(hypotheses) != len(references):
        raise WeftError(f"{len(hypotheses)} translations cannot be scored against {len(references)} references.")
    found = computed_by.corpus_score(list(hypotheses), [list(references)])
    return Score(metric, found.score, str(computed_by.get_signature()))
