"""Mixers let the positions of a sequence know of each other; lectures compare them by what a layer costs.

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
    """A mixer is (x, call) → x, where a position may depend on others. It declares what it costs and what it reads."""

    role = "mixer"
    complexity: str  # what the lectures say a layer costs
    is_sequential: bool  # each position waits for the one before it
    reach: int | None  # how many positions away one layer looks, on its longer side; None: as many as there are
    attends = False  # it weighs positions one by one, so each of them has to be a token
    needs: tuple[str, ...] = ()  # extras of the encoder (see `parts.layers`) that it cannot do without
    uses: tuple[str, ...] = ()  # extras of the encoder that it uses if there are any
    rereads_source = False  # each step of decoding reads the encoder's output, not only what it cached

    def sequential_steps(self, length: int) -> int:
        """Steps of one layer over this many tokens that have to wait for each other."""
        return length if self.is_sequential else 1


def path_length(layers: Sequence[Mixer], length: int) -> int | None:
    """Steps on the longest way between two of this many tokens, through as many layers as it takes.

    If it takes more layers than there are, the same ones are repeated; None: no number of them is enough.
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
    """Steps on the longest way from a token of a source to one of its translation, each this long.

    A decoder that attends to the source sees all of it from each of its positions, with a recurrence around it too.
    Otherwise the way leads through the encoder to what the decoder receives, and from there through the decoder: no
    layer of it if the decoder receives a column for each position.
    """
    if looks:
        return min(look.sequential_steps(length) for look in looks)
    ways = [path_length(side, length) for side in (encoder, decoder) if side]
    return None if None in ways else sum(way for way in ways if way)
