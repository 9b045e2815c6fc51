"""Bodies compute what a sub-layer adds to the stream: mixers and feed-forwards, and what they declare of themselves."""

from torch import Tensor, nn

from weft.parts.diagram import Block


class Body(nn.Module):
    """A body is (x, call) → x. The wiring around it adds norm, dropout and residual connection."""

    role: str  # what its parameters are counted as

    def block(self) -> Block:
        """Its block in the diagram."""
        raise NotImplementedError

    def last_weights(self) -> list[Tensor]:
        """The matrix that the body ends in, where it ends in one: inits scale it by the depth of the stack."""
        return []

    def gated_weights(self) -> list[Tensor]:
        """Weights (outputs, inputs, …) whose result a gate halves: inits make up for that."""
        return []
