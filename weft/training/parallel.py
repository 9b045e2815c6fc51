"""One model trained by several workers: each computes the gradient of its rows; what each holds depends on the class.

LocalModel        a single worker
ReplicatedModel   each worker has the whole model, and gradients are exchanged (DDP)
ShardedModel      each worker has a slice of every matrix, its gradient and Adam's moments; a layer is gathered
                  while it computes (FSDP2; Rajbhandari et al. 2019, arXiv:1910.02054)
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
    """A model in training. Gradients of several workers are averaged."""

    def __init__(self, model: Model):
        self.model = model

    def __call__(self, batch: Batch) -> Loss:
        return self.model(batch)  # type: ignore[no-any-return]

    def no_sync(self) -> AbstractContextManager[None]:
        """Return a context in which gradients accumulate and are not exchanged."""
        return nullcontext()

    def full_model(self, instead: Mapping[str, Tensor] | None = None) -> AbstractContextManager[Model]:
        """Return a context with an ordinary model that has all weights, or others, on each worker."""
        if instead is None:
            return nullcontext(self.model)
        others = {id(p): nn.Parameter(instead[name], False) for name, p in parameters(self.model).items()}
        return nullcontext(deepcopy(self.model, others))  # the weights themselves are not copied

    def close(self) -> None:
        """End the cooperation of the workers: nothing is computed together from here on."""


class ReplicatedModel(LocalModel):
    def __init__(self, model: Model):
        super().__init__(model)
        # Buffers are tables that are the same everywhere; gradients are exchanged in place.
        self.replica = DistributedDataParallel(model, forward_sync_buffers=False, gradient_as_bucket_view=True)

    def __call__(self, batch: Batch) -> Loss:
        return self.replica(batch)  # type: ignore[no-any-return]

    def no_sync(self) -> AbstractContextManager[None]:
        return self.replica.no_sync()

    def close(self) -> None:
        # DDP keeps the process group alive. If it were released when the interpreter exits, it would wait for a thread
        # of gloo that waits for the interpreter, and the process would hang.
        del self.replica
        gc.collect()  # DDP has reference cycles


class ShardedModel(LocalModel):
    """Exchanges gradients after each batch: accumulated on each worker they would be as large as the model."""

    def __init__(self, model: Model):
        super().__init__(model)
        # Each worker decodes at its own pace in validation: it needs a model that does not wait for the others.
        self.plain = deepcopy(model, {id(p): nn.Parameter(p.new_empty(0)) for p in model.parameters()})
        mesh = init_device_mesh(next(model.parameters()).device.type, (distributed.get_world_size(),))
        for layer in [part for part in model.modules() if isinstance(part, Layer)]:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)

    @contextmanager
    def full_model(self, instead: Mapping[str, Tensor] | None = None) -> Iterator[Model]:
        try:
            slices = (instead or parameters(self.model)).values()
            for parameter, slice_of_it in zip(self.plain.parameters(), slices, strict=True):
                parameter.data = full_tensor(slice_of_it.detach())
            yield self.plain
        finally:
            for parameter in self.plain.parameters():
                parameter.data = parameter.new_empty(0)


def full_tensor(tensor: Tensor) -> Tensor:
    """Gather a tensor from the slices of all workers; all of them have to call this."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def gathered(tensors: Mapping[str, Tensor], keep: bool) -> dict[str, Tensor]:
    """Gather whole tensors by name, for workers that `keep` them; one at a time, to save memory on the others."""
    together = ((name, full_tensor(tensor)) for name, tensor in tensors.items())
    return {name: tensor.cpu() for name, tensor in together if keep}


def fill(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give each parameter its weights, or the slice of them that belongs to this worker."""
    with torch.no_grad():
        for name, parameter in parameters(model).items():
            parameter.copy_(slice_like(weights[name], parameter))


def slice_like(tensor: Tensor, like: Tensor) -> Tensor:
    """The slice, of a tensor that every worker has, that belongs to a parameter."""
    if not isinstance(like, DTensor):
        return tensor
    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements, src_data_rank=None)
