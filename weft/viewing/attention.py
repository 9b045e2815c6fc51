"""What a model looks at: attention weights captured beside the fast path, with the tokens they belong to."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from weft.errors import WeftError


class Recorder:
    """A watcher that keeps the attention weights of every layer it sees, and changes nothing."""

    def __init__(self) -> None:
        self.weights: dict[str, Tensor] = {}  # by place, such as "decoder.0.cross"

    def see(self, place: str, name: str, value: Tensor) -> None:
        if name == "weights":
            self.weights[place] = value

    def change(self, place: str, name: str, value: Tensor) -> Tensor:
        return value

    def maps(self) -> dict[str, Tensor]:
        """Of the first row of the batch: encoder, decoder and cross attention, (N, H, T, S) each."""
        kinds = {"encoder": ("encoder", "mix"), "decoder": ("decoder", "mix"), "cross": ("decoder", "cross")}
        return {
            kind: torch.stack([w[0] for place, w in self.weights.items() if _is_at(place, *where)])
            for kind, where in kinds.items()
        }


def _is_at(place: str, side: str, sublayer: str) -> bool:
    return place.startswith(f"{side}.") and place.endswith(f".{sublayer}")


@dataclass(frozen=True)
class Attention:
    """The attention of one sentence pair, every layer and head: (N, H, query, key)."""

    model: str  # its name
    text: str
    source: list[str]  # tokens; a word begins with ·
    target: list[str]
    translation: str  # the target as a text
    encoder: Tensor  # source tokens looking at source tokens
    decoder: Tensor  # what was written so far: row t is the step that writes target token t
    cross: Tensor  # the step that writes target token t looking at source tokens

    def of(self, kind: str = "cross", layer: int | None = None, head: int | None = None) -> Tensor:
        """One map (query, key): of a layer and head counted from 1, or the mean of all of them."""
        maps: Tensor = getattr(self, kind)
        for name, number, most in (("layer", layer, maps.size(0)), ("head", head, maps.size(1))):
            if number is not None and not 1 <= number <= most:
                raise WeftError(f"there is no {name} {number}: this model has {name}s 1 to {most}.")
        maps = maps if layer is None else maps[layer - 1 : layer]
        maps = maps if head is None else maps[:, head - 1 : head]
        return maps.mean((0, 1))

    def save_png(self, file: Path | str, layer: int | None = None, head: int | None = None) -> None:
        """The alignment of source and target as a picture."""
        from weft.viewing.pictures import draw_alignment

        which = f"layer {layer}" if layer else "all layers"
        which += f", head {head}" if head else ", mean of heads"
        caption = f"{self.model}: encoder-decoder attention, {which}"
        draw_alignment(self.of("cross", layer, head).tolist(), self.source, self.target, self.text, caption, Path(file))
