"""Encoder and decoder: source → memory → target, one token after the other (arXiv:1706.03762, figure 1)."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from weft.parts.call import Call, Memory, State, Watch
from weft.parts.frontend import Frontend
from weft.parts.heads import Head, Loss

# The first ids of every vocabulary.
PAD, START, END = 0, 1, 2


class Batch(NamedTuple):
    """Pairs of sentences as ids, filled up on the right with PAD; both sides end in END, and START is not among them.

    Batch(torch.tensor([[5, 6, END], [7, END, PAD]]), torch.tensor([[8, END], [9, END]])): two pairs, S = 3, T = 2
    """

    source: Tensor  # (B, S), whole numbers below V
    target: Tensor  # (B, T), likewise

    def to(self, device: torch.device | str) -> "Batch":
        return Batch(self.source.to(device), self.target.to(device))


class SequenceToSequence(nn.Module):
    """encode: ids (B, S) → Memory.   decode: ids (B, T) and Memory → hidden (B, T, D).   head: hidden → words.

    An encoder is (x, call) → Memory, a decoder (x, call) → hidden: nothing more is asked of them.
    """

    def __init__(self, source: Frontend, encoder: nn.Module, target: Frontend, decoder: nn.Module, head: Head):
        super().__init__()
        self.source = source
        self.encoder = encoder
        self.target = target
        self.decoder = decoder
        self.head = head

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """The longest source and target that the positions know, in tokens; None: any length."""
        return self.source.position.limit, self.target.position.limit

    def encode(self, source: Tensor, watch: Watch | None = None) -> Memory:
        call = Call(keep=source != PAD, watch=watch, place="encoder")
        return self.encoder(self.source(source), call)  # type: ignore[no-any-return]

    def decode(
        self,
        tokens: Tensor,
        memory: Memory,
        positions: Tensor | None = None,
        state: State | None = None,
        watch: Watch | None = None,
    ) -> Tensor:
        """All positions at once, or with a state only the new ones.

        There is nothing to `keep`: padding stands on the right, where no real position of a causal decoder looks.
        """
        assert state is None or positions is not None, "what goes on from a state must say where it stands"
        call = Call(positions=positions, memory=memory, state=state, watch=watch, place="decoder")
        return self.decoder(self.target(tokens, positions), call)  # type: ignore[no-any-return]

    def forward(self, batch: Batch) -> Loss:
        """What training makes smaller: ids (B, S) and (B, T) → sums over the n real target tokens, each predicted from
        the source and the target tokens before it. `loss.objective / loss.count` is their mean, to call `backward` on.
        """
        return self.head.loss(*self.read(batch))

    def read(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """For each of the n real target tokens, the hidden state (n, D) that it is read from, and its id (n)."""
        shifted = torch.nn.functional.pad(batch.target[:, :-1], (1, 0), value=START)  # (B, T)
        hidden = self.decode(shifted, self.encode(batch.source))  # (B, T, D)
        real = batch.target != PAD
        return hidden[real], batch.target[real]
