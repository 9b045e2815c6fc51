"""Convolution: each position sees a few neighbours, all positions at once; depth makes few into many.

    y_t = b + Σ_i W_i x_{t - i · dilation}          causal: i = 0 … kernel - 1, so that t sees itself and its past
                                                    else: the same window with t in its middle

A stack reaches (kernel - 1) · Σ dilations + 1 positions: kernel 2 with dilations 1, 2, 4 … 512 sees 1,024 of them.
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

    def window(self) -> nn.Conv1d:
        raise NotImplementedError

    def block(self) -> Block:
        window = self.window()
        return Block("convolution", count(self), {"kernel": window.kernel_size[0], "dilation": window.dilation[0]})


class Convolution(Windowed):
    """A window over the sequence: (B, T, inputs) → (B, T, outputs). In padding and beyond both ends there are zeros."""

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
            assert not self.ahead, f"{call.place} looks ahead and cannot go step by step"
            window = f"{call.place}.inputs"
            x = torch.cat((call.state.newest.get(window, x[:, :0]), x), 1)
            call.state.replace(window, x[:, max(0, x.size(1) - self.behind) :])  # what is further back is out of sight
        missing = self.behind + new - x.size(1)
        padded = F.pad(x, (0, 0, missing, self.ahead))
        return self.kernel(padded.transpose(1, 2)).transpose(1, 2)  # type: ignore[no-any-return]  # (B, T, outputs)

    def window(self) -> nn.Conv1d:
        return self.kernel


class GatedConvolution(Windowed):
    """v ⊙ σ(g) with [v; g] = W ∗ x  (Dauphin et al. 2016, arXiv:1612.08083; Gehring et al. 2017, arXiv:1705.03122)"""

    def __init__(self, width: int, kernel: int, dilation: int, is_causal: bool):
        super().__init__()
        self.convolution = Convolution(width, 2 * width, kernel, dilation, is_causal)
        self.reach = self.convolution.reach

    def forward(self, x: Tensor, call: Call) -> Tensor:
        return F.glu(self.convolution(x, call), -1)  # (B, T, D)

    def window(self) -> nn.Conv1d:
        return self.convolution.kernel

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

    def window(self) -> nn.Conv1d:
        return self.convolution.kernel

    def last_weights(self) -> list[Tensor]:
        return [self.out.weight]
