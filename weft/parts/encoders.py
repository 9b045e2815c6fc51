"""Encoders that return more than the output of their last layer: (x, call) → Memory."""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.parts.call import Call, Memory, State
from weft.parts.diagram import Row, between, quiet
from weft.parts.layers import COLUMNS, FINAL_STATES, SOURCE_EMBEDDINGS, EncoderStack


class WithEmbeddings(EncoderStack):
    """The memory also has the source embeddings, for values that include the source word (arXiv:1705.03122)."""

    gives = (SOURCE_EMBEDDINGS,)

    def forward(self, x: Tensor, call: Call) -> Memory:
        return replace(super().forward(x, call), embedded=x)

    def rows(self) -> list[Row]:
        return [*super().rows(), between(quiet("and the embeddings, for the values"))]


class FinalStates(EncoderStack):
    """The memory also has the final state of each recurrent layer, which decoders start from (arXiv:1409.3215)."""

    gives = (FINAL_STATES,)

    def forward(self, x: Tensor, call: Call) -> Memory:
        ends = State()
        memory = super().forward(x, replace(call, state=ends))
        return replace(memory, final=torch.stack(list(ends.newest.values()), 1))  # (B, N, vectors · D)

    def rows(self) -> list[Row]:
        return [*super().rows(), between(quiet("and the state that each layer ended in"))]


class Stretched(EncoderStack):
    """A source of |s| tokens is stretched to ⌈factor · |s|⌉ columns, about the length of its translation (Kalchbrenner
    et al. 2016, § 3.2, arXiv:1610.10099)."""

    gives = (COLUMNS,)
    keeps_tokens = False

    def __init__(self, layers: Sequence[nn.Module], closing: nn.Module, factor: float):
        super().__init__(layers, closing)
        self.factor = factor

    def forward(self, x: Tensor, call: Call) -> Memory:
        assert call.keep is not None, "an encoder needs to know which positions are real"
        columns = [math.ceil(self.factor * length) for length in range(x.size(1) + 1)]  # by length of the source
        most = columns[-1]
        own = torch.tensor(columns, device=x.device)[call.keep.sum(1, keepdim=True)]  # (B, 1)
        keep = torch.arange(most, device=x.device) < own  # (B, columns)
        x = x.masked_fill(~call.keep[..., None], 0.0)
        return super().forward(F.pad(x, (0, 0, 0, most - x.size(1))), replace(call, keep=keep))

    def rows(self) -> list[Row]:
        return [between(quiet(f"stretched to {self.factor:g} × its length")), *super().rows()]
