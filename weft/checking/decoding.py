"""Decoding is the same whichever way it is done: with a cache, in a batch, with padding, watched, by a beam of one.

Two translations may part where two tokens are rated alike to the last digits. So a difference is measured: of the
log-probabilities, as far as the tokens are the same, and where they part, of the two tokens that were taken.
"""

import sys
from collections.abc import Sequence

import torch
from torch import Tensor

from weft.checking.model_under_test import Finding, ModelUnderTest
from weft.data.codecs.subwords import PAD, START
from weft.data.pairs import batch_of
from weft.decoding import Beam, Greedy, Hypothesis
from weft.exports.agreement import worst
from weft.models.base import Model
from weft.parts.call import Call
from weft.viewing.attention_maps import Recorder

ROUNDING = 1e-4  # of a log-probability: sums in another order
MORE = 3  # places of padding


def cached(subject: ModelUnderTest) -> Finding:
    """Step by step, with remembered keys and values = all at once, with nothing remembered."""
    gaps = []
    for source, one in zip(subject.sources, subject.alone):
        clear = rated(subject.model, source, one.ids)  # (T, V)
        taken = _taken(clear, one.ids)
        gaps.append(float((taken - torch.tensor(one.log_probs, device=clear.device)).abs().max()))
        gaps.append(float((clear.max(-1).values - taken).max()))  # the likeliest token was taken
    return _log_probability(gaps)


def batched(subject: ModelUnderTest) -> Finding:
    """All sentences in one batch = each alone."""
    together = Greedy()([subject.model], subject.prompt(subject.sources))
    return _compared(subject, subject.alone, [found[0] for found in together])


@torch.inference_mode()
def padded(subject: ModelUnderTest) -> Finding:
    """Sentences filled up with padding = as they are."""
    gaps = []
    room = (subject.model.limits["source"] or sys.maxsize) - max(map(len, subject.sources))
    for source, one in zip(subject.sources, subject.alone):
        more = [*source, *[PAD] * min(MORE, room)]
        plain, filled_up = (_taken(rated(subject.model, row, one.ids), one.ids) for row in (source, more))
        gaps.append(float((plain - filled_up).abs().max()))
    return _log_probability(gaps)


def beam_of_one(subject: ModelUnderTest) -> Finding:
    """Beam search of width 1 = greedy search."""
    beams = [Beam(1)([subject.model], subject.prompt([row]))[0][0] for row in subject.sources]
    return _compared(subject, subject.alone, beams)


def watched(subject: ModelUnderTest) -> Finding:
    """With someone who looks at the attention = with nobody."""
    seen = [Greedy()([subject.model], subject.prompt([row]), Recorder())[0][0] for row in subject.sources]
    return _compared(subject, subject.alone, seen)


@torch.inference_mode()
def rated(model: Model, source: Sequence[int], ids: Sequence[int]) -> Tensor:
    """Log-probabilities of every token at each place of a translation, all at once: (T, V)."""
    inputs = batch_of([(source, ids)], START).to(next(model.parameters()).device).inputs
    return model.head.log_probs(model.hidden(inputs, Call())[0])


def _taken(log_probs: Tensor, ids: Sequence[int]) -> Tensor:
    """(T, V) → of the tokens of a translation (T)."""
    return log_probs.gather(1, torch.tensor(ids, device=log_probs.device)[:, None])[:, 0]


def _compared(subject: ModelUnderTest, ours: Sequence[Hypothesis], theirs: Sequence[Hypothesis]) -> Finding:
    gaps = []
    for source, one, other in zip(subject.sources, ours, theirs, strict=True):
        for at, (mine, its) in enumerate(zip(one.ids, other.ids)):
            if mine != its:
                clear = rated(subject.model, source, one.ids)[at]  # (V)
                gaps.append(abs(float(clear[mine] - clear[its])))
                break
            gaps.append(abs(one.log_probs[at] - other.log_probs[at]))
        else:
            gaps.append(0.0 if len(one.ids) == len(other.ids) else torch.inf)
    return _log_probability(gaps)


def _log_probability(gaps: Sequence[float]) -> Finding:
    return Finding(worst(gaps), ROUNDING, "log-probability")
