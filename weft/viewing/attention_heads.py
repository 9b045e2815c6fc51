"""Heads by name, and switched off: what a model does without them (arXiv:1905.10650 takes them away one by one)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from weft.decoding import Hypothesis, Search
from weft.decoding.prompt import Prompt
from weft.errors import WeftError, unknown
from weft.models.base import Generative, Model
from weft.parts.call import Watch
from weft.parts.context_attention import ContextAttention, Dot

# Where each kind of attention stands: the side, and the name of the sub-layer.
KINDS = {"encoder": ("encoder", "mix"), "decoder": ("decoder", "mix"), "cross": ("decoder", "cross")}


@dataclass(frozen=True)
class Head:
    """One head; layers and heads are counted from 1."""

    kind: str  # encoder, decoder or cross
    layer: int
    head: int


def place_of(kind: str, layer: int) -> str:
    """place_of("cross", 2) → decoder.1.cross"""
    if kind not in KINDS:
        raise WeftError(unknown("kind of attention", kind, KINDS))
    side, sublayer = KINDS[kind]
    return f"{side}.{layer - 1}.{sublayer}"


def formula(model: Model, layer: int) -> str:
    """How attention before 2017 scores what it looks at; as q · k where that is what it does."""
    scores = {name: part.score for name, part in model.named_modules() if isinstance(part, ContextAttention)}
    own = [score for name, score in scores.items() if f".layers.{layer - 1}." in name]
    score = (own or [*scores.values()])[0]  # the layer's, or the one for all
    return f"q · k = {score.formula}" if isinstance(score, Dot) else score.formula


class HeadsOff:
    """A watcher that silences some heads: their outputs become 0 before W^O."""

    def __init__(self, off: Iterable[Head]):
        self.off: dict[str, list[int]] = {}  # by place
        for one in off:
            self.off.setdefault(place_of(one.kind, one.layer), []).append(one.head - 1)

    def see(self, place: str, name: str, value: Tensor) -> None:
        pass

    def change(self, place: str, name: str, value: Tensor) -> Tensor:
        if name != "heads" or place not in self.off:
            return value
        scale = value.new_ones(value.size(2), 1)
        scale[self.off[place]] = 0.0
        return value * scale  # (B, T, H, K)


@dataclass(frozen=True)
class Without:
    """A search while some heads are off."""

    search: Search
    off: tuple[Head, ...]

    @property
    def rows(self) -> int:
        return self.search.rows

    def __call__(
        self, models: Sequence[Generative], prompt: Prompt, watch: Watch | None = None
    ) -> list[list[Hypothesis]]:
        assert watch is None, "there is one watcher, and it switches heads off"
        return self.search(models, prompt, HeadsOff(self.off) if self.off else None)
