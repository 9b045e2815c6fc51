"""How good a model is on pairs it has not learned from: loss, perplexity and BLEU."""

import math
from collections.abc import Iterator, Sequence

import torch

from weft.decoding import Greedy, Search
from weft.evaluation.scores import bleu
from weft.models.sequence_to_sequence import Batch, SequenceToSequence
from weft.text.batches import collate, compose, filled
from weft.text.tokeniser import Tokeniser

Pair = tuple[Sequence[int], Sequence[int]]
CELLS = 8192  # places in a batch when no gradient is kept


class Validation:
    def __init__(self, pairs: Sequence[Pair], tokeniser: Tokeniser, device: str = "cpu", search: Search | None = None):
        self.pairs = pairs
        self.tokeniser = tokeniser
        self.device = device
        self.search = search or Greedy()
        self.references = [tokeniser.decode(target) for _, target in pairs]

    def __call__(self, model: SequenceToSequence) -> dict[str, float]:
        """loss: mean negative log-likelihood of a token, without smoothing, in nats; perplexity = e^loss; BLEU."""
        was_training = model.training
        model.eval()
        loss = token_loss(model, self._batches())
        translations = self.translate(model)
        model.train(was_training)
        return {"loss": loss, "perplexity": math.exp(min(loss, 50.0)), "bleu": bleu(translations, self.references).score}

    def _batches(self) -> Iterator[Batch]:
        for group in compose(self.pairs, CELLS):
            batch = collate([self.pairs[i] for i in group])
            yield Batch(batch.source.to(self.device), batch.target.to(self.device))

    def translate(self, model: SequenceToSequence) -> list[str]:
        found: dict[int, str] = {}
        for group in compose(self.pairs, CELLS // 2):
            source = filled([self.pairs[i][0] for i in group]).to(self.device)
            for i, hypotheses in zip(group.tolist(), self.search([model], source)):
                found[i] = self.tokeniser.decode(hypotheses[0].ids)
        return [found[i] for i in range(len(self.pairs))]


@torch.inference_mode()
def token_loss(model: SequenceToSequence, batches: Iterator[Batch]) -> float:
    """Mean negative log-likelihood of a target token, the END counted, in nats."""
    losses = [model(batch) for batch in batches]
    return sum(float(loss.nll) for loss in losses) / sum(loss.count for loss in losses)
