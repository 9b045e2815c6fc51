"""Perplexity: of the true tokens, whatever they are batched with; of several models, of their mean."""

import pytest
import torch

from tests.training.tiny import tiny_plan
from weft.data.codecs.subwords import START
from weft.data.pairs import batch_of, batches_of
from weft.evaluation import perplexity
from weft.evaluation.perplexity import row_losses, token_loss
from weft.models.encoder_decoder import EncoderDecoder

PAIRS = [([5, 6, 2], [7, 8, 9, 2]), ([5, 2], [9, 2]), ([9, 9, 9, 9, 2], [4, 5, 2])]


def models(count: int) -> list[EncoderDecoder]:
    found = []
    for seed in range(count):
        torch.manual_seed(seed)
        found.append(tiny_plan().build().eval())
    return found


@torch.no_grad()
def probabilities(model: EncoderDecoder) -> torch.Tensor:
    """Of all target tokens, a sentence at a time."""
    found = []
    for source, target in PAIRS:
        hidden = model.decode(torch.tensor([[START, *target[:-1]]]), model.encode(torch.tensor([source])))
        found += [p[token] for p, token in zip(model.head.log_probs(hidden[0]).exp(), target)]
    return torch.stack(found)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_loss_is_of_the_mean_of_probabilities(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perplexity, "ROWS", 4)  # fewer than there are tokens
    some = models(count)
    voted = torch.stack([probabilities(model) for model in some]).mean(0)
    each = [-one.sum().item() for one in voted.log().split([len(target) for _, target in PAIRS])]
    assert row_losses(some, batch_of(PAIRS, START)) == pytest.approx(each, rel=1e-5)
    for batches in (list(batches_of(PAIRS, START)), [batch_of([pair], START) for pair in PAIRS]):
        assert token_loss(some, batches) == pytest.approx(-voted.log().mean().item(), rel=1e-5)
