"""How good a model is on pairs it has not learned from: loss, perplexity and BLEU."""

from collections.abc import Sequence

from weft.decoding import Greedy, Search, search_all
from weft.evaluation.perplexity import perplexity, token_loss
from weft.evaluation.scores import bleu
from weft.models.sequence_to_sequence import SequenceToSequence
from weft.text.tokeniser import Tokeniser

Pair = tuple[Sequence[int], Sequence[int]]


class Validation:
    def __init__(self, pairs: Sequence[Pair], tokeniser: Tokeniser, search: Search | None = None):
        self.pairs = pairs
        self.tokeniser = tokeniser
        self.search = search or Greedy()
        self.references = [tokeniser.decode(target) for _, target in pairs]

    def __call__(self, model: SequenceToSequence) -> dict[str, float]:
        """The loss is the mean negative log-likelihood of a token, without smoothing, in nats."""
        was_training = model.training
        model.eval()
        try:
            loss = token_loss([model], self.pairs)
            found = search_all(self.search, [model], [source for source, _ in self.pairs])
        finally:
            model.train(was_training)
        translations = [self.tokeniser.decode(hypotheses[0].ids) for hypotheses in found]
        return {"loss": loss, "perplexity": perplexity(loss), "bleu": bleu(translations, self.references).score}
