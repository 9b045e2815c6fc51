"""Validation: the loss of a token without smoothing, its perplexity, and BLEU of what is really found."""

import math

import pytest
import torch
from torch.nn import functional as F
from weft.training.validation import Validation

from tests.training.tiny import reversed_letters, tiny_plan
from weft.data.batches import pad
from weft.data.codecs.subwords import START, Subwords
from weft.decoding import Beam, Greedy
from weft.evaluation.scores import bleu

TEXTS = reversed_letters(10)
TOKENISER = Subwords.train((text for pair in TEXTS for text in pair), 264)
PAIRS = [(TOKENISER.encode(source), TOKENISER.encode(target)) for source, target in TEXTS]


def test_loss_is_the_mean_over_tokens_without_smoothing() -> None:
    model = tiny_plan(dropout=0.5).build().eval()
    total = 0.0
    for source, target in PAIRS:
        with torch.no_grad():
            hidden = model.decode(torch.tensor([[START, *target[:-1]]]), model.encode(torch.tensor([source])))
            total += F.cross_entropy(model.head.logits(hidden[0]), torch.tensor(target), reduction="sum").item()
    expected = total / sum(len(target) for _, target in PAIRS)
    scores = Validation(PAIRS, TOKENISER)(model)
    assert scores["loss"] == pytest.approx(expected, rel=1e-5)
    assert scores["perplexity"] == pytest.approx(math.exp(expected), rel=1e-5)


@pytest.mark.parametrize("search", [Greedy(), Beam(2)])
def test_bleu_is_of_what_the_search_finds(search: Beam | Greedy) -> None:
    model = tiny_plan().build().eval()
    found = search([model], pad([source for source, _ in PAIRS]))
    texts = [TOKENISER.decode(hypotheses[0].ids) for hypotheses in found]
    expected = bleu(texts, [target for _, target in TEXTS]).score
    assert Validation(PAIRS, TOKENISER, search)(model)["bleu"] == pytest.approx(expected)


def test_a_model_in_training_is_validated_without_dropout_and_goes_on_training() -> None:
    model = tiny_plan(dropout=0.5).build().train()
    validate = Validation(PAIRS, TOKENISER)
    assert validate(model) == validate(model)
    assert model.training
    assert all(module.training for module in model.modules())
