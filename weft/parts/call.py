"""What a forward pass may know, and the state of a run of the decoder.

`Call` is the one object passed through stacks, layers and parts; `Memory` is what an encoder returns; `State` is what a
decoder keeps between steps; `Watch` observes a forward pass; `Penalties` collects terms for the objective.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

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
    """The state of a run of the decoder, keyed by place.

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
        self.padding: Tensor | None = None  # (R) steps before the first of each row; None: no row has any

    def append(self, name: str, new: Tensor) -> Tensor:
        """Append to the entry of this name, and return all of it: (R, T, …) → (R, steps so far, …)."""
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
        """Replace the entry of this name: (R, …)."""
        self.newest[name] = value

    def once(self, name: str, make: Callable[[], Tensor]) -> Tensor:
        """The entry of this name for each sentence, made on first use."""
        if name not in self.sentences:
            self.sentences[name] = make()
        return self.sentences[name]

    def real(self, steps: int) -> Tensor | None:
        """Which of these many steps are not padding: (R, steps); None: all."""
        if self.padding is None:
            return None
        return torch.arange(steps, device=self.padding.device) >= self.padding[:, None]

    def join(self, other: "State") -> None:
        """Append the rows of another state. The shorter past is padded on the left."""
        assert not {**self.sentences, **other.sentences}, "rows of an encoder-decoder cannot join another batch"
        sizes = [next((past.size(1) for past in each.hypotheses.values()), 0) for each in (self, other)]
        steps = max(sizes)
        counts = [next(iter((*each.hypotheses.values(), *each.newest.values()))).size(0) for each in (self, other)]
        device = next(iter((*self.hypotheses.values(), *self.newest.values()))).device
        padding = []
        for each, size, count in zip((self, other), sizes, counts):
            own = torch.zeros(count, dtype=torch.long, device=device) if each.padding is None else each.padding
            padding.append(own + steps - size)
        for name, past in self.hypotheses.items():
            room = past.new_zeros(2 * steps + 14, sum(counts), *past.shape[2:])
            room[steps - sizes[0] : steps, : counts[0]] = past.transpose(0, 1)
            room[steps - sizes[1] : steps, counts[0] :] = other.hypotheses[name].transpose(0, 1)
            self._rooms[name] = room
            self._know(name, steps)
        for name, value in self.newest.items():
            self.newest[name] = torch.cat(_padded_alike(value, other.newest[name]))
        self.padding = torch.cat(padding)
        self._trim()

    def _trim(self) -> None:
        """Drop the steps that are padding in all rows."""
        if self.padding is None or not (unused := int(self.padding.min())):
            return
        self.padding = self.padding - unused
        for name, past in self.hypotheses.items():
            steps = past.size(1) - unused
            self._rooms[name][:steps] = past[:, unused:].transpose(0, 1).clone()
            self._know(name, steps)

    def select(self, rows: Tensor) -> None:
        """Replace row i of every hypothesis entry by row `rows[i]`."""
        stay = torch.arange(rows.size(0), device=rows.device)
        if self.padding is not None:
            self.padding = self.padding[rows]
        for name, value in self.newest.items():
            self.newest[name] = value.index_select(0, rows)
        for name, room in self._rooms.items():
            if room.size(1) == rows.size(0) and rows.equal(stay):
                break
            steps = self.hypotheses[name].size(1)
            moved = room.new_empty(room.size(0), rows.size(0), *room.shape[2:])
            torch.index_select(room[:steps], 1, rows, out=moved[:steps])
            self._rooms[name] = moved
            self._know(name, steps)
        self._trim()

    def retain(self, sentences: Tensor) -> None:
        """Keep only these sentences' entries, in this order."""
        for name, value in self.sentences.items():
            self.sentences[name] = value.index_select(0, sentences)


def _padded_alike(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Windows over the last steps (R, T, …), with zeros before the shorter one; other states as they are."""
    if one.shape[1:] == other.shape[1:]:
        return one, other
    longest = max(one.size(1), other.size(1))
    fill = [0, 0] * (one.dim() - 2)
    return tuple(F.pad(each, (*fill, longest - each.size(1), 0)) for each in (one, other))  # type: ignore[return-value]


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
    """What a forward pass may know. A test checks this list of fields, to keep it small."""

    keep: Tensor | None = None  # (B, T) True where there is a token; None: everywhere
    positions: Tensor | None = None  # (B, T); None: 0, 1, 2 …
    memory: Memory | None = None
    state: State | None = None
    watch: Watch | None = None
    penalties: Penalties | None = None
    extras: Mapping[str, Tensor] = field(default_factory=dict)  # other inputs of a batch, by name: trees, images
    place: str = ""  # path of the current module: "decoder.3.cross"

    def at(self, name: str) -> "Call":
        """The same call with the path extended by a name."""
        return self._with(place=f"{self.place}.{name}" if self.place else name)

    def within(self) -> "Call":
        """The same call without the encoder's memory, for sub-layers that attend to their own sequence only."""
        return self if self.memory is None else self._with(memory=None)

    def penalise(self, value: Tensor) -> None:
        """Add a penalty for each token to the objective. A part with a penalty calls this whenever it is training."""
        assert self.penalties is not None, f"{self.place} has a penalty, but the call has no collector for it"
        self.penalties.add(value)

    def _with(self, **changes: object) -> "Call":
        """Like `dataclasses.replace`, but several times as fast: every sub-layer of every step calls it."""
        made = object.__new__(Call)
        made.__dict__.update(self.__dict__, **changes)
        return made
