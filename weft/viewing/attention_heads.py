"""Kinds of attention, and switching heads off (arXiv:1905.10650 ablates them one by one)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from weft.decoding import Hypothesis, Search
from weft.decoding.prompt import Prompt
from weft.errors import WeftError, unknown
from weft.models.base import Generative, Model
from weft.parts.call import Watch
from weft.parts.context_attention import ContextAttention, Dot

# The tokens along an axis of an attention map. The decoder's keys are its input, the target shifted right.
AXES = {"source": "source tokens", "target": "target tokens", "shifted": "target tokens, shifted right"}

ALONE = {"source": "tokens", "target": "next tokens", "shifted": "tokens"}  # in a model with one side


@dataclass(frozen=True)
class Kind:
    """A kind of attention: its place in a model, its names, and which tokens attend to which."""

    side: str
    sublayer: str
    name: str  # in a sentence
    label: str  # on a button
    queries: str  # of AXES
    keys: str


KINDS = {
    "encoder": Kind("encoder", "mix", "encoder self-attention", "Encoder", "source", "source"),
    "decoder": Kind("decoder", "mix", "decoder self-attention", "Decoder", "target", "shifted"),
    "cross": Kind("decoder", "cross", "encoder-decoder attention", "Encoder–decoder", "target", "source"),
}
DEFAULT_KIND = "cross"


@dataclass(frozen=True)
class Head:
    """One attention head; layers and heads count from 1."""

    kind: str  # of KINDS
    layer: int
    head: int


def kind_of(name: str) -> Kind:
    if name not in KINDS:
        raise WeftError(unknown("kind of attention", name, KINDS))
    return KINDS[name]


def described(names: Iterable[str], sides: int = 2) -> list[dict[str, str]]:
    """These kinds of attention of a model with so many sides, as plain data for a page."""
    chosen, axes = set(names), AXES if sides > 1 else ALONE
    return [
        {
            "name": name,
            "label": kind.label if sides > 1 else "Self-attention",
            "queries": kind.queries,
            "keys": kind.keys,
            "query_title": axes[kind.queries],
            "key_title": axes[kind.keys],
        }
        for name, kind in KINDS.items()
        if name in chosen
    ]


def place_of(kind: str, layer: int) -> str:
    """The name under which a watcher sees a layer's attention: place_of("cross", 2) → decoder.1.cross"""
    found = kind_of(kind)
    return f"{found.side}.{layer - 1}.{found.sublayer}"


def formula(model: Model, layer: int) -> str:
    """The score function of attention before 2017, written as q · k where it is a dot product."""
    scores = {name: part.score for name, part in model.named_modules() if isinstance(part, ContextAttention)}
    own = [score for name, score in scores.items() if f".layers.{layer - 1}." in name]
    score = (own or [*scores.values()])[0]  # the layer's, or the one for all
    return f"q · k = {score.formula}" if isinstance(score, Dot) else score.formula


class HeadsOff:
    """A watcher that switches heads off: their outputs become 0 before W^O."""

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
    """A search with some heads switched off."""

    search: Search
    off: tuple[Head, ...]

    @property
    def rows(self) -> int:
        return self.search.rows

    def __call__(
        self, models: Sequence[Generative], prompt: Prompt, watch: Watch | None = None
    ) -> list[list[Hypothesis]]:
        assert watch is None, "a search takes one watcher, and this one switches heads off"
        return self.search(models, prompt, HeadsOff(self.off) if self.off else None)
