"""What if: heads switched off, tokens of the text replaced, tokens forced, a temperature. All views take them alike."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from weft.data.codecs import TextCodec
from weft.errors import WeftError
from weft.viewing.attention_heads import Head, HeadsOff

MARK = "·"  # shown instead of a space
Texts = Mapping[int, str] | Iterable[tuple[int, str]]
Write = Callable[[Sequence[int]], Sequence[int]]  # the tokens that must come first → all that is written


@dataclass(frozen=True, init=False)
class WhatIf:
    """Changes to a model at work, for one text: `WhatIf(off=[Head("cross", 2, 1)], replace={10: "wide"})`."""

    off: tuple[Head, ...]  # heads that are switched off
    replace: tuple[tuple[int, str], ...]  # by token of the text: what stands in its place
    force: tuple[tuple[int, str], ...]  # by step: the token that is written there; the model goes on from it
    temperature: float  # divides the logits

    def __init__(
        self, off: Iterable[Head] = (), replace: Texts = (), force: Texts = (), temperature: float = 1.0
    ) -> None:
        if not 0 < temperature < math.inf:
            raise WeftError(f"temperature must be a finite number above 0, got {temperature}.")
        given = {"off": tuple(dict.fromkeys(off)), "temperature": temperature}
        vars(self).update(given, replace=_ordered(replace, "token"), force=_ordered(force, "step"))

    def replaced(self, codec: TextCodec, ids: Sequence[int]) -> list[int]:
        """The ids of a text with its replacements. A word in place of a word that follows a space follows it too; an
        empty text removes the token."""
        changed = [[i] for i in ids]
        shown = codec.readable(ids)
        for at, text in self.replace:
            if not 0 <= at < len(ids):
                raise WeftError(f"token {at} does not exist: tokens count from 0 to {len(ids) - 1}.")
            if ids[at] == codec.special.end:
                raise WeftError(f"token {at} is the end of the text, and cannot be replaced.")
            follows_space = shown[at].startswith(MARK) and not text.startswith((MARK, " "))
            changed[at] = ids_of(codec, MARK + text if text and follows_space else text)
        return [i for some in changed for i in some]

    def beginning(self, codec: TextCodec, write: Write, target: Sequence[int] | None = None) -> list[int]:
        """What is written up to the last forced token. Before the first of them it is the target, or by the model."""
        fixed: list[int] = []
        for step, text in self.force:
            ids = write(fixed) if fixed or target is None else target
            most = len(ids) - (codec.special.end in ids)
            if not 0 <= step <= most:
                raise WeftError(f"step {step} does not exist: steps count from 0 to {most}.")
            if step < len(fixed):
                raise WeftError(f"step {step} is part of the word that is forced before it.")
            if not (word := ids_of(codec, text)):
                raise WeftError(f"the token forced at step {step} is empty.")
            fixed = [*ids[:step], *word]
        return fixed

    def tempered(self, log_probs: Tensor) -> Tensor:
        """Log-probabilities (…, V) at this temperature."""
        return log_probs if self.temperature == 1.0 else (log_probs / self.temperature).log_softmax(-1)

    @property
    def words(self) -> str:
        """All text in it."""
        return "".join(text for _, text in (*self.replace, *self.force))

    @property
    def unforced(self) -> "WhatIf":
        """The same without forced tokens, for a target that already has them."""
        return dataclasses.replace(self, force=())

    def watch(self, beginning: Sequence[int] = ()) -> "Changes | None":
        """A watcher for a search under these changes; None if nothing changes."""
        return Changes(self, beginning) if self.off or beginning or self.temperature != 1.0 else None


class Changes(HeadsOff):
    """A watcher of a search for one text: it switches heads off, and lets only the given tokens be written first."""

    def __init__(self, what_if: WhatIf, beginning: Sequence[int] = ()):
        super().__init__(what_if.off)
        self.what_if = what_if
        self.beginning = iter(beginning)

    def change(self, place: str, name: str, value: Tensor) -> Tensor:
        if name != "log_probs":
            return super().change(place, name, value)
        value = self.what_if.tempered(value)  # (R, V)
        if (token := next(self.beginning, None)) is None:
            return value
        only = torch.full_like(value, -torch.inf)
        only[:, token] = value[:, token]
        return only


def ids_of(codec: TextCodec, text: str) -> list[int]:
    """The ids of a token as it is shown, such as ·cat, or else of a text."""
    shown = text.replace(" ", MARK)
    if shown in (known := _tokens(codec)):
        return [known[shown]]
    return codec.pieces_of([text.replace(MARK, " ")])[0]


@lru_cache(8)
def _tokens(codec: TextCodec) -> dict[str, int]:
    """All tokens by what is shown of them. Special ones come first, so others of the same look are preferred."""
    return {token: i for i, token in enumerate(codec.readable(range(len(codec)))) if token}


def _ordered(given: Texts, name: str) -> tuple[tuple[int, str], ...]:
    pairs = tuple(sorted(given.items() if isinstance(given, Mapping) else given))
    for at, text in pairs:
        if not (isinstance(at, int) and isinstance(text, str)):
            raise WeftError(f"expected the text of a {name} by its number, got {at!r}: {text!r}.")
    return pairs


NOTHING = WhatIf()
