"""One model that several workers train: each computes the gradient of its rows, and who keeps what is the question.

LocalModel         one worker alone
ReplicatedModel    everyone has the whole model, and gradients are exchanged                              (DDP)
ShardedModel       everyone has a slice of each matrix, of its gradient and of Adam's moments; a layer is put together
              while it computes (Rajbhandari et al. 2019, arXiv:1910.02054)                        (FSDP2)
"""

import gc
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy

import torch
from torch import Tensor, distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from weft.models.base import Batch, Model
from weft.parts.heads import Loss
from weft.parts.layers import Layer
from weft.weights import parameters


class LocalModel:
    """A model in training. Gradients of several workers become their mean."""

    def __init__(self, model: Model):
        self.model = model

    def __call__(self, batch: Batch) -> Loss:
        return self.model(batch)  # type: ignore[no-any-return]

    def no_sync(self) -> AbstractContextManager[None]:
        """Within this context gradients are gathered up and need not be exchanged yet."""
        return nullcontext()

    def full_model(self) -> AbstractContextManager[Model]:
        """Within this context an ordinary model with all the weights, for each worker to look at."""
        return nullcontext(self.model)

    def close(self) -> None:
        """Workers go their own ways: from here on nothing is computed together."""


class ReplicatedModel(LocalModel):
    def __init__(self, model: Model):
        super().__init__(model)
        # Buffers are tables that all have alike; gradients lie where they are exchanged, not beside it.
        self.replica = DistributedDataParallel(model, forward_sync_buffers=False, gradient_as_bucket_view=True)

    def __call__(self, batch: Batch) -> Loss:
        return self.replica(batch)  # type: ignore[no-any-return]

    def no_sync(self) -> AbstractContextManager[None]:
        return self.replica.no_sync()

    def close(self) -> None:
        # It keeps the group of workers alive. Were it the last to let go of it, when the interpreter ends, it would
        # wait for a thread of gloo that waits for the interpreter: the process would never end.
        del self.replica
        gc.collect()  # it refers to itself


class ShardedModel(LocalModel):
    """Gradients are exchanged after each batch: kept apart they would be as large as the model."""

    def __init__(self, model: Model):
        super().__init__(model)
        # Validation decodes, each worker at its own pace: it needs a model that does not wait for the others.
        self.plain = deepcopy(model, {id(p): nn.Parameter(p.new_empty(0)) for p in model.parameters()})
        mesh = init_device_mesh(next(model.parameters()).device.type, (distributed.get_world_size(),))
        for layer in [part for part in model.modules() if isinstance(part, Layer)]:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)

    @contextmanager
    def full_model(self) -> Iterator[Model]:
        try:
            for parameter, slice_of_it in zip(self.plain.parameters(), self.model.parameters()):
                parameter.data = full_tensor(slice_of_it.detach())
            yield self.plain
        finally:
            for parameter in self.plain.parameters():
                parameter.data = parameter.new_empty(0)


def full_tensor(tensor: Tensor) -> Tensor:
    """A tensor put together from the slices of all workers, who all have to ask for it."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def gathered(tensors: Mapping[str, Tensor], keep: bool) -> dict[str, Tensor]:
    """Whole tensors by name, for those who keep them; one at a time, so that the others need little room."""
    together = ((name, full_tensor(tensor)) for name, tensor in tensors.items())
    return {name: tensor.cpu() for name, tensor in together if keep}


def fill(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give each parameter its weights, or the slice of them that belongs to this worker."""
    with torch.no_grad():
        for name, parameter in parameters(model).items():
            parameter.copy_(slice_like(weights[name], parameter))


def slice_like(tensor: Tensor, like: Tensor) -> Tensor:
    """Of a tensor that every worker has, the slice that belongs to a parameter."""
    if not isinstance(like, DTensor):
        return tensor
    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements, src_data_rank=None)
