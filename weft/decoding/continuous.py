"""Continuous batching: each step writes a token of every sequence, and new sequences can join at any step.

A prompt is read alone, or with prompts of the same length, and its rows then join the running batch (Orca, Yu et
al. 2022). So the result for a sequence does not depend on the rest of the batch. A sequence that has filled the context
of the model continues from the last half of it.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from weft.decoding.hypothesis import Hypothesis
from weft.decoding.prompt import Prompt
from weft.decoding.run import DecoderRun
from weft.decoding.sampling import Sampling, drawn
from weft.models.base import Generative
from weft.parts.call import Watch


@dataclass(eq=False)
class Continuation:
    """A sequence that is being written."""

    prompt: list[int]  # at least one token
    limit: int  # tokens to write
    sampling: Sampling
    seed: tuple[int, ...]  # of the random numbers: the same for the same seed
    end: int | None  # the token that ends it; None: only the limit does
    alternatives: int = 0  # how many of the likeliest tokens are reported at each step
    written: list[int] = field(default_factory=list)
    has_slid: bool = False  # the context was full, and its first half was dropped

    def __post_init__(self) -> None:
        assert self.prompt, "a prompt has at least one token"
        self.random = np.random.default_rng(self.seed)

    @property
    def tokens(self) -> list[int]:
        return [*self.prompt, *self.written]


@dataclass(frozen=True)
class Step:
    """A token that was written."""

    continuation: Continuation
    token: int
    log_prob: float  # by the model itself
    top: tuple[tuple[int, float], ...]  # the likeliest tokens and their log-probabilities
    finish: str | None  # "stop" or "length" if it is the last


class Continuous:
    """A running batch of sequences. Each `step` writes a token of each."""

    def __init__(self, models: Sequence[Generative], context: int | None, watch: Watch | None = None):
        self.models = models
        self.context = context  # tokens that the model can see; None: any number
        self.watch = watch
        self.waiting: list[Continuation] = []
        self.active: list[Continuation] = []
        self.run: DecoderRun | None = None
        self.log_probs: Tensor  # (R, V) of the next token of each active sequence

    def __len__(self) -> int:
        return len(self.active) + len(self.waiting)

    def add(self, sequence: Continuation) -> None:
        """Add a sequence, which joins at the next step."""
        self.waiting.append(sequence)

    def drop(self, sequences: Iterable[Continuation]) -> None:
        """Stop writing these sequences."""
        gone = set(map(id, sequences))
        self.waiting = [each for each in self.waiting if id(each) not in gone]
        self._keep([row for row, each in enumerate(self.active) if id(each) not in gone])

    @torch.inference_mode()
    def step(self) -> list[Step]:
        """Write a token of every sequence; finished ones leave the batch."""
        self._join()
        if not self.active:
            return []
        tokens = self._chosen()
        steps = self._reported(tokens)
        for each, token in zip(self.active, tokens):
            each.written.append(token)
        going = [row for row, step in enumerate(steps) if step.finish is None]
        full = [row for row in going if self.context and self._length(row) >= self.context]
        for row in full:
            self.active[row].has_slid = True
            self.waiting.append(self.active[row])
        staying = [row for row in going if row not in full]
        next_tokens = torch.tensor([tokens[row] for row in staying], device=self.log_probs.device)
        self._keep(staying)
        if self.run is not None:
            self.log_probs = self.run.log_probs(next_tokens[:, None])
        return steps

    def _length(self, row: int) -> int:
        """The number of tokens of a row that the model has read, without the newest."""
        assert self.run is not None
        return int(self.run.positions[row if self.run.positions.size(0) > 1 else 0])

    def _visible(self, sequence: Continuation) -> list[int]:
        """The tokens of a joining sequence that the model reads: all, or half the context if there are too many."""
        tokens = sequence.tokens
        if self.context is None or len(tokens) <= self.context:
            return tokens
        sequence.has_slid = True
        return tokens[-max(1, self.context // 2) :]

    def _join(self) -> None:
        """Read the prompts of waiting sequences, batched by length."""
        groups: dict[int, list[tuple[Continuation, list[int]]]] = {}
        for sequence in self.waiting:
            tokens = self._visible(sequence)
            groups.setdefault(len(tokens), []).append((sequence, tokens))
        self.waiting = []
        for group in groups.values():
            device = next(self.models[0].parameters()).device
            prefix = torch.tensor([tokens for _, tokens in group], device=device)  # (R, P)
            run = DecoderRun(self.models, Prompt({}, prefix, [0] * len(group), -1), self.watch)
            log_probs = run.log_probs(prefix)
            if self.run is None:
                self.run, self.log_probs = run, log_probs
            else:
                self.run.join(run, (len(self.active), len(group)))
                self.log_probs = torch.cat((self.log_probs, log_probs))
            self.active += [sequence for sequence, _ in group]

    def _chosen(self) -> list[int]:
        """The next token of each active sequence. Sequences with the same sampling are drawn together."""
        groups: dict[Sampling, list[int]] = {}
        for row, sequence in enumerate(self.active):
            groups.setdefault(sequence.sampling, []).append(row)
        tokens = [0] * len(self.active)
        for sampling, rows in groups.items():
            logits = self.log_probs if len(rows) == len(self.active) else self.log_probs[rows]
            if sampling.penalises:
                each = [(self.active[row].prompt, self.active[row].written) for row in rows]
                logits = torch.stack([sampling.penalised(own, *known) for own, known in zip(logits, each)])
            if sampling.temperature == 0.0:
                chosen = logits.argmax(-1)
            else:
                chance = torch.tensor([self.active[row].random.random() for row in rows], dtype=torch.float64)
                chosen = drawn(sampling.shaped(logits).cpu().double(), chance)
            for row, token in zip(rows, chosen.tolist()):
                tokens[row] = token
        return tokens

    def _reported(self, tokens: Sequence[int]) -> list[Step]:
        chosen = torch.tensor(tokens, device=self.log_probs.device)[:, None]
        log_probs = self.log_probs.gather(1, chosen)[:, 0].tolist()
        most = max(sequence.alternatives for sequence in self.active)
        top = self.log_probs.topk(min(most, self.log_probs.size(1)), -1) if most else None
        steps = []
        for row, (sequence, token, log_prob) in enumerate(zip(self.active, tokens, log_probs)):
            is_end = token == sequence.end
            finish = "stop" if is_end else "length" if len(sequence.written) + 1 >= sequence.limit else None
            count = sequence.alternatives
            ids, values = (top.indices[row, :count].tolist(), top.values[row, :count].tolist()) if top else ([], [])
            steps.append(Step(sequence, token, log_prob, tuple(zip(ids, values)), finish))
        return steps

    def _keep(self, rows: list[int]) -> None:
        """Continue with these rows only."""
        if len(rows) == len(self.active):
            return
        self.active = [self.active[row] for row in rows]
        if not rows:
            self.run = None
        elif self.run is not None:
            chosen = torch.tensor(rows, device=self.log_probs.device)
            self.run.select(chosen)
            self.log_probs = self.log_probs[chosen]


def greedy_together(models: Sequence[Generative], prompts: Sequence[Prompt]) -> list[Hypothesis]:
    """What greedy search finds for each prompt, where each joins the batch a step after the one before it."""
    each = [Continuation(one.prefix[0].tolist(), one.limits[0], Sampling(0.0), (0,), one.end) for one in prompts]
    found: dict[int, list[Step]] = {id(one): [] for one in each}
    batch, coming = Continuous(models, None), deque(each)
    while coming or len(batch):
        if coming:
            batch.add(coming.popleft())
        for step in batch.step():
            found[id(step.continuation)].append(step)
    return [_hypothesis(found[id(one)]) for one in each]


def _hypothesis(steps: Sequence[Step]) -> Hypothesis:
    log_probs = tuple(step.log_prob for step in steps)
    ids, is_finished = tuple(step.token for step in steps), steps[-1].finish == "stop"
    return Hypothesis(ids, log_probs, sum(log_probs) / len(ids), (0,) * len(ids), is_finished)
