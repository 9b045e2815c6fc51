"""A decoder alone: each token is predicted from those before it (Radford et al. 2018, "GPT"; arXiv:1801.10198)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from weft.models.base import Batch, Generative, Inputs, Side
from weft.parts.call import Call, Memory
from weft.parts.frontend import Frontend
from weft.parts.heads import Head


class DecoderOnly(Generative):
    """`decode`: ids (B, T) → hidden (B, T, D). `head`: hidden → the next token."""

    sections: ClassVar = ("decoder",)

    def __init__(self, tokens: Frontend, decoder: nn.Module, head: Head):
        super().__init__()
        self.tokens = tokens
        self.decoder = decoder
        self.head = head

    @property
    def limits(self) -> Mapping[str, int | None]:
        return {"tokens": self.tokens.position.limit}

    @property
    def sides(self) -> Mapping[str, Side]:
        return {"decoder": Side(self.tokens, self.decoder)}

    def hidden(self, inputs: Inputs, call: Call) -> Tensor:
        return self.decode(inputs["tokens"], None, call)

    def prompt(self, inputs: Inputs, call: Call) -> Memory | None:
        return None

    def decode(self, tokens: Tensor, memory: Memory | None, call: Call | None = None) -> Tensor:
        """All positions at once, or with a state only the new ones. Padding is on the right, as in any decoder."""
        call = replace(call or Call(), keep=None, memory=None, place="decoder")
        assert call.state is None or call.positions is not None, "decoding with a state needs positions"
        return self.decoder(self.tokens(tokens, call.positions), call)  # type: ignore[no-any-return]

    def example(self, length: int, rows: int = 1) -> Batch:
        ids = torch.ones(rows, length, dtype=torch.long, device=next(self.parameters()).device)
        return Batch({"tokens": ids}, ids)
