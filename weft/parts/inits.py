"""Initialisation is a pass over a finished model, by name: parts do not know how they begin."""

from collections import Counter

from torch import nn


def xavier(model: nn.Module) -> None:
    """Uniform with variance 2 / (fan in + fan out) (Glorot & Bengio 2010); biases 0; embeddings N(0, 1/D)."""
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def depth_scaled(model: nn.Module) -> None:
    """Xavier, with the matrix that ends each of a stack's L branches divided by √L (Radford et al. 2019, § 2.3)

    The sum of all branches then starts with the variance of one.
    """
    xavier(model)
    ends = {name: module for name, module in model.named_modules() if name.endswith("body.out")}
    branches = Counter(map(_stack_of, ends))
    for name, module in ends.items():
        module.weight.data.div_(branches[_stack_of(name)] ** 0.5)


def _stack_of(name: str) -> str:
    """decoder.layers.3.cross.body.out → decoder"""
    return name.partition(".")[0]
