"""Mixers let the positions of a sequence interact; lectures compare them by the cost of a layer.

                   a layer costs     sequential steps   longest path
    attention      t² · k            1                  1                  arXiv:1706.03762, table 1
    recurrence     t · k²            t                  t
    convolution    w · t · k²        1                  t / w              dilated by 1, 2, 4 …: log t

for t tokens, k wide, and a window of w.
"""

from collections.abc import Sequence
from itertools import cycle

from weft.parts.body import Body


class Mixer(Body):
    """A mixer is (x, call) → x, where positions may depend on each other. It declares its cost and its inputs."""

    role = "mixer"
    complexity: str  # the cost of a layer, as in the lectures
    is_sequential: bool  # each position waits for the one before it
    reach: int | None  # how many positions away one layer can see, on its longer side; None: all
    is_recurrent = False  # it is made of cells (see `parts.recurrent`)
    attends = False  # it weights single positions, so each of them has to be a token
    rereads_memory = False  # each step reads the encoder's output itself, not keys and values made from it once
    needs: tuple[str, ...] = ()  # extras of the encoder (see `parts.layers`) that it requires
    uses: tuple[str, ...] = ()  # extras of the encoder that it uses if present

    def sequential_steps(self, length: int) -> int:
        """The number of steps of a layer over this many tokens that must be computed in sequence."""
        return length if self.is_sequential else 1


def path_length(layers: Sequence[Mixer], length: int) -> int | None:
    """The longest path, in steps, between two of this many tokens, through as many layers as it takes. If there are too
    few layers, the same ones are repeated; None: no number of layers is enough."""
    steps, left = 0, length - 1
    if left and all(layer.reach == 0 for layer in layers):
        return None
    for layer in cycle(layers):
        if left <= 0:
            break
        steps += layer.sequential_steps(length)
        left -= left if layer.reach is None else layer.reach
    return steps


def path_across(encoder: Sequence[Mixer], looks: Sequence[Mixer], decoder: Sequence[Mixer], length: int) -> int | None:
    """The longest path, in steps, from a token of a source to one of its translation, both of this length. With
    attention to the source, every position of the decoder sees all of it. Otherwise the path leads through the encoder,
    and then through the decoder, unless that receives a column for each position."""
    if looks:
        return min(look.sequential_steps(length) for look in looks)
    ways = [path_length(side, length) for side in (encoder, decoder) if side]
    return None if None in ways else sum(way for way in ways if way)
