"""Encoder and decoder: source → memory → target, one token after the other (arXiv:1706.03762, figure 1)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from weft.models.base import Batch, Generative, Inputs, Side
from weft.parts.call import Call, Memory
from weft.parts.frontend import Frontend
from weft.parts.heads import Head


class EncoderDecoder(Generative):
    """`encode`: ids (B, S) → Memory. `decode`: ids (B, T) and Memory → hidden (B, T, D). `head`: hidden → tokens.

    An encoder is (x, call) → Memory, a decoder (x, call) → hidden; nothing more is required. The target that the
    decoder reads is shifted right: it begins with the codec's start token and lacks the last token.
    """

    sections: ClassVar = ("encoder", "decoder")

    def __init__(self, source: Frontend, encoder: nn.Module, target: Frontend, decoder: nn.Module, head: Head):
        super().__init__()
        self.source = source
        self.encoder = encoder
        self.target = target
        self.decoder = decoder
        self.head = head

    @property
    def limits(self) -> Mapping[str, int | None]:
        return {"source": self.source.position.limit, "target": self.target.position.limit}

    @property
    def sides(self) -> Mapping[str, Side]:
        return {"encoder": Side(self.source, self.encoder), "decoder": Side(self.target, self.decoder)}

    def hidden(self, inputs: Inputs, call: Call) -> Tensor:
        return self.decode(inputs["target"], self.prompt(inputs, call), call)

    def prompt(self, inputs: Inputs, call: Call) -> Memory:
        return self.encode(inputs["source"], call)

    def encode(self, source: Tensor, call: Call | None = None) -> Memory:
        call = replace(call or Call(), keep=self.source.keep(source), positions=None, state=None, place="encoder")
        return self.encoder(self.source(source), call)  # type: ignore[no-any-return]

    def decode(self, tokens: Tensor, memory: Memory | None, call: Call | None = None) -> Tensor:
        """All positions at once, or with a state only the new ones. `keep` is not needed: padding is on the right,
        which no real position of a causal decoder sees."""
        call = replace(call or Call(), keep=None, memory=memory, place="decoder")
        assert call.state is None or call.positions is not None, "decoding with a state needs positions"
        return self.decoder(self.target(tokens, call.positions), call)  # type: ignore[no-any-return]

    def example(self, length: int, rows: int = 1) -> Batch:
        ids = torch.ones(rows, length, dtype=torch.long, device=next(self.parameters()).device)
        return Batch({"source": ids, "target": ids}, ids)
