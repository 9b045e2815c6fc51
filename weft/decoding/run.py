"""A run of the decoder over a batch of prompts, step by step, for a model or an ensemble."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from weft.decoding.prompt import Prompt
from weft.models.base import Generative
from weft.parts.call import Call, State, Watch
from weft.parts.heads import largest


class DecoderRun:
    """Reads the inputs once; each step feeds new tokens and caches what the model needs of them. Rows are hypotheses,
    those of a prompt adjacent, the same number for each prompt."""

    def __init__(self, models: Sequence[Generative], prompt: Prompt, watch: Watch | None = None):
        self.models = models
        self.watch = watch
        self.memories = [model.prompt(prompt.inputs, Call(watch=watch)) for model in models]
        self.states = [State() for _ in models]
        self.steps = 0  # tokens written so far
        # Of the next token: (1) if it is the same in all rows, else (R).
        self.positions = torch.zeros(1, dtype=torch.long, device=prompt.prefix.device)

    def _hidden(self, tokens: Tensor) -> list[Tensor]:
        """New tokens (R, T) → for each model the hidden state (R, D) that predicts the next token."""
        positions = (self.positions[:, None] + torch.arange(tokens.size(1), device=tokens.device)).expand_as(tokens)
        self.steps += 1
        self.positions = self.positions + tokens.size(1)
        return [
            model.decode(tokens, memory, Call(positions=positions, state=state, watch=self.watch))[:, -1]
            for model, memory, state in zip(self.models, self.memories, self.states)
        ]

    def log_probs(self, tokens: Tensor) -> Tensor:
        """New tokens (R, T) → log-probabilities of the next one (R, V)."""
        found = mean_log_probs([model.head.log_probs(h) for model, h in zip(self.models, self._hidden(tokens))])
        return found if self.watch is None else self.watch.change("search", "log_probs", found)

    def best(self, tokens: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """New tokens (R, T) → the k best next ones: log-probabilities and ids, (R, k) each."""
        if len(self.models) == 1 and self.watch is None:
            return self.models[0].head.best(self._hidden(tokens)[0], k)
        return largest(self.log_probs(tokens), k)

    def join(self, other: "DecoderRun", rows: tuple[int, int]) -> None:
        """Append the rows of another run; `rows` are the numbers of rows of both."""
        for state, others in zip(self.states, other.states):
            state.join(others)
        self.positions = torch.cat([run.positions.expand(count) for run, count in zip((self, other), rows)])

    def select(self, rows: Tensor) -> None:
        """Continue row i from the state of row rows[i]."""
        if self.positions.size(0) > 1:
            self.positions = self.positions[rows]
        for state in self.states:
            state.select(rows)

    def retain(self, prompts: Tensor) -> None:
        """Continue with these prompts only."""
        self.memories = [memory and memory.select(prompts) for memory in self.memories]
        for state in self.states:
            state.retain(prompts)


def mean_log_probs(each: Sequence[Tensor]) -> Tensor:
    """The log of the mean of several models' probabilities."""
    return each[0] if len(each) == 1 else torch.stack(list(each)).logsumexp(0) - math.log(len(each))
