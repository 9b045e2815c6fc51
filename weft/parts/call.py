"""What a forward pass may know, and what a run of the decoder remembers.

`Call` is the one object handed through stacks, layers and parts; `Memory` is what an encoder returns; `State` is what a
decoder keeps between steps; `Watch` looks inside a forward pass; `Penalties` collects what parts add to the objective.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch
from torch import Tensor

from weft.parts.heads import Loss


@dataclass(frozen=True)
class Memory:
    """The encoder's output for a batch of sources."""

    output: Tensor  # (B, S, D)
    keep: Tensor  # (B, S) True where there is a token
    embedded: Tensor | None = None  # (B, S, D): the source embeddings, for decoders that use them as well
    final: Tensor | None = None  # (B, N, state): the final state of each recurrent layer, for decoders that start there

    def select(self, sentences: Tensor) -> "Memory":
        some = {name: value[sentences] for name, value in vars(self).items() if value is not None}
        return Memory(**some)


class Watch(Protocol):
    """An observer of a forward pass. Without one, nothing is computed for it."""

    def see(self, place: str, name: str, value: Tensor) -> None:
        """Receive a value, such as attention weights (B, H, T, S)."""

    def change(self, place: str, name: str, value: Tensor) -> Tensor:
        """Return the value to continue with; the same tensor leaves it unchanged."""


class Steps:
    """A watcher for decoders that run step by step, in training too: it joins the steps and shows them at once.

    Keys and values are the same at every step.
    """

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

    There are three kinds of entry. `append`ed ones belong to a hypothesis: they grow with each step, and `select` moves
    them when hypotheses are reordered. Those that `replace` sets also belong to a hypothesis, and only the newest is
    kept. `once` entries belong to a sentence: they are made on first use, shared by all hypotheses of the sentence and
    never copied for them. Appended tensors are written in place, so no gradient flows through them.
    """

    def __init__(self) -> None:
        self.hypotheses: dict[str, Tensor] = {}  # (R, steps so far, …)
        self.newest: dict[str, Tensor] = {}  # (R, …)
        self.sentences: dict[str, Tensor] = {}
        self._rooms: dict[str, Tensor] = {}  # (steps, R, …), with room for more steps, written in place

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
        """Remember this instead of what was remembered under this name: (R, …)."""
        self.newest[name] = value

    def once(self, name: str, make: Callable[[], Tensor]) -> Tensor:
        """What is remembered under this name for each sentence, made if it is not there yet."""
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


class Penalties:
    """A collector of penalties, such as the balance of experts, that parts add to the objective while training."""

    def __init__(self) -> None:
        self.values: list[Tensor] = []

    def add(self, value: Tensor) -> None:
        """Add a penalty for each token: a scalar."""
        self.values.append(value)

    def added_to(self, loss: Loss) -> Loss:
        """The loss with all penalties in its objective, a sum over tokens; its negative log-likelihood is unchanged."""
        if not self.values:
            return loss
        return replace(loss, objective=loss.objective + loss.count * torch.stack(self.values).sum())


@dataclass(frozen=True)
class Call:
    """What a forward pass may know. A test holds this list of fields: it stays this small."""

    keep: Tensor | None = None  # (B, T) True where there is a token; None: everywhere
    positions: Tensor | None = None  # (B, T); None: 0, 1, 2 …
    memory: Memory | None = None
    state: State | None = None
    watch: Watch | None = None
    penalties: Penalties | None = None
    extras: Mapping[str, Tensor] = field(default_factory=dict)  # what else a batch has, by name: trees, images
    place: str = ""  # where we are, as a path: "decoder.3.cross"

    def at(self, name: str) -> "Call":
        """The same call, one step further down the path."""
        return self._with(place=f"{self.place}.{name}" if self.place else name)

    def within(self) -> "Call":
        """The same call without the encoder's memory, for sub-layers that look at their own sequence only."""
        return self if self.memory is None else self._with(memory=None)

    def penalise(self, value: Tensor) -> None:
        """Add a penalty for each token to the objective. A part with a penalty calls this whenever it is training."""
        assert self.penalties is not None, f"{self.place} has a penalty, but the call has no collector for it"
        self.penalties.add(value)

    def _with(self, **changes: object) -> "Call":
        """What `dataclasses.replace` does, several times as fast: every sub-layer of every step asks for it."""
        made = object.__new__(Call)
        made.__dict__.update(self.__dict__, **changes)
        return made
