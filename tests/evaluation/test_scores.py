"""Scores are sacreBLEU's own, and say which ones they are."""

import pytest
from sacrebleu import corpus_bleu, corpus_chrf

from weft.errors import WeftError
from weft.evaluation.scores import bleu, chrf

REFERENCES = ["The small dinosaur eats a man.", "It isn't raining, is it?", "Viele Grüße!"]
TRANSLATIONS = ["The small Dinosaur eats the man.", "It is not raining, is it?", "Viele Grüße !"]


def test_bleu_equals_sacrebleu() -> None:
    found = bleu(TRANSLATIONS, REFERENCES)
    assert found.value == corpus_bleu(TRANSLATIONS, [REFERENCES]).score
    assert 0 < found.value < 100
    assert found.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


def test_bleu_of_lowercased_tokenised_text() -> None:
    found = bleu(TRANSLATIONS, REFERENCES, lowercase=True, tokenize="none")
    assert found.value == corpus_bleu(TRANSLATIONS, [REFERENCES], lowercase=True, tokenize="none", force=True).score
    assert found.value != bleu(TRANSLATIONS, REFERENCES).value
    assert found.signature.startswith("nrefs:1|case:lc|eff:no|tok:none|smooth:exp|version:")


@pytest.mark.parametrize("lowercase", [False, True])
def test_chrf_equals_sacrebleu(lowercase: bool) -> None:
    found = chrf(TRANSLATIONS, REFERENCES, lowercase=lowercase)
    expected = [[text.lower() for text in texts] if lowercase else texts for texts in (TRANSLATIONS, REFERENCES)]
    assert found.value == corpus_chrf(expected[0], [expected[1]]).score
    case = "lc" if lowercase else "mixed"
    assert found.signature.startswith(f"nrefs:1|case:{case}|eff:yes|nc:6|nw:0|space:no|version:")


def test_equal_texts_score_100() -> None:
    assert bleu(REFERENCES, REFERENCES).value == pytest.approx(100)
    assert chrf(REFERENCES, REFERENCES).value == pytest.approx(100)


def test_an_unknown_tokeniser_is_refused_with_the_nearest() -> None:
    with pytest.raises(WeftError, match=r"there is no BLEU tokeniser 'non'\. Did you mean 'none'\? Known: 13a, char"):
        bleu(TRANSLATIONS, REFERENCES, tokenize="non")


def test_a_tokeniser_that_needs_another_package_says_so() -> None:
    try:
        import MeCab  # noqa: F401
    except ImportError:
        with pytest.raises(WeftError, match=r"'ja-mecab' is not available: .*sacrebleu\[ja\]"):
            bleu(TRANSLATIONS, REFERENCES, tokenize="ja-mecab")
    else:
        pytest.skip("the package is there")


@pytest.mark.parametrize("references", [REFERENCES[:2], [*REFERENCES, "one more"]])
def test_unequal_numbers_are_refused(references: list[str]) -> None:
    with pytest.raises(WeftError, match=f"3 translations cannot be scored against {len(references)} references"):
        bleu(TRANSLATIONS, references)


def test_scoring_nothing_is_refused() -> None:
    with pytest.raises(WeftError, match="0 translations cannot be scored against 0 references"):
        chrf([], [])
