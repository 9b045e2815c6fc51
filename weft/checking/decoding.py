"""Checks that a model gives the same result with a cache, in a batch, with padding, watched, and with beam width 1.

Two continuations of a prompt may diverge where two tokens are equally likely up to rounding. So differences of
log-probabilities are measured: as far as the tokens agree and, where they diverge, between the two tokens chosen.
"""

from collections.abc import Callable, Sequence

import torch

from weft.checking.model_under_test import Check, Finding, ModelUnderTest, WriterUnderTest
from weft.decoding import Beam, Greedy, Hypothesis
from weft.evaluation.perplexity import log_likelihoods
from weft.exports.agreement import worst
from weft.viewing.attention_maps import Recorder

ROUNDING = 1e-4  # of a log-probability


def _of_writers(measure: Callable[[WriterUnderTest], Finding]) -> Check:
    """A check of models that write; others have nothing to compare."""

    def check(subject: ModelUnderTest) -> Finding | str:
        return measure(subject.writer) if subject.writer else "not a generative model"

    return check


@_of_writers
def cached(writer: WriterUnderTest) -> Finding:
    """Step by step with cached keys and values = all at once without a cache."""
    gaps = []
    for prompt, one in zip(writer.prompts, writer.alone):
        clear = writer.rated(prompt, one.ids)  # (T, V)
        taken = clear.gather(1, torch.tensor(one.ids, device=clear.device)[:, None])[:, 0]
        gaps.append(float((taken - torch.tensor(one.log_probs, device=clear.device)).abs().max()))
        gaps.append(float((clear.max(-1).values - taken).max()))  # the likeliest token was taken
    return _log_probability(gaps)


@_of_writers
def batched(writer: WriterUnderTest) -> Finding:
    """All prompts in one batch = each alone."""
    return _compared(writer, writer.predictor.write_together(writer.prompts))


def padded(subject: ModelUnderTest) -> Finding:
    """Rows that are padded to one length = each by itself."""
    rows = [row for row in subject.rows if subject.batch([row]).count]
    together = subject.batch(rows)
    gaps = log_likelihoods([subject.model], together) - torch.cat(
        [log_likelihoods([subject.model], subject.batch([row])) for row in rows]
    )
    return _log_probability(gaps.abs().tolist())


@_of_writers
def beam_of_one(writer: WriterUnderTest) -> Finding:
    """Beam search of width 1 = greedy search."""
    return _compared(writer, [Beam(1)(writer.models, prompt)[0][0] for prompt in writer.prompts])


@_of_writers
def watched(writer: WriterUnderTest) -> Finding:
    """With a watcher of the attention = without one."""
    return _compared(writer, [Greedy()(writer.models, prompt, Recorder())[0][0] for prompt in writer.prompts])


def _compared(writer: WriterUnderTest, found: Sequence[Hypothesis]) -> Finding:
    gaps = []
    for prompt, one, other in zip(writer.prompts, writer.alone, found, strict=True):
        for at, (mine, its) in enumerate(zip(one.ids, other.ids)):
            if mine != its:
                clear = writer.rated(prompt, one.ids)[at]  # (V)
                gaps.append(abs(float(clear[mine] - clear[its])))
                break
            gaps.append(abs(one.log_probs[at] - other.log_probs[at]))
        else:
            gaps.append(0.0 if len(one.ids) == len(other.ids) else torch.inf)
    return _log_probability(gaps)


def _log_probability(gaps: Sequence[float]) -> Finding:
    return Finding(worst(gaps), ROUNDING, "log-probability")
