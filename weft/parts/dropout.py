"""Dropout (Srivastava et al. 2014): in training, each feature is zeroed with probability p and the rest scaled by
1/(1 - p), so that the expectation is unchanged.

Equivalent to `torch.nn.Dropout`, but several times as fast on a CPU: a random 64-bit number decides four features, not
one.
"""

from typing import Any

import torch
from torch import Tensor, nn

_LEVELS = 2**16  # p is rounded to a multiple of 1/65536


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        cut = min(round(p * _LEVELS), _LEVELS - 1)
        words = torch.empty(-(-x.numel() // 4), dtype=torch.int64, device=x.device).random_(-(2**63), None)
        draws = words.view(torch.int16)[: x.numel()].view(x.shape)  # uniform over -32768 … 32767
        # 0 or 1 as integers first: torch is five times as slow with booleans.
        mask = draws.ge_(cut - _LEVELS // 2).to(x.dtype).mul_(_LEVELS / (_LEVELS - cut))
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return grads[0] * mask, None


class Dropout(nn.Module):
    """x → x · m / (1 - p) with m ~ Bernoulli(1 - p) in training; x → x otherwise."""

    def __init__(self, p: float = 0.0):
        super().__init__()
        assert 0.0 <= p < 1.0, f"a dropout rate lies in [0, 1), not {p}"
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return x
        return _Drop.apply(x, self.p)  # type: ignore[no-any-return, no-untyped-call]

    def extra_repr(self) -> str:
        return f"p={self.p}"
