"""Initialisation of a whole model. Parts declare which of their weights need special treatment."""

from typing import Annotated, Any, TypeVar

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from weft.parts.body import Body
from weft.parts.layers import Branch
from weft.parts.options import Number

Kind = TypeVar("Kind", bound=nn.Module)


def xavier(model: nn.Module) -> None:
    """Uniform with variance 2 / (fan in + fan out) (Glorot & Bengio 2010); biases 0; embeddings N(0, 1/D)

    In recurrent cells this applies to the matrix of each gate; those on the state are orthogonal (Saxe et al. 2013,
    arXiv:1312.6120), and an LSTM begins with its forget gate open (Jozefowicz et al. 2015).
    """
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        elif isinstance(module, nn.Linear | nn.Conv1d):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.RNNBase):
            _begin_cell(module)


def _begin_cell(cell: nn.RNNBase) -> None:
    for name, parameter in cell.named_parameters():
        for i, gate in enumerate(torch.split(parameter.data, cell.hidden_size)):  # (D, inputs), (D, D) or (D) each
            if name.startswith("weight_ih"):
                nn.init.xavier_uniform_(gate)
            elif name.startswith("weight_hh"):
                nn.init.orthogonal_(gate)
            else:
                is_forget_gate = isinstance(cell, nn.LSTM) and name.startswith("bias_ih") and i == 1
                nn.init.constant_(gate, 1.0 if is_forget_gate else 0.0)


def gated(model: nn.Module) -> None:
    """Xavier, but N(0, 4 p / fan in) before the gate of a convolution, which halves it (arXiv:1705.03122, § 3.5)

    p is the fraction that dropout keeps: dropout divides the variance of a branch by p, its weights multiply it by p.
    The sum of a layer and its residual connection, scaled by √½, then has the variance of its input.
    """
    xavier(model)
    for body in _each(Body, model):
        for weight in body.gated_weights():
            nn.init.normal_(weight, std=(4 / weight[0].numel()) ** 0.5)
    for branch in _each(Branch, model):
        for weight in branch.dropped_weights():
            weight.data.mul_((1.0 - branch.wiring.dropout.p) ** 0.5)


def depth_scaled(model: nn.Module) -> None:
    """Xavier, with the matrix that ends each of a stack's L branches divided by √L (Radford et al. 2019, § 2.3)

    The sum of all branches then starts with the variance of one.
    """
    xavier(model)
    _scale_by_depth(model)


def gpt(
    model: nn.Module, *, std: Annotated[float, Number("standard deviation of the weights", most=10)] = 0.02
) -> None:
    """N(0, std²) for matrices and embeddings, over √L where they end one of a stack's L branches (Radford et al. 2019)

    Biases are 0. Recurrent cells have no place in that recipe, and begin as with xavier.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Conv1d | nn.Embedding):
            nn.init.normal_(module.weight, std=std)
            if not isinstance(module, nn.Embedding) and module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.RNNBase):
            _begin_cell(module)
    _scale_by_depth(model)


def _scale_by_depth(model: nn.Module) -> None:
    for stack in model.children():
        ends = [end for branch in _each(Branch, stack) for end in branch.last_weights()]
        for end in ends:
            end.data.div_(len(ends) ** 0.5)


class Undrawn(TorchFunctionMode):
    """Disables random initialisation, for models whose weights are loaded next, or on the meta device. This saves time;
    and on the meta device, torch would load its compiler to draw from N(0, σ)."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        is_draw = func.__name__ in ("normal_", "uniform_", "kaiming_uniform_")
        return (args or [kwargs["tensor"]])[0] if is_draw else func(*args, **kwargs)


def _each(kind: type[Kind], model: nn.Module) -> list[Kind]:
    return [module for module in model.modules() if isinstance(module, kind)]
