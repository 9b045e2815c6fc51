"""Attention maps: the weights a watcher records next to the fast path, with the tokens they belong to."""

import csv
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from weft.errors import WeftError
from weft.models.base import Model
from weft.parts.call import Call
from weft.viewing.attention_heads import KINDS, Head, HeadsOff, kind_of, place_of
from weft.viewing.head_numbers import HeadNumbers
from weft.viewing.what_if import NOTHING, WhatIf


class Recorder(HeadsOff):
    """A watcher that records every attention. It can switch heads off and changes nothing else."""

    def __init__(self, off: Iterable[Head] = ()) -> None:
        super().__init__(off)
        self.seen: dict[tuple[str, str], Tensor] = {}  # by place and name, such as ("decoder.0.cross", "weights")

    def see(self, place: str, name: str, value: Tensor) -> None:
        self.seen[place, name] = value

    def layers(self, kind: str, row: int = 0) -> dict[int, Tensor]:
        """Return the weights (H, T, S) of each layer with this kind of attention, by its number from 1, for one row of
        the batch."""
        side, sublayer = KINDS[kind].side, KINDS[kind].sublayer
        return {
            1 + int(place.split(".")[1]): seen[row]
            for (place, name), seen in self.seen.items()
            if name == "weights" and place.startswith(side) and place.endswith(sublayer)
        }

    def maps(self, row: int = 0) -> dict[str, Tensor]:
        """Return each kind of attention as (N, H, T, S): zeros where a layer has no such head, N = 0 where no layer
        has this kind."""
        return {kind: _grid(self.layers(kind, row)) for kind in KINDS}


def _grid(layers: dict[int, Tensor]) -> Tensor:
    if not layers:
        return torch.zeros(0, 0, 0, 0)
    _, T, S = next(iter(layers.values())).shape
    grid = torch.zeros(max(layers), max(map(len, layers.values())), T, S)
    for layer, weights in layers.items():
        grid[layer - 1, : len(weights)] = weights
    return grid


def heads_of(model: Model) -> dict[str, tuple[int, ...]]:
    """Count the heads of each layer by kind of attention, by watching a pass over a single token."""
    recorder = Recorder()
    with torch.inference_mode():
        model.hidden(model.example(1).inputs, Call(watch=recorder))
    return {kind: _counted(maps) for kind, maps in recorder.maps().items()}


@dataclass(frozen=True)
class Site:
    """A place in a model where something can be seen."""

    id: str  # "decoder.2.cross": layers count from 1; 0 is the embedding
    what: str  # attention, residual
    label: str
    layer: int
    units: int  # heads, or the width of the residual stream
    kind: str | None  # of attention
    queries: str  # of attention_heads.AXES
    keys: str | None


def sites_of(model: Model) -> list[Site]:
    """Find the places where something can be seen, in the order of computing, by watching a pass over a token."""
    recorder = Recorder()
    with torch.inference_mode():
        model.hidden(model.example(1).inputs, Call(watch=recorder))
    alone = len(model.sides) == 1
    found = []
    for (place, name), value in recorder.seen.items():
        side, layer, sublayer = [*place.split("."), "", ""][:3]
        number = int(layer) + 1 if layer.isdigit() else 0
        if name == "weights":
            kind = next(each for each, one in KINDS.items() if (one.side, one.sublayer) == (side, sublayer))
            one = KINDS[kind]
            label = f"{'Self-attention' if alone else one.label}, layer {number}"
            place = f"{side}.{number}.{sublayer}"
            found.append(Site(place, "attention", label, number, value.size(1), kind, one.queries, one.keys))
        elif name == "residual" and not sublayer and (number or not layer):
            label = f"layer {number}" if number else "embedding"
            axis = "source" if side == "encoder" else "shifted"
            label = label.capitalize() if alone else f"{side.capitalize()}, {label}"
            found.append(Site(f"{side}.{number}", "residual", label, number, value.size(-1), None, axis, None))
    return found


def _counted(maps: Tensor) -> tuple[int, ...]:
    """Count the heads of each layer of a grid: those that have any weight."""
    return tuple(maps.any(-1).any(-1).sum(-1).tolist())


def check_head(head: Head, counts: dict[str, tuple[int, ...]]) -> None:
    """Raise an error if a model with these `heads_of` has no such head."""
    kind_of(head.kind)
    _check(head.kind, counts[head.kind], head.layer, head.head)


def _check(kind: str, counts: tuple[int, ...], layer: int | None, head: int | None) -> None:
    if not counts:
        raise WeftError(f"this model has no {KINDS[kind].name}.")
    if layer is not None:
        if not 1 <= layer <= len(counts):
            raise WeftError(f"layer {layer} does not exist: this model has {_numbered('layer', len(counts))}.")
        if not counts[layer - 1]:
            raise WeftError(f"layer {layer} of this model has no {KINDS[kind].name}.")
    most = max(counts) if layer is None else counts[layer - 1]
    if head is not None and not 1 <= head <= most:
        whose = "layer" if most < max(counts) else "model"
        raise WeftError(f"head {head} does not exist: this {whose} has {_numbered('head', most)}.")


