"""How good a model is on pairs it has not learned from: loss, perplexity and BLEU."""

from collections.abc import Sequence

from weft.data.tokeniser import Tokeniser
from weft.decoding import Greedy, Search, search_all
from weft.evaluation.perplexity import perplexity, token_loss
from weft.evaluation.scores import bleu
from weft.models.sequence_to_sequence import SequenceToSequence
from weft.training.workers import ALONE, Workers

Pair = tuple[Sequence[int], Sequence[int]]


class Validation:
    """Each worker takes its share of the pairs, and all know the outcome."""

    def __init__(
        self, pairs: Sequence[Pair], tokeniser: Tokeniser, search: Search | None = None, workers: Workers = ALONE
    ):
        self.mine = pairs[workers.rank :: workers.size]
        self.workers = workers
        self.tokeniser = tokeniser
        self.search = search or Greedy()
        self.references = [tokeniser.decode(target) for _, target in pairs]

    def __call__(self, model: SequenceToSequence) -> dict[str, float]:
        """The loss is the mean negative log-likelihood of a token, without smoothing, in nats."""
        was_training = model.training
        model.eval()
        try:
            tokens = sum(len(target) for _, target in self.mine)
            nll = tokens * token_loss([model], self.mine) if self.mine else 0.0
            found = search_all(self.search, [model], [source for source, _ in self.mine])
        finally:
            model.train(was_training)
        nll, count = self.workers.total(nll, tokens)
        shares = self.workers.gather([self.tokeniser.decode(hypotheses[0].ids) for hypotheses in found])
        translations = [shares[i % len(shares)][i // len(shares)] for i in range(len(self.references))]
        loss = nll / count
        return {"loss": loss, "perplexity": perplexity(loss), "bleu": bleu(translations, self.references).score}
