"""Positions inside attention, absolute or relative, of queries and keys.

    q'_i = queries(q_i, i),   k'_j = keys(k_j, j)                      in rotary positions
    α_ij = softmax over j of q'_i · k'_j / √K + bias(q'_i, i, j)       in ALiBi and the buckets of T5
    z_i  = Σ_j α_ij v_j + values(α, i, j)                              in Shaw et al., who have a bias too

A part overrides the hooks that it needs; the others do nothing.
"""

import torch
from torch import Tensor, nn

from weft.parts.call import Call


class RelativePosition(nn.Module):
    """Hooks for positions in attention: queries have positions i (B or 1, T) and keys positions j (B or 1, S)."""

    on_scores = False  # the part has a `bias`
    on_values = False  # the part has `values`: attention then computes its weights instead of using the fast kernel

    def queries(self, query: Tensor, i: Tensor, call: Call) -> Tensor:
        """(B, T, H, K) → the same shape."""
        return query

    def keys(self, key: Tensor, j: Tensor, call: Call) -> Tensor:
        """(B, T, H, K) → the same shape. The result is cached."""
        return key

    def bias(self, query: Tensor, i: Tensor, j: Tensor, call: Call) -> Tensor:
        """A term for the scaled scores: query (B, H, T, K) → (B or 1, H or 1, T, S)."""
        raise NotImplementedError

    def values(self, weights: Tensor, i: Tensor, j: Tensor, call: Call) -> Tensor:
        """A term for the averages of the values: weights (B, H, T, S) → (B, H, T, value width)."""
        raise NotImplementedError


class Rotary(RelativePosition):
    """Features m and m + K/2 are a point in the plane, rotated by i · base^(-2m/K) at position i; a last odd one stays.

    q'_i · k'_j then depends on i - j only  (RoFormer, Su et al. 2021, arXiv:2104.09864; the pairs are those of Llama)
    """

    def __init__(self, base: float):
        super().__init__()
        self.base = base

    def queries(self, query: Tensor, i: Tensor, call: Call) -> Tensor:
        return self._turned(query, i)

    def keys(self, key: Tensor, j: Tensor, call: Call) -> Tensor:
        return self._turned(key, j)

    def _turned(self, x: Tensor, positions: Tensor) -> Tensor:
        half = x.size(-1) // 2
        exact = torch.promote_types(x.dtype, torch.float32)  # half precision cannot count to 3000
        rate = self.base ** (-torch.arange(half, dtype=exact, device=x.device) / half)  # (K/2)
        angle = positions[:, :, None, None] * rate  # (B or 1, T, 1, K/2)
        cos, sin = angle.cos().to(x), angle.sin().to(x)
        one, other, odd = torch.split(x, [half, half, x.size(-1) % 2], -1)  # (B, T, H, K/2) twice, (B, T, H, 0 or 1)
        return torch.cat((one * cos - other * sin, other * cos + one * sin, odd), -1)
