"""What a model looks at: attention captured beside the fast path, with the tokens it belongs to."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from weft.errors import WeftError
from weft.models.base import Model
from weft.parts.call import Call
from weft.viewing.attention_heads import KINDS, Head, HeadsOff, place_of

NAMES = {"encoder": "encoder self-attention", "decoder": "decoder self-attention", "cross": "encoder-decoder attention"}


class Recorder(HeadsOff):
    """A watcher that keeps what every attention shows; heads may be switched off, and nothing else is changed."""

    def __init__(self, off: Iterable[Head] = ()) -> None:
        super().__init__(off)
        self.seen: dict[tuple[str, str], Tensor] = {}  # by place and name, such as ("decoder.0.cross", "weights")

    def see(self, place: str, name: str, value: Tensor) -> None:
        self.seen[place, name] = value

    def layers(self, kind: str) -> dict[int, Tensor]:
        """The weights (H, T, S) of each layer that has this kind, by its number from 1: of the batch's first row."""
        side, sublayer = KINDS[kind]
        return {
            1 + int(place.split(".")[1]): seen[0]
            for (place, name), seen in self.seen.items()
            if name == "weights" and place.startswith(side) and place.endswith(sublayer)
        }

    def maps(self) -> dict[str, Tensor]:
        """Encoder, decoder and cross attention, (N, H, T, S) each: zeros where a layer has no such head, and N = 0
        where none has."""
        return {kind: _grid(self.layers(kind)) for kind in KINDS}


def _grid(layers: dict[int, Tensor]) -> Tensor:
    if not layers:
        return torch.zeros(0, 0, 0, 0)
    _, T, S = next(iter(layers.values())).shape
    grid = torch.zeros(max(layers), max(map(len, layers.values())), T, S)
    for layer, weights in layers.items():
        grid[layer - 1, : len(weights)] = weights
    return grid


def heads_of(model: Model) -> dict[str, tuple[int, ...]]:
    """How many heads each layer has of each kind, found by looking at a pass over a single token."""
    recorder = Recorder()
    with torch.inference_mode():
        model.hidden(model.example(1).inputs, Call(watch=recorder))
    return {kind: _counted(maps) for kind, maps in recorder.maps().items()}


def _counted(maps: Tensor) -> tuple[int, ...]:
    """How many heads each layer of a grid has: what looks somewhere is there."""
    return tuple(maps.any(-1).any(-1).sum(-1).tolist())


def check_head(head: Head, counts: dict[str, tuple[int, ...]]) -> None:
    """Whether there is such a head in a model with these `heads_of`."""
    place_of(head.kind, head.layer)  # is there such a kind?
    _check(head.kind, counts[head.kind], head.layer, head.head)


def _check(kind: str, counts: tuple[int, ...], layer: int | None, head: int | None) -> None:
    if not counts:
        raise WeftError(f"this model has no {NAMES[kind]}: there is nothing to look at.")
    if layer is not None:
        if not 1 <= layer <= len(counts):
            raise WeftError(f"there is no layer {layer}: this model {_numbered('layer', len(counts))}.")
        if not counts[layer - 1]:
            raise WeftError(f"layer {layer} of this model has no {NAMES[kind]}: there is nothing to look at.")
    most = max(counts) if layer is None else counts[layer - 1]
    if head is not None and not 1 <= head <= most:
        whose = "layer" if most < max(counts) else "model"
        raise WeftError(f"there is no head {head}: this {whose} {_numbered('head', most)}.")


def _numbered(name: str, count: int) -> str:
    return f"has {name}s 1 to {count}" if count > 1 else f"looks with one {name}"


@dataclass(frozen=True)
class HeadNumbers:
    """One query of one head, step by step: q · k, divided by √K, softmax, weighted sum of the values.

    Attention before 2017 has a score of its own in the place of q · k, and does not divide it (`heads.formula`).
    """

    query: Tensor  # (K)
    keys: Tensor  # (S, K)
    values: Tensor  # (S, V)
    scores: Tensor  # (S)  q · k
    scaled: Tensor | None  # (S)  q · k / √K
    visible: Tensor  # (S)  False where a mask hides the key
    weights: Tensor  # (S)  softmax over the visible ones
    output: Tensor  # (V)  Σ weight · value


