"""One path through the decoder: the likeliest token at each step, or whatever `choose` chooses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from weft.decoding.hypothesis import Hypothesis, check_length_penalty, length_limits, length_penalised
from weft.decoding.run import DecoderRun
from weft.models.sequence_to_sequence import END, START, SequenceToSequence
from weft.parts.call import Watch

# (run, the last token of each row, the sentence of each row) → the next tokens and their log-probabilities, (R) each
Choose = Callable[[DecoderRun, Tensor, list[int]], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Greedy:
    """The likeliest token at each step."""

    length_penalty: float = 1.0  # only for the score that is reported: there is nothing to choose from

    def __post_init__(self) -> None:
        check_length_penalty(self.length_penalty)

    @property
    def rows(self) -> int:
        return 1

    @torch.inference_mode()
    def __call__(
        self, models: Sequence[SequenceToSequence], source: Tensor, watch: Watch | None = None
    ) -> list[list[Hypothesis]]:
        return [[found] for found in follow(models, source, _likeliest, self.length_penalty, watch)]


def _likeliest(run: DecoderRun, tokens: Tensor, sentences: list[int]) -> tuple[Tensor, Tensor]:
    log_probs, ids = run.best(tokens, 1)
    return ids[:, 0], log_probs[:, 0]


def follow(
    models: Sequence[SequenceToSequence], source: Tensor, choose: Choose, length_penalty: float, watch: Watch | None
) -> list[Hypothesis]:
    """One hypothesis a sentence, a token at a time; a sentence that has ended leaves the batch."""
    if source.size(0) == 0:
        return []
    limits = length_limits(models, source)
    run = DecoderRun(models, source, watch)
    ids: list[list[int]] = [[] for _ in limits]
    log_probs: list[list[float]] = [[] for _ in limits]
    rows: list[list[int]] = [[] for _ in limits]
    active = list(range(len(limits)))  # the sentence of each row
    tokens = torch.full((len(active),), START, device=source.device)
    while active:
        tokens, chosen = choose(run, tokens, active)
        for row, (sentence, token, log_prob) in enumerate(zip(active, tokens.tolist(), chosen.tolist())):
            ids[sentence].append(token)
            log_probs[sentence].append(log_prob)
            rows[sentence].append(row)
        going = [row for row, s in enumerate(active) if ids[s][-1] != END and len(ids[s]) < limits[s]]
        if len(going) < len(active):
            active = [active[row] for row in going]
            staying = torch.tensor(going, device=source.device, dtype=torch.long)
            tokens = tokens[staying]
            run.select(staying)
            run.retain(staying)
    return [
        Hypothesis(tuple(i), tuple(p), length_penalised(sum(p), len(i), length_penalty), tuple(r))
        for i, p, r in zip(ids, log_probs, rows)
    ]
