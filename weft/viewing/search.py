"""Beam search as a tree: the candidates kept and pruned at each step, and the scores of the translations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from weft.data.codecs import Codec
from weft.decoding import Beam
from weft.decoding.hypothesis import length_penalised
from weft.decoding.prompt import Prompt
from weft.models.base import Generative
from weft.parts.call import Watch


@dataclass(frozen=True)
class Candidate:
    """A continuation of a hypothesis, and whether it was kept."""

    id: int
    parent: int | None  # the candidate it extends; None: the start
    step: int  # from 1: the length of the hypothesis that ends here
    token: str
    token_id: int
    log_prob: float  # of this token
    total: float  # log-probability of the hypothesis up to here
    fate: str  # kept, pruned, ended (with END), cut (by the length limit), left (the search had ended)


@dataclass(frozen=True)
class Ended:
    """A complete translation that the search found."""

    id: int  # of its last candidate
    text: str
    log_prob: float
    length: int  # tokens, END included
    score: float  # log P / |Y|^α
    finished: bool  # False: cut by the length limit


@dataclass(frozen=True)
class SearchTree:
    """Every candidate of a beam search for one sentence."""

    source: list[str]
    width: int
    length_penalty: float
    steps: list[list[Candidate]]  # best first
    ended: list[Ended]  # best first


class _Observer:
    """A watcher that records the search for one sentence."""

    def __init__(self, end: int, watch: Watch | None) -> None:
        self.end = end
        self.watch = watch  # what changes the search
        self.steps: list[list[Candidate]] = []
        self.rows: list[int | None] = [None]  # the candidate that each row of the decoder extends
        self.now: dict[str, list[float]] = {}
        self.count = 0

    def see(self, place: str, name: str, value: Tensor) -> None:
        if place == "search":
            self.now[name] = value[0].tolist()
            if name == "going":  # the last of a step
                self._step([int(i) for i in value[0]])

    def change(self, place: str, name: str, value: Tensor) -> Tensor:
        return value if self.watch is None else self.watch.change(place, name, value)

    def _step(self, going: list[int]) -> None:
        first = self.count
        self.count += len(self.now["row"])
        step = []
        for i, total in enumerate(self.now["total"]):
            if total > -torch.inf:
                token, parent = int(self.now["token"][i]), self.rows[int(self.now["row"][i])]
                going_on = "kept" if i in going else "pruned"
                fate = going_on if token != self.end else "ended" if i < len(going) else "pruned"
                log_prob = self.now["log_prob"][i]
                step.append(Candidate(first + i, parent, len(self.steps) + 1, "", token, log_prob, total, fate))
        self.rows = [first + i for i in going]
        self.steps.append(step)


@torch.inference_mode()
def search_tree(
    models: Sequence[Generative], codec: Codec, prompt: Prompt, beam: Beam, watch: Watch | None = None
) -> SearchTree:
    """Search from one prompt, and keep the tree. Another watcher may change the search."""
    observer = _Observer(prompt.end, watch)
    (found,) = beam(models, prompt, observer)
    is_cut = any(not one.finished for one in found)
    *before, last = observer.steps
    last = [replace(one, fate="cut" if is_cut else "left") if one.fate == "kept" else one for one in last]
    steps = [
        [replace(one, token=token) for one, token in zip(some, codec.readable(one.token_id for one in some))]
        for some in [*before, last]
    ]
    ended = _ended([one for some in steps for one in some], codec, beam)
    source = codec.in_text(prompt.inputs["source"][0].tolist())
    return SearchTree(source, beam.width, beam.length_penalty, steps, ended)


def _ended(candidates: list[Candidate], codec: Codec, beam: Beam) -> list[Ended]:
    """Return the complete translations in the order of the search."""
    by_id = {one.id: one for one in candidates}
    made = []
    for one in candidates:
        if one.fate in ("ended", "cut"):
            ids, at = [one.token_id], one.parent
            while at is not None:
                ids.append(by_id[at].token_id)
                at = by_id[at].parent
            score = length_penalised(one.total, one.step, beam.length_penalty)
            text = codec.decode(reversed(ids))
            made.append(Ended(one.id, text, one.total, one.step, score, one.fate == "ended"))
    return sorted(made, key=lambda one: (not one.finished, -one.score))[: beam.width]
