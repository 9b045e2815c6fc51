"""BLEU and chrF by sacreBLEU, with the signature that says which BLEU it is (Post 2018, arXiv:1804.08771)."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from weft.errors import WeftError, unknown


@dataclass(frozen=True)
class Score:
    score: float
    signature: str


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False, tokenize: str = "13a"
) -> Score:
    """Cased and detokenised unless told otherwise; `tokenize="none"` for text that is tokenised already."""
    return scored(bleu_metric(lowercase, tokenize), hypotheses, references)


def bleu_metric(lowercase: bool, tokenize: str) -> BLEU:
    """What can be wrong with it is said before there is anything to score."""
    if tokenize not in BLEU.TOKENIZERS:
        raise WeftError(unknown("BLEU tokeniser", tokenize, BLEU.TOKENIZERS))
    try:
        return BLEU(lowercase=lowercase, tokenize=tokenize, force=True)
    except (ImportError, RuntimeError) as error:  # some need packages of their own
        raise WeftError(f"BLEU tokeniser {tokenize!r} cannot be used: {' '.join(str(error).split())}") from None


def chrf(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Score:
    return scored(CHRF(lowercase=lowercase), hypotheses, references)


def scored(metric: BLEU | CHRF, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    if not hypotheses or len(hypotheses) != len(references):
        raise WeftError(f"{len(hypotheses)} translations cannot be scored against {len(references)} references.")
    found = metric.corpus_score(list(hypotheses), [list(references)])
    return Score(found.score, str(metric.get_signature()))
