"""Bodies of sub-layers, mixers and feed-forwards: they compute what a sub-layer adds to the stream."""

from torch import Tensor, nn

from weft.parts.diagram import Block


class Body(nn.Module):
    """A body is (x, call) → x. The wiring around it adds norm, dropout and residual connection."""

    role: str  # under which its parameters are counted

    def block(self) -> Block:
        """Its block in the diagram."""
        raise NotImplementedError

    def last_weights(self) -> list[Tensor]:
        """The last matrix of the body, if it ends in one: inits scale it by the depth of the stack."""
        return []

    def gated_weights(self) -> list[Tensor]:
        """Weights (outputs, inputs, …) whose result a gate halves: inits compensate for that."""
        return []
