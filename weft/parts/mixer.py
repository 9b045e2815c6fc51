"""What lets the positions of a sequence know of each other, and what lectures compare such parts by.

                   a layer costs     sequential steps   longest path
    attention      t² · k            1                  1                  arXiv:1706.03762, table 1
    recurrence     t · k²            t                  t
    convolution    w · t · k²        1                  t / w              dilated by 1, 2, 4 …: log t

for t tokens, k wide, and a window of w.
"""

from collections.abc import Sequence
from itertools import cycle

from torch import nn


class Mixer(nn.Module):
    """(x, call) → x, and what such a part declares of itself."""

    complexity: str  # what the lectures say a layer costs
    is_sequential: bool  # each position waits for the one before it
    reach: int | None  # how many positions away one layer looks, on its longer side; None: as many as there are

    def sequential_steps(self, length: int) -> int:
        """Steps of one layer over so many tokens that have to wait for each other."""
        return length if self.is_sequential else 1


def path_length(layers: Sequence[Mixer], length: int) -> int | None:
    """Steps on the longest way between two of so many tokens, through as many layers as it takes.

    Where it takes more layers than there are, the same ones come again; None: no number of them is enough.
    """
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
    """Steps on the longest way from a token of a source to one of its translation, each of so many tokens.

    Where a decoder looks at the source, it sees all of it from each of its positions, with a recurrence around it too.
    Where it does not, the way leads through the encoder to what it hands on, and from there through the decoder: no
    layer of it where the encoder hands on a column for each position.
    """
    if looks:
        return min(look.sequential_steps(length) for look in looks)
    ways = [path_length(side, length) for side in (encoder, decoder) if side]
    return None if None in ways else sum(way for way in ways if way)