@dataclass(frozen=True)
class Attention:
    """The attention of one sentence pair, every layer and head: (N, H, query, key).

    Of a kind that the model does not have there are no layers; `of` and `each` say so in words. In a notebook it shows
    itself. What the heads computed on the way is asked for with `numbers`.
    """

    model: str  # its name
    text: str
    source: list[str]  # tokens; a word begins with ·
    target: list[str]
    translation: str  # the target as a text
    log_probs: list[float]  # of each target token
    encoder: Tensor  # source tokens looking at source tokens
    decoder: Tensor  # what was written so far: row t is the step that writes target token t
    cross: Tensor  # the step that writes target token t looking at source tokens
    ids: tuple[int, ...] = ()  # of the target: what `Translator.attention` takes to look at the very same tokens
    off: tuple[Head, ...] = ()  # heads that were switched off
    seen: dict[tuple[str, str], Tensor] = field(default_factory=dict, repr=False)  # what else a recorder saw

    @property
    def score(self) -> float:
        """The mean log-probability of a target token."""
        return sum(self.log_probs) / len(self.log_probs)

    @property
    def characters(self) -> str:
        """Whatever a picture of it may have to write."""
        return "".join((self.model, self.text, self.translation, *self.source, *self.target))

    def tokens(self, kind: str) -> tuple[list[str], list[str]]:
        """Those that look and those that are looked at. The decoder looks at what it has read: a start, then all but
        the last token it writes."""
        read = ["∅", *self.target[:-1]]
        return {
            "encoder": (self.source, self.source),
            "decoder": (self.target, read),
            "cross": (self.target, self.source),
        }[kind]

    def of(self, kind: str = "cross", layer: int | None = None, head: int | None = None) -> Tensor:
        """One map (query, key): of a layer and head counted from 1, or the mean of all of them."""
        maps = self.each(kind, layer, head)
        return maps[maps.any(-1).any(-1)].mean(0)

    def each(self, kind: str = "cross", layer: int | None = None, head: int | None = None) -> Tensor:
        """(layers, heads, query, key): of one layer, one head, or all of them; zeros where a layer has no such head."""
        place_of(kind, 1)  # is there such a kind?
        maps: Tensor = getattr(self, kind)
        _check(kind, _counted(maps), layer, head)
        maps = maps if layer is None else maps[layer - 1 : layer]
        return maps if head is None else maps[:, head - 1 : head]

    def numbers(self, kind: str, layer: int, head: int, query: int) -> HeadNumbers:
        """How one head comes to look where it looks, for the query token with this index."""
        weights = self.each(kind, layer, head)[0, 0]  # (T, S)
        if not 0 <= query < weights.size(0):
            raise WeftError(f"there is no token {query}: they are counted from 0 to {weights.size(0) - 1}.")
        place = place_of(kind, layer)
        q = self.seen[place, "query"][0, head - 1, query]  # (K)
        keys, values = (self.seen[place, name][0, head - 1] for name in ("key", "value"))  # (S, K), (S, V)
        if (place, "scores") in self.seen:
            scores, scaled = self.seen[place, "scores"][0, head - 1, query], None  # (S)
        else:
            scores = keys @ q  # (S)
            scaled = scores / math.sqrt(q.size(0))
        visible = self.seen.get((place, "visible"), torch.ones(1, 1, 1, scores.size(0), dtype=torch.bool))
        visible = visible[0, 0, min(query, visible.size(2) - 1)]  # (S)
        output = weights[query] @ values  # (V)
        return HeadNumbers(q, keys, values, scores, scaled, visible, weights[query], output)

    def to_dict(self, kind: str | None = None, layer: int | None = None, head: int | None = None) -> dict[str, object]:
        """Tokens and numbers, as JSON has them: of all kinds, layers and heads, or of those asked for."""
        return {
            "model": self.model,
            "text": self.text,
            "translation": self.translation,
            "source": self.source,
            "target": self.target,
            "log_probs": self.log_probs,
            "score": self.score,
            "attention": {
                each: {"layer": layer, "head": head, "maps": self.each(each, layer, head).tolist()}
                for each in ([kind] if kind else [kind for kind in KINDS if getattr(self, kind).size(0)])
            },
        }

    def save_json(
        self, file: Path | str, kind: str | None = None, layer: int | None = None, head: int | None = None
    ) -> None:
        """The raw numbers."""
        Path(file).write_text(json.dumps(self.to_dict(kind, layer, head), ensure_ascii=False), encoding="utf-8")

    def save_png(
        self, file: Path | str, layer: int | None = None, head: int | None = None, kind: str = "cross"
    ) -> None:
        """One map as a picture: queries down the side, keys along the top."""
        from weft.viewing.fonts import with_fonts_for
        from weft.viewing.pictures import draw_alignment

        queries, keys = self.tokens(kind)
        caption = ", ".join([f"{self.model}: {NAMES[kind]}", *self._which(kind, layer, head)])
        with with_fonts_for(self.characters):
            draw_alignment(self.of(kind, layer, head).tolist(), keys, queries, self._title(kind), caption, Path(file))

    def save_grid(self, file: Path | str, layer: int | None = None, kind: str = "cross") -> None:
        """Every head as a small map: a row for each layer, a column for each head."""
        from weft.viewing.fonts import with_fonts_for
        from weft.viewing.pictures import draw_grid

        caption = f"{self.model}: {NAMES[kind]}"
        maps = self.each(kind, layer).tolist()
        with with_fonts_for(self.characters):
            draw_grid(maps, layer or 1, *self.tokens(kind), self._title(kind), caption, Path(file))

    def save_html(self, file: Path | str, kind: str = "cross", layer: int | None = None) -> None:
        """One file that works from disk: lines and matrix, every layer and head."""
        from weft.viewing.page import standalone

        Path(file).write_text(standalone(self, kind, layer), encoding="utf-8")

    def _repr_html_(self) -> str:
        """In a notebook: the same page, in a frame of its own."""
        from weft.viewing.page import framed

        return framed(self)

    def _which(self, kind: str, layer: int | None, head: int | None) -> list[str]:
        """What `of` shows, in words: nothing is said where there is only one."""
        asked = {"layer": layer, "head": head}
        counts = [count for count in _counted(self.each(kind, layer, head)) if count]
        many = {name: count for name, count in zip(asked, (len(counts), max(counts))) if count > 1}
        mean = " and ".join(f"{count} {name}s" for name, count in many.items())
        return [f"{name} {number}" for name, number in asked.items() if number] + ([f"mean of {mean}"] if many else [])

    def _title(self, kind: str) -> str:
        return self.translation if kind == "decoder" else self.text
