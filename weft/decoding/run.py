"""One run of the decoder over a batch of sources, a step at a time, for one model or for several that vote."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from weft.models.sequence_to_sequence import SequenceToSequence
from weft.parts.call import State, Watch
from weft.parts.heads import largest


class DecoderRun:
    """The encoder has run once; each step feeds one token a row and remembers its keys and values.

    Rows are hypotheses, those of a sentence next to each other, equally many for each sentence.
    """

    def __init__(self, models: Sequence[SequenceToSequence], source: Tensor, watch: Watch | None = None):
        self.models = models
        self.watch = watch
        self.memories = [model.encode(source, watch) for model in models]
        self.states = [State() for _ in models]
        self.step = 0

    def _hidden(self, tokens: Tensor) -> list[Tensor]:
        """tokens (R) → for each model the hidden state (R, D) that the next token is read from."""
        positions = torch.full((tokens.size(0), 1), self.step, device=tokens.device)
        self.step += 1
        return [
            model.decode(tokens[:, None], memory, positions, state, self.watch)[:, 0]
            for model, memory, state in zip(self.models, self.memories, self.states)
        ]

    def log_probs(self, tokens: Tensor) -> Tensor:
        """tokens (R) → log-probabilities of the next ones (R, V)."""
        each = [model.head.log_probs(h) for model, h in zip(self.models, self._hidden(tokens))]
        return each[0] if len(each) == 1 else torch.stack(each).logsumexp(0) - math.log(len(each))

    def best(self, tokens: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """tokens (R) → the k best next ones: log-probabilities and ids, (R, k) each."""
        if len(self.models) == 1:
            return self.models[0].head.best(self._hidden(tokens)[0], k)
        return largest(self.log_probs(tokens), k)

    def select(self, rows: Tensor) -> None:
        """Row i goes on from what row rows[i] was."""
        for state in self.states:
            state.select(rows)

    def retain(self, sentences: Tensor) -> None:
        """Only these sentences go on."""
        self.memories = [memory.select(sentences) for memory in self.memories]
        for state in self.states:
            state.retain(sentences)
