"""A continuation as it is written, and when it is complete."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.data.codecs import TextCodec
from weft.decoding.continuous import Continuation, Step
from weft.viewing.attention_heads import Head


@dataclass(frozen=True)
class Completion:
    """A continuation of a prompt, and its score by the model."""

    text: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]  # for display
    log_probs: tuple[float, ...]  # of each token, by the model itself
    alternatives: tuple[tuple[tuple[str, float], ...], ...]  # the likeliest tokens of each step
    finish: str  # "stop": a stop string or the end of the document; "length": the limit
    has_slid: bool = False  # longer than the context: the model no longer saw the beginning

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "finish": self.finish,
            "ids": list(self.ids),
            "tokens": list(self.tokens),
            "log_probs": list(self.log_probs),
            "alternatives": [
                [{"token": token, "log_prob": value} for token, value in each] for each in self.alternatives
            ],
        }


class Writer:
    """The text of a continuation as it is written. A possible beginning of a stop string is held back."""

    def __init__(
        self, codec: TextCodec, continuation: Continuation, stop: Sequence[str] = (), off: tuple[Head, ...] = ()
    ):
        self.codec = codec
        self.continuation = continuation
        self.stop = tuple(stop)
        self.off = off  # attention heads that are switched off
        self.steps: list[Step] = []
        self.text = ""  # all of it, cut before a stop string
        self.finish: str | None = None
        self._add = codec.stream()
        self._shown = 0

    def add(self, step: Step) -> str:
        """Receive the next token; return the text that can be shown now."""
        self.steps.append(step)
        self.text += self._add(step.token)
        self.finish = step.finish
        found = [at for stop in self.stop if (at := self.text.find(stop, max(0, self._shown - len(stop)))) >= 0]
        if found:
            self.text, self.finish = self.text[: min(found)], "stop"
        last = len(self.text) if self.finish else len(self.text) - self._held_back()
        new, self._shown = self.text[self._shown : last], max(last, self._shown)
        return new

    def _held_back(self) -> int:
        """The number of characters at the end that may begin a stop string."""
        longest = max(map(len, self.stop), default=1) - 1
        ends = range(min(longest, len(self.text)), 0, -1)
        return next((n for n in ends if any(stop.startswith(self.text[-n:]) for stop in self.stop)), 0)

    def completion(self) -> Completion:
        ids = tuple(step.token for step in self.steps)
        return Completion(
            self.text,
            ids,
            tuple(self.codec.readable(ids)),
            tuple(step.log_prob for step in self.steps),
            tuple(
                tuple(zip(self.codec.readable([token for token, _ in step.top]), (value for _, value in step.top)))
                for step in self.steps
            ),
            self.finish or "length",
            self.continuation.has_slid,
        )
