"""One run of the decoder over a batch of prompts, a step at a time, for one model or for an ensemble."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from weft.decoding.prompt import Prompt
from weft.models.base import Generative
from weft.parts.call import Call, State, Watch
from weft.parts.heads import largest


class DecoderRun:
    """The inputs are read once; each step feeds new tokens and remembers what the model needs of them.

    Rows are hypotheses, those of a prompt next to each other, equally many for each prompt.
    """

    def __init__(self, models: Sequence[Generative], prompt: Prompt, watch: Watch | None = None):
        self.models = models
        self.watch = watch
        self.memories = [model.prompt(prompt.inputs, Call(watch=watch)) for model in models]
        self.states = [State() for _ in models]
        self.steps = 0  # tokens written so far
        self.position = 0  # of the next token that is fed

    def _hidden(self, tokens: Tensor) -> list[Tensor]:
        """New tokens (R, T) → for each model the hidden state (R, D) that the next token is read from."""
        positions = torch.arange(self.position, self.position + tokens.size(1), device=tokens.device).expand_as(tokens)
        self.steps += 1
        self.position += tokens.size(1)
        return [
            model.decode(tokens, memory, Call(positions=positions, state=state, watch=self.watch))[:, -1]
            for model, memory, state in zip(self.models, self.memories, self.states)
        ]

    def log_probs(self, tokens: Tensor) -> Tensor:
        """New tokens (R, T) → log-probabilities of the next one (R, V)."""
        return mean_log_probs([model.head.log_probs(h) for model, h in zip(self.models, self._hidden(tokens))])

    def best(self, tokens: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """New tokens (R, T) → the k best next ones: log-probabilities and ids, (R, k) each."""
        if len(self.models) == 1:
            return self.models[0].head.best(self._hidden(tokens)[0], k)
        return largest(self.log_probs(tokens), k)

    def select(self, rows: Tensor) -> None:
        """Row i continues from what row rows[i] was."""
        for state in self.states:
            state.select(rows)

    def retain(self, prompts: Tensor) -> None:
        """Only these prompts continue."""
        self.memories = [memory and memory.select(prompts) for memory in self.memories]
        for state in self.states:
            state.retain(prompts)


def mean_log_probs(each: Sequence[Tensor]) -> Tensor:
    """The log of the mean of several models' probabilities."""
    return each[0] if len(each) == 1 else torch.stack(list(each)).logsumexp(0) - math.log(len(each))
