"""Scores as data: what was measured, the number, and whether more of it is better.

BLEU and chrF are sacreBLEU's, with the signature that says which BLEU it is (Post 2018, arXiv:1804.08771).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics import bleu as sacre_bleu
from sacrebleu.metrics import chrf as sacre_chrf

from weft.errors import WeftError, unknown

MANY = 1e6  # beyond it a score is written in scientific notation: a perplexity may have three hundred digits


@dataclass(frozen=True)
class Metric:
    """What a score measures, and how it is shown."""

    name: str  # as plans, files and JSON call it
    label: str  # as people do
    higher_is_better: bool
    digits: int = 2

    def show(self, value: float) -> str:
        """The number as a person reads it.

        >>> PERPLEXITY.show(12.345), PERPLEXITY.show(1e300)
        ('12.35', '1.0e+300')
        """
        return f"{value:.{self.digits}f}" if abs(value) < MANY else f"{value:.1e}"


LOSS = Metric("loss", "loss", higher_is_better=False, digits=3)
PERPLEXITY = Metric("perplexity", "perplexity", higher_is_better=False)
BLEU = Metric("bleu", "BLEU", higher_is_better=True, digits=1)
CHRF = Metric("chrf", "chrF", higher_is_better=True)


@dataclass(frozen=True)
class Score:
    metric: Metric
    value: float
    signature: str = ""  # which variant of the metric it is


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False, tokenize: str = "13a"
) -> Score:
    """Cased and detokenised unless told otherwise; `tokenize="none"` for text that is tokenised already."""
    return scored(BLEU, bleu_metric(lowercase, tokenize), hypotheses, references)


def bleu_metric(lowercase: bool, tokenize: str) -> sacre_bleu.BLEU:
    """sacreBLEU's metric, or an error, before there is anything to score."""
    if tokenize not in sacre_bleu.BLEU.TOKENIZERS:
        raise WeftError(unknown("BLEU tokeniser", tokenize, sacre_bleu.BLEU.TOKENIZERS))
    try:
        return sacre_bleu.BLEU(lowercase=lowercase, tokenize=tokenize, force=True)
    except (ImportError, RuntimeError) as error:  # some need packages of their own
        raise WeftError(f"BLEU tokeniser {tokenize!r} is not available: {' '.join(str(error).split())}") from None


def chrf(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Score:
    return scored(CHRF, sacre_chrf.CHRF(lowercase=lowercase), hypotheses, references)


def scored(
    metric: Metric, computed_by: sacre_bleu.BLEU | sacre_chrf.CHRF, hypotheses: Sequence[str], references: Sequence[str]
) -> Score:
    if not hypotheses or len(hypotheses) != len(references):
        raise WeftError(f"{len(hypotheses)} translations cannot be scored against {len(references)} references.")
    found = computed_by.corpus_score(list(hypotheses), [list(references)])
    return Score(metric, found.score, str(computed_by.get_signature()))
