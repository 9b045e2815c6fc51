"""Compare an export of a decoder alone with its model: both cut and rate the same texts, and continue them."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from weft.data.codecs import TextCodec
from weft.decoding import Greedy
from weft.decoding.prompt import Prompt
from weft.errors import WeftError
from weft.exports.agreement import Agreement, Difference, Searched, worst
from weft.models.base import Generative
from weft.parts.call import Call

PROMPT = 8  # tokens of a text that is continued
NEW = 16  # tokens that continue it


class Continuing(Protocol):
    """A loaded export of a language model."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without special tokens."""

    def log_probs(self, ids: Sequence[int]) -> list[float]:
        """The log-probability of each token but the first, given those before it."""

    def continuation(self, ids: Sequence[int], count: int) -> list[int]:
        """The likeliest next tokens, one after the other, at most `count` and up to the end token."""


def continuing_agreement(
    model: Generative, codec: TextCodec, engine: Continuing, texts: Sequence[str], starts: bool, most: int
) -> Agreement:
    """`most`: tokens that the model sees at once."""
    gaps: list[float] = []
    same, different = 0, []
    for text, ids in zip(texts, codec.pieces_of(texts)):
        if (theirs := engine.encode(text)) != ids:
            raise WeftError(
                f"the exported tokeniser differs from the model's: {text!r} becomes {theirs}, expected {ids}. "
                "Nothing was written; please report this."
            )
        row = [codec.special.start] * starts + ids
        row = row[:most]
        gaps += [abs(a - b) for a, b in zip(log_probs(model, row), engine.log_probs(row), strict=True)]
        prompt = row[:PROMPT]
        room = min(NEW, most - len(prompt))
        if room < 1:
            continue
        ours = likeliest(model, prompt, room, codec.special.end)
        others = engine.continuation(prompt, room)
        if ours == others:
            same += 1
        else:
            both = [sum(engine.log_probs([*prompt, *some])[len(prompt) - 1 :]) / len(some) for some in (ours, others)]
            mine, foreign = ("".join(codec.characters(some)) for some in (ours, others))
            different.append(Difference(text, mine, foreign, both[1] - both[0]))
    return Agreement(len(texts), worst(gaps), (Searched(1, same, 0, tuple(different)),), "continuations")


@torch.inference_mode()
def log_probs(model: Generative, ids: Sequence[int]) -> list[float]:
    """The log-probability of each token but the first."""
    row = torch.tensor([[*ids]])
    found: Tensor = model.head.log_probs(model.hidden({"tokens": row[:, :-1]}, Call())[0]) if len(ids) > 1 else row[1:]
    return found.gather(1, row[0, 1:, None])[:, 0].tolist() if len(ids) > 1 else []


def likeliest(model: Generative, ids: Sequence[int], count: int, end: int) -> list[int]:
    """The likeliest next tokens."""
    return list(Greedy()([model], Prompt({}, torch.tensor([[*ids]]), [count], end))[0][0].ids)