def _numbered(name: str, count: int) -> str:
    return f"{name}s 1 to {count}" if count > 1 else f"1 {name}"


@dataclass(frozen=True)
class AttentionMaps:
    """The attention maps of one text: every kind, layer and head, with their tokens.

    A missing kind has no layers, and is an error in `of` and `each`. A notebook displays the
    maps as a page. `numbers` returns what a head computed on the way to its weights.
    """

    model: str  # its name
    text: str
    source: list[str]  # tokens; · marks the beginning of a word; none where nothing but the target is read
    target: list[str]
    translation: str  # what was written after reading the text, or was given
    log_probs: list[float]  # of each target token
    maps: dict[str, Tensor]  # by kind: (N, H, query, key); row t of a target is the step that writes token t
    ids: tuple[int, ...] = ()  # of the target, for `Translator.attention` on the same tokens
    what_if: WhatIf = NOTHING  # what was changed
    seen: dict[tuple[str, str], Tensor] = field(default_factory=dict, repr=False)  # what else a recorder saw
    start: str = "∅"  # the token that the decoder reads first
    read: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False)  # the ids of each input of the model
    hidden: Tensor = field(default_factory=lambda: torch.zeros(0, 0), repr=False)  # (T, D) predicts the target
    targets: tuple[int, ...] = ()  # the ids of all tokens of `target`
    hash: str = ""  # of the weights

    @property
    def encoder(self) -> Tensor:
        return self.maps["encoder"]

    @property
    def decoder(self) -> Tensor:
        return self.maps["decoder"]

    @property
    def cross(self) -> Tensor:
        return self.maps["cross"]

    @property
    def kinds(self) -> list[str]:
        """The kinds of attention that the model has."""
        return [kind for kind, maps in self.maps.items() if maps.size(0)]

    def kind(self, name: str | None = None) -> str:
        """This kind of attention; None: the last one that the model has, which is the one between encoder and decoder
        where there is one."""
        if name is not None:
            kind_of(name)
            return name
        if not self.kinds:
            raise WeftError("this model has no attention.")
        return self.kinds[-1]

    @property
    def axes(self) -> dict[str, tuple[list[str], list[str]]]:
        """The query and key tokens of each kind."""
        tokens = {"source": self.source, "target": self.target, "shifted": [self.start, *self.target[:-1]]}
        return {kind: (tokens[KINDS[kind].queries], tokens[KINDS[kind].keys]) for kind in self.maps}

    @property
    def score(self) -> float:
        """The mean log-probability of a target token."""
        return sum(self.log_probs) / len(self.log_probs)

    @property
    def characters(self) -> str:
        """All text that a picture may contain."""
        return "".join((self.model, self.text, self.translation, *self.source, *self.target))

    def of(self, kind: str | None = None, layer: int | None = None, head: int | None = None) -> Tensor:
        """Return one map (query, key): of a layer and head, counted from 1, or their mean where none is given."""
        maps = self.each(kind, layer, head)
        return maps[maps.any(-1).any(-1)].mean(0)

    def each(self, kind: str | None = None, layer: int | None = None, head: int | None = None) -> Tensor:
        """Return (layers, heads, query, key) of one layer, one head, or all; zeros where a layer has no such head."""
        kind = self.kind(kind)
        maps = self.maps[kind]
        _check(kind, _counted(maps), layer, head)
        maps = maps if layer is None else maps[layer - 1 : layer]
        return maps if head is None else maps[:, head - 1 : head]

    def query(self, kind: str, number: int | None) -> list[str]:
        """Describe the query with this number, counted from 1; None: none."""
        queries = self.axes[kind][0]
        if number is None:
            return []
        if not 1 <= number <= len(queries):
            raise WeftError(f"query {number} does not exist: they count from 1 to {len(queries)}.")
        return [f"query {number}, {queries[number - 1].removeprefix('·')}"]

    def numbers(self, kind: str, layer: int, head: int, query: int) -> HeadNumbers:
        """Return each step of one head's computation for the query token with this index."""
        weights = self.each(kind, layer, head)[0, 0]  # (T, S)
        if not 0 <= query < weights.size(0):
            raise WeftError(f"token {query} does not exist: tokens count from 0 to {weights.size(0) - 1}.")
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
        """Return tokens and weights as plain data: of all kinds, layers and heads, or of those given."""
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
                for each in ([kind] if kind else self.kinds)
            },
        }

    def save_json(
        self, file: Path | str, kind: str | None = None, layer: int | None = None, head: int | None = None
    ) -> None:
        """Write the raw numbers as JSON."""
        Path(file).write_text(json.dumps(self.to_dict(kind, layer, head), ensure_ascii=False), encoding="utf-8")

    def save_csv(
        self,
        file: Path | str,
        layer: int | None = None,
        head: int | None = None,
        kind: str | None = None,
        query: int | None = None,
    ) -> None:
        """Write one map as a table: a row for each query, a column for each key. Or, of a query of one head, counted
        from 1, each step of its computation: a row for each key."""
        kind = self.kind(kind)
        queries, keys = self.axes[kind]
        with Path(file).open("w", encoding="utf-8", newline="") as stream:
            table = csv.writer(stream)
            if query is not None:
                assert layer
                assert head
                table.writerows(self.numbers(kind, layer, head, query - 1).table(keys))
                return
            table.writerow(["", *keys])
            for token, row in zip(queries, self.of(kind, layer, head).tolist()):
                table.writerow([token, *(f"{weight:.6g}" for weight in row)])

    def save_map(
        self,
        file: Path | str,
        layer: int | None = None,
        head: int | None = None,
        kind: str | None = None,
        command: str = "",
    ) -> None:
        """Write one map as a picture, .png, .svg or .pdf: queries down the side, keys along the top. The caption names
        the model, its weights and the command, if there is one."""
        from weft.viewing.fonts import with_fonts_for
        from weft.viewing.pictures import draw_map

        kind = self.kind(kind)
        queries, keys = self.axes[kind]
        told = self._title(kind), self._caption(kind, self._which(kind, layer, head), command)
        with with_fonts_for(self.characters):
            draw_map(self.of(kind, layer, head).tolist(), keys, queries, *told, Path(file))

    def save_lines(
        self,
        file: Path | str,
        layer: int | None = None,
        head: int | None = None,
        kind: str | None = None,
        query: int | None = None,
        command: str = "",
    ) -> None:
        """Write one map as lines from queries, or one of them, counted from 1, to keys; of a layer without a head,
        those of each of its heads if they are few enough to be told apart."""
        from weft.viewing.fonts import with_fonts_for
        from weft.viewing.palette import HEADS
        from weft.viewing.pictures import draw_lines

        kind = self.kind(kind)
        each = list(self.each(kind, layer)[0]) if layer and not head else []
        heads = [self._only(query, one) for one in each if one.any()]
        is_apart = 1 < len(heads) <= len(HEADS)
        which = [f"layer {layer}"] if is_apart else self._which(kind, layer, head)
        curves = {f"head {n}": one for n, one in enumerate(heads, 1)} if is_apart else {}
        told = self._title(kind), self._caption(kind, [*which, *self.query(kind, query)], command)
        with with_fonts_for(self.characters):
            own = {"": self._only(query, self.of(kind, layer, head))}
            draw_lines(curves or own, *self.axes[kind], *told, Path(file))

    @staticmethod
    def _only(query: int | None, weights: Tensor) -> Sequence[Sequence[float]]:
        """The weights of one query, or of all."""
        rows = torch.arange(1, 1 + weights.size(0)).unsqueeze(1)  # (query, 1)
        return (weights if query is None else weights * (rows == query)).tolist()

    def save_grid(self, file: Path | str, layer: int | None = None, kind: str | None = None, command: str = "") -> None:
        """Write every head as a small map: one row per layer, one column per head."""
        from weft.viewing.fonts import with_fonts_for
        from weft.viewing.pictures import draw_grid

        kind = self.kind(kind)
        told = self._title(kind), self._caption(kind, [], command)
        maps = self.each(kind, layer).tolist()
        with with_fonts_for(self.characters):
            draw_grid(maps, layer or 1, *self.axes[kind], *told, Path(file))

    def save_html(self, file: Path | str, kind: str | None = None, layer: int | None = None) -> None:
        """Write one HTML file that works from disk: lines and matrix, every layer and head."""
        from weft.viewing.page import standalone

        Path(file).write_text(standalone(self, kind, layer), encoding="utf-8")

    def _repr_html_(self) -> str:
        """Return the same page in a frame, for notebooks."""
        from weft.viewing.page import framed

        return framed(self)

    def _caption(self, kind: str, which: Sequence[str], command: str) -> str:
        off = [f"without {one.kind} head {one.layer}.{one.head}" for one in self.what_if.off]
        shown = ", ".join(
            [f"{self.model}: {KINDS[kind].name}", *which, *off, *([f"weights {self.hash}"] * bool(self.hash))]
        )
        return f"{shown}\n{command}" if command else shown

    def _which(self, kind: str, layer: int | None, head: int | None) -> list[str]:
        """Describe what `of` returns; a layer or head that is the only one is not mentioned."""
        asked = {"layer": layer, "head": head}
        counts = [count for count in _counted(self.each(kind, layer, head)) if count]
        many = {name: count for name, count in zip(asked, (len(counts), max(counts))) if count > 1}
        mean = " and ".join(f"{count} {name}s" for name, count in many.items())
        return [f"{name} {number}" for name, number in asked.items() if number] + ([f"mean of {mean}"] if many else [])

    def _title(self, kind: str) -> str:
        if not self.source:
            return self.text + self.translation
        return self.text if "source" in (KINDS[kind].queries, KINDS[kind].keys) else self.translation
