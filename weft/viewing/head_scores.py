"""How much each attention head matters, and where it looks, over many texts: one text is an anecdote.

A head is rated by how much the loss rises without it: every example is read again with this head alone switched off
(arXiv:1905.10650). Examples are resampled for the interval of that rise. Where heads look comes from one watched pass.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.models.base import IGNORED, Batch, Model
from weft.parts.call import Call, Watch
from weft.parts.frontend import PAD
from weft.viewing.attention_heads import KINDS, Head, HeadsOff, place_of
from weft.viewing.attention_maps import Recorder

RESAMPLED = 1000
OFFSETS = 5  # tokens to either side, among which a head may look at always the same place
POSITIONS = 1024  # in a batch: larger ones leave the caches of a processor
DIGITS = 4
Agree = Callable[[int, int, Tensor], Tensor]  # batch, row of it, its maps (N, H, T, S) → (N, H, 2, 3), of `agreement`


@dataclass(frozen=True)
class HeadScore:
    """A head, what the loss rises by without it, and where it looks, as means over the queries of all examples.

    None: not of this kind of attention. Only self-attention has a previous token; a decoder sees no next one, no end.
    """

    kind: str
    layer: int
    head: int
    loss: float  # the rise of the loss per token, in nats, when this head alone is off
    low: float  # its interval of 95 %
    high: float
    entropy: float  # of its weights, in nats: 0 looks at one token
    distance: float  # tokens from the query to its keys; between two texts, from the diagonal
    first: float  # weight on the first token; for a decoder, the start token
    end: float | None = None  # weight on the end of the source
    previous: float | None = None
    same: float | None = None
    next: float | None = None
    position: float | None = None  # queries that look most at the same place relative to them (arXiv:1905.09418)
    offset: int | None = None  # that place: -1 is the previous token
    alignment: float | None = None  # 1 - the alignment error rate: 1 links words as the aligner does


@dataclass(frozen=True)
class HeadScores:
    """All heads of a model, those that matter most first."""

    model: str
    hash: str  # of its weights
    of: str  # "1,000 pairs of dev.tsv"
    unit: str  # pairs
    loss: float  # per token, with all heads
    aligned: str | None  # what alignments were compared with
    heads: list[HeadScore]

    @property
    def by(self) -> str:
        """How the heads were ranked, in a sentence."""
        return (
            f"the rise of the loss (nats per token) with this head alone switched off, over {self.of}; "
            f"95 % intervals by resampling {self.unit}"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "hash": self.hash,
            "loss": round(self.loss, DIGITS),
            **({"aligned": self.aligned} if self.aligned else {}),
            "heads": [
                {name: _rounded(value) for name, value in asdict(head).items() if value is not None}
                for head in self.heads
            ],
        }

    def save_json(self, file: Path | str) -> None:
        """Write all numbers, a line for each head."""
        told = self.to_dict()
        lines = ",\n".join(f"  {json.dumps(head)}" for head in told.pop("heads"))
        head = json.dumps(told, ensure_ascii=False)[:-1]
        Path(file).write_text(f'{head}, "heads": [\n{lines}\n]}}\n', encoding="utf-8")

    def save_grid(self, file: Path | str, command: str = "") -> None:
        """Draw layers and heads, shaded by the rise of the loss, as .png, .svg or .pdf."""
        from weft.viewing.pictures import draw_head_scores

        caption = f"{self.model}: {self.by}. With all heads: {self.loss:.3f}. Weights {self.hash}."
        draw_head_scores(self, f"{caption}\n{command}" if command else caption, Path(file))


def _rounded(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


@torch.inference_mode()
def head_scores(
    model: Model,
    counts: dict[str, tuple[int, ...]],
    batches: Sequence[Batch],
    agree: Agree | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[float, list[HeadScore]]:
    """The loss per token, and a score for each head that a model has by these `heads_of`. One that all heads share is
    not needed: `agree` compares cross-attention with alignments, and `tell` hears what is being done."""
    device = next(model.parameters()).device
    batches = [batch.to(device) for batch in batches]
    heads = [Head(kind, n, h) for kind, each in counts.items() for n, m in enumerate(each, 1) for h in range(1, m + 1)]
    tell(f"reading {sum(len(batch.targets) for batch in batches):,} examples")
    whole, looks = _looks(model, counts, batches, agree)
    tokens = np.concatenate([(batch.targets != IGNORED).sum(1).cpu().numpy() for batch in batches])
    draws = np.random.default_rng(1).multinomial(len(tokens), [1 / len(tokens)] * len(tokens), RESAMPLED)
    sizes = np.maximum(draws @ tokens, 1)
    found = []
    for number, head in enumerate(heads, 1):
        tell(f"without {KINDS[head.kind].name}, layer {head.layer}, head {head.head} ({number} of {len(heads)})")
        rises = np.concatenate([_losses(model, batch, HeadsOff([head])) for batch in batches]) - whole
        low, high = np.percentile(draws @ rises / sizes, [2.5, 97.5])
        looked = {name: value[head.head - 1] for name, value in looks[head.kind, head.layer].items()}
        loss = float(rises.sum() / tokens.sum())
        found.append(HeadScore(head.kind, head.layer, head.head, loss, float(low), float(high), **looked))
    return float(whole.sum() / tokens.sum()), sorted(found, key=lambda one: -one.loss)


def _losses(model: Model, batch: Batch, watch: Watch) -> np.ndarray:
    """The negative log-likelihood of each row of a batch, in nats."""
    hidden, real = model.hidden(batch.inputs, Call(watch=watch, extras=batch.inputs)), batch.targets != IGNORED
    each = model.head.log_probs(hidden[real]).gather(1, batch.targets[real][:, None])[:, 0]
    losses = each.new_zeros(batch.targets.shape).masked_scatter(real, -each)  # (B, T)
    return losses.double().sum(1).cpu().numpy()


Looks = dict[tuple[str, int], dict[str, list[Any]]]  # by kind and layer, by name: a value for each head


def _looks(
    model: Model, counts: dict[str, tuple[int, ...]], batches: Sequence[Batch], agree: Agree | None
) -> tuple[np.ndarray, Looks]:
    """The loss of each row, and where each head looks."""
    places = [(kind, n) for kind, each in counts.items() for n, heads in enumerate(each, 1) if heads]
    sums: dict[tuple[str, int], dict[str, Tensor]] = {place: {} for place in places}
    losses, agreed = [], torch.zeros(())
    for number, batch in enumerate(batches):
        recorder = Recorder()
        losses.append(_losses(model, batch, recorder))
        for kind, layer in places:
            weights, added = recorder.seen[place_of(kind, layer), "weights"], sums[kind, layer]
            for name, value in looked(kind, weights.double(), batch).items():
                added[name] = added.get(name, 0.0) + value.cpu()
        if agree is not None:
            agreed = sum((agree(number, row, recorder.maps(row)["cross"]) for row in range(len(batch.targets))), agreed)
    looks: Looks = {place: means(found) for place, found in sums.items()}
    if agree is not None:
        common, own, gold = agreed.unbind(-1)  # (N, H, 2)
        alignment = (2 * common / (own + gold).clamp(min=1)).amax(-1)  # (N, H): at once or a step late
        for layer, heads in enumerate(counts["cross"], 1):
            if heads:
                looks["cross", layer]["alignment"] = alignment[layer - 1].tolist()
    return np.concatenate(losses), looks


def looked(kind: str, weights: Tensor, batch: Batch) -> dict[str, Tensor]:
    """Sums over the real queries of weights (B, H, T, S), and how many queries there were: (H, 2) by name; the places
    that were looked at most are counted."""
    own = KINDS[kind].queries == "source"
    reads = KINDS[kind].keys == "source"
    asks = batch.inputs["source"] != PAD if own else batch.targets != IGNORED  # (B, T)
    T, S = weights.shape[2:]
    t, s = torch.arange(T, device=weights.device)[:, None], torch.arange(S, device=weights.device)

    def mean(values: Tensor, asks: Tensor = asks) -> Tensor:
        """Of values (B, H, T)."""
        real = asks[:, None].expand_as(values)
        return torch.stack([(values * real).sum((0, 2)), real.sum((0, 2)).double()], -1)  # (H, 2)

    found = {
        "entropy": mean(-(weights * weights.clamp(min=1e-30).log()).sum(-1)),
        "first": mean(weights[..., 0]),
    }
    if reads:
        ends = (batch.inputs["source"] != PAD).sum(1) - 1  # (B)
        found["end"] = mean(weights[torch.arange(len(ends), device=ends.device), :, :, ends])
    if kind == "cross":
        slope = (ends + 1) / asks.sum(1).clamp(min=1)  # (B)
        return found | {"distance": mean((weights * (s - t * slope[:, None, None, None]).abs()).sum(-1))}
    beside = {"previous": -1, "same": 0} | ({"next": 1} if own else {})
    for name, step in beside.items():
        found[name] = mean(weights.diagonal(step, 2, 3), asks[:, abs(step) :])  # where there is such a token
    most = weights.argmax(-1) - t[:, 0]  # (B, H, T)
    places = [mean((most == step).double()) for step in range(-OFFSETS, OFFSETS + 1)]
    found["places"] = torch.stack(places)  # (places, H, 2)
    return found | {"distance": mean((weights * (s - t).abs()).sum(-1))}


def means(sums: dict[str, Tensor]) -> dict[str, list[Any]]:
    """A value for each head, by name."""
    each = {name: value[..., 0] / value[..., 1].clamp(min=1) for name, value in sums.items()}
    places = each.pop("places", None)
    found: dict[str, list[Any]] = {name: value.tolist() for name, value in each.items()}
    if places is not None:  # (places, H)
        share, place = places.max(0)
        found |= {"position": share.tolist(), "offset": (place - OFFSETS).tolist()}
    return found
