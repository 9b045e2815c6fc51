"""Convolution: each position sees a few neighbours, and more with depth; all positions are computed at once.

    y_t = b + Σ_i W_i x_{t - i · dilation}          causal: i = 0 … kernel - 1, so t sees itself and its past
                                                    otherwise: the same window centred on t

The receptive field of a stack is (kernel - 1) · Σ dilations + 1: 1,024 for kernel 2 with dilations 1, 2, 4 … 512.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.parts.call import Call
from weft.parts.diagram import Block, count
from weft.parts.mixer import Mixer


class Windowed(Mixer):
    """A windowed mixer sees a few neighbours at most."""

    complexity = "w·t·k²"
    is_sequential = False

    def block(self) -> Block:
        window = next(part for part in self.modules() if isinstance(part, nn.Conv1d))
        return Block("convolution", count(self), {"kernel": window.kernel_size[0], "dilation": window.dilation[0]})


class Convolution(Windowed):
    """A convolution (B, T, inputs) → (B, T, outputs), with zeros for padding and beyond both ends."""

    def __init__(self, inputs: int, outputs: int, kernel: int, dilation: int, is_causal: bool):
        super().__init__()
        self.kernel = nn.Conv1d(inputs, outputs, kernel, dilation=dilation)
        beyond = (kernel - 1) * dilation  # how far the window extends beyond one position
        self.behind = beyond if is_causal else beyond // 2
        self.ahead = beyond - self.behind
        self.reach = max(self.behind, self.ahead)

    def forward(self, x: Tensor, call: Call) -> Tensor:
        new = x.size(1)
        if call.keep is not None:
            x = x.masked_fill(~call.keep[..., None], 0.0)
        if call.state is not None:
            assert not self.ahead, f"{call.place} sees the future and cannot decode step by step"
            window = f"{call.place}.inputs"
            x = torch.cat((call.state.newest.get(window, x[:, :0]), x), 1)
            call.state.replace(window, x[:, max(0, x.size(1) - self.behind) :])  # all that later steps can see
        missing = self.behind + new - x.size(1)
        padded = F.pad(x, (0, 0, missing, self.ahead))
        return self.kernel(padded.transpose(1, 2)).transpose(1, 2)  # type: ignore[no-any-return]  # (B, T, outputs)


class GatedConvolution(Windowed):
    """v ⊙ σ(g) with [v; g] = W ∗ x  (Dauphin et al. 2016, arXiv:1612.08083; Gehring et al. 2017, arXiv:1705.03122)"""

    def __init__(self, width: int, kernel: int, dilation: int, is_causal: bool):
        super().__init__()
        self.convolution = Convolution(width, 2 * width, kernel, dilation, is_causal)
        self.reach = self.convolution.reach

    def forward(self, x: Tensor, call: Call) -> Tensor:
        return F.glu(self.convolution(x, call), -1)  # (B, T, D)

    def gated_weights(self) -> list[Tensor]:
        return [self.convolution.kernel.weight]


class Bottleneck(Windowed):
    """A narrow convolution between two matrices, each after a norm and a ReLU  (Kalchbrenner et al. 2016, figure 3,
    arXiv:1610.10099). The first norm is the wiring's."""

    def __init__(self, width: int, hidden: int, kernel: int, dilation: int, is_causal: bool):
        super().__init__()
        self.hidden = hidden
        self.narrow = nn.Linear(width, hidden)
        self.before = nn.LayerNorm(hidden)
        self.convolution = Convolution(hidden, hidden, kernel, dilation, is_causal)
        self.after = nn.LayerNorm(hidden)
        self.out = nn.Linear(hidden, width)
        self.reach = self.convolution.reach

    def forward(self, x: Tensor, call: Call) -> Tensor:
        hidden = self.before(self.narrow(x.relu())).relu()  # (B, T, hidden)
        hidden = self.after(self.convolution(hidden, call)).relu()
        return self.out(hidden)  # type: ignore[no-any-return]  # (B, T, D)

    def last_weights(self) -> list[Tensor]:
        return [self.out.weight]
