"""Initialisation is a pass over a finished model, by name: parts do not know how they begin."""

from torch import nn


def xavier(model: nn.Module) -> None:
    """Uniform with variance 2 / (fan in + fan out) (Glorot & Bengio 2010); biases 0; embeddings N(0, 1/D)."""
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)


def depth_scaled(model: nn.Module) -> None:
    """Xavier, then the matrix that ends each of the L branches of a stack divided by √L, so that the sum of all
    branches starts with the variance of one (Radford et al. 2019, § 2.3)."""
    xavier(model)
    ends = [module.weight for name, module in model.named_modules() if name.endswith("body.out")]
    for weight in ends:
        weight.data.div_(len(ends) ** 0.5)
