"""What a forward pass may know, and what a run of the decoder remembers.

`Call` is the one object handed through stacks, layers and parts; `Memory` is what an encoder returns; `State` is what a
decoder keeps between steps; `Watch` is whoever looks inside while it happens.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor


@dataclass(frozen=True)
class Memory:
    """What the encoder made of a batch of sources."""

    output: Tensor  # (B, S, D)
    keep: Tensor  # (B, S) True where there is a token
    embedded: Tensor | None = None  # (B, S, D): the source embeddings, where a decoder wants them beside the output
    final: Tensor | None = None  # (B, N, state): where each recurrent layer ended, where a decoder goes on from there

    def select(self, sentences: Tensor) -> "Memory":
        some = {name: value[sentences] for name, value in vars(self).items() if value is not None}
        return Memory(**some)


class Watch(Protocol):
    """Someone looking inside. With no watcher nobody pays for what is seen."""

    def see(self, place: str, name: str, value: Tensor) -> None:
        """Receive a value, such as attention weights (B, H, T, S)."""

    def change(self, place: str, name: str, value: Tensor) -> Tensor:
        """Return the value to go on with; the same tensor to leave it as it is."""


class Steps:
    """A watcher for whoever goes through a sequence step by step: what is seen in steps is shown as a whole. Keys and
    values are the same at every step."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self.seen: dict[tuple[str, str], list[Tensor]] = {}

    def see(self, place: str, name: str, value: Tensor) -> None:
        self.seen.setdefault((place, name), []).append(value)  # (B, H, 1 or S, K or S)

    def change(self, place: str, name: str, value: Tensor) -> Tensor:
        return self.watch.change(place, name, value)

    def show(self) -> None:
        for (place, name), values in self.seen.items():
            same = name in ("key", "value")
            self.watch.see(place, name, values[0] if same else torch.cat(values, 2))  # (B, H, T or S, K or S)


class State:
    """What one run of the decoder remembers, keyed by place.

    Three kinds of entry. `append`ed ones belong to a hypothesis: they grow by a step at a time and `select` moves them
    when hypotheses are reordered. So do those that `replace` puts in the place of the last one. `once` entries belong
    to a sentence: they are made on first use, shared by all hypotheses of the sentence and never copied for them.
    Nothing is learned through what is appended: it is written in place.
    """

    def __init__(self) -> None:
        self.hypotheses: dict[str, Tensor] = {}  # (R, steps so far, …)
        self.newest: dict[str, Tensor] = {}  # (R, …)
        self.sentences: dict[str, Tensor] = {}
        self._rooms: dict[str, Tensor] = {}  # (steps, R, …), with room for steps to come: a new one is written in place

    def append(self, name: str, new: Tensor) -> Tensor:
        """Everything remembered under this name, the newest last: (R, T, …) → (R, steps so far, …)."""
        past = self.hypotheses.get(name, new[:, :0])
        steps = past.size(1) + new.size(1)
        if name not in self._rooms or self._rooms[name].size(0) < steps:
            self._rooms[name] = new.new_empty(2 * steps + 14, new.size(0), *new.shape[2:])
            self._rooms[name][: past.size(1)] = past.transpose(0, 1)
        self._rooms[name][past.size(1) : steps] = new.transpose(0, 1)
        return self._know(name, steps)

    def _know(self, name: str, steps: int) -> Tensor:
        self.hypotheses[name] = self._rooms[name][:steps].transpose(0, 1)
        return self.hypotheses[name]

    def replace(self, name: str, value: Tensor) -> None:
        """Remember this and forget what was remembered under this name: (R, …)."""
        self.newest[name] = value

    def once(self, name: str, make: Callable[[], Tensor]) -> Tensor:
        if name not in self.sentences:
            self.sentences[name] = make()
        return self.sentences[name]

    def select(self, rows: Tensor) -> None:
        """Row i of every hypothesis entry becomes what row `rows[i]` was."""
        stay = torch.arange(rows.size(0), device=rows.device)
        for name, value in self.newest.items():
            self.newest[name] = value.index_select(0, rows)
        for name, room in self._rooms.items():
            if room.size(1) == rows.size(0) and rows.equal(stay):
                return
            steps = self.hypotheses[name].size(1)
            moved = room.new_empty(room.size(0), rows.size(0), *room.shape[2:])
            torch.index_select(room[:steps], 1, rows, out=moved[:steps])
            self._rooms[name] = moved
            self._know(name, steps)

    def retain(self, sentences: Tensor) -> None:
        """Keep only these sentences' entries, in this order."""
        for name, value in self.sentences.items():
            self.sentences[name] = value.index_select(0, sentences)


@dataclass(frozen=True)
class Call:
    """What a forward pass may know. A test holds this list of fields: it stays this small."""

    keep: Tensor | None = None  # (B, T) True where there is a token; None: everywhere
    positions: Tensor | None = None  # (B, T); None: 0, 1, 2 …
    memory: Memory | None = None
    state: State | None = None
    watch: Watch | None = None
    place: str = ""  # where we are, as a path: "decoder.3.cross"

    def at(self, name: str) -> "Call":
        """The same call, one step further down the path."""
        return replace(self, place=f"{self.place}.{name}" if self.place else name)

    def within(self) -> "Call":
        """The same call without the encoder's memory: for whoever looks at its own sequence only."""
        return self if self.memory is None else replace(self, memory=None)
