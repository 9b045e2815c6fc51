"""Heads turn hidden states into distributions over a vocabulary. A head has three methods: `loss`, `log_probs`, `best`.

Label smoothing (Szegedy et al. 2015, arXiv:1512.00567): the target is (1 - ε) · one-hot + ε / V, so the objective is

    (1 - ε) · (-log p[y]) + ε · mean over v of (-log p[v])

The negative log-likelihood without smoothing is returned too, for perplexity.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

FAR = 80.0  # nats: probabilities below e^-80 lose digits in float32, below e^-103 they are 0


@dataclass(frozen=True)
class Loss:
    """A loss is sums over the tokens of a batch, not means: several batches and workers are normalised together."""

    objective: Tensor  # () minimised in training, with label smoothing
    nll: Tensor  # () negative log-likelihood in nats, without smoothing: exp of its mean is the perplexity
    count: int  # tokens


class Head(nn.Module, ABC):
    """A head makes a distribution over its vocabulary from a hidden state."""

    is_tied = False  # its matrix is that of the embedding, which then has to be as wide as the model

    @property
    @abstractmethod
    def vocabulary(self) -> int:
        """The number of outcomes."""

    @abstractmethod
    def loss(self, hidden: Tensor, targets: Tensor) -> Loss:
        """The loss of n tokens: hidden (n, D) and targets (n) → sums."""

    @abstractmethod
    def log_probs(self, hidden: Tensor) -> Tensor:
        """Log-probabilities of all outcomes: (…, D) → (…, V)."""

    def best(self, hidden: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k most probable outcomes of each row: (R, D) → log-probabilities and ids, (R, k) each."""
        return largest(self.log_probs(hidden), k)

    def tied_to(self, embedding: nn.Module) -> bool:
        """Whether the head shares parameters with this embedding."""
        return not set(self.parameters()).isdisjoint(embedding.parameters())

    def projection(self) -> tuple[Tensor, Tensor] | None:
        """W (V, D) and b (V) if the distribution is softmax(h Wᵀ + b), else None; for exports."""
        return None


class SoftmaxHead(Head):
    """softmax(h Wᵀ + b) over the vocabulary. Without a bias, b stays 0."""

    def __init__(self, words: nn.Embedding, smoothing: float = 0.0, chunk: int = 128, bias: bool = True):
        super().__init__()
        self.words = words  # W is its weight, (V, D)
        zeros = torch.zeros(words.num_embeddings)
        self.bias: Tensor
        if bias:
            self.bias = nn.Parameter(zeros)
        else:
            self.register_buffer("bias", zeros, persistent=False)
        self.smoothing = smoothing
        self.chunk = chunk  # rows of logits in memory at a time

    @property
    def vocabulary(self) -> int:
        return self.words.num_embeddings

    def loss(self, hidden: Tensor, targets: Tensor) -> Loss:
        inputs = [hidden, self.words.weight, self.bias]
        if not torch.is_grad_enabled():  # otherwise the function would compute gradients
            inputs = [tensor.detach() for tensor in inputs]
        objective, nll = _ChunkedCrossEntropy.apply(*inputs, targets, self.smoothing, self.chunk)  # type: ignore[no-untyped-call]
        return Loss(objective, nll, targets.numel())

    def logits(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.words.weight, self.bias)  # (…, V)

    def log_probs(self, hidden: Tensor) -> Tensor:
        return self.logits(hidden).log_softmax(-1)  # (…, V)

    def projection(self) -> tuple[Tensor, Tensor]:
        return self.words.weight, self.bias


class TiedHead(SoftmaxHead):
    """The same with the target embedding as W (Press & Wolf, arXiv:1608.05859)."""

    is_tied = True


def largest(scores: Tensor, k: int, block: int = 64) -> tuple[Tensor, Tensor]:
    """`scores.topk(k)` for long rows, in less than half the time: (R, V) → values and indices, (R, k) each. The k
    largest lie in the k blocks with the largest maxima."""
    whole = scores.size(1) // block * block
    if whole < 4 * k * block:
        return scores.topk(k, -1)
    blocks = scores[:, :whole].view(scores.size(0), -1, block).amax(-1).topk(k, -1).indices  # (R, k)
    within = torch.arange(block, device=scores.device)
    places = (blocks[:, :, None] * block + within).flatten(1)  # (R, k · block)
    rest = torch.arange(whole, scores.size(1), device=scores.device).expand(scores.size(0), -1)
    places = torch.cat((places, rest), 1)
    values, chosen = scores.gather(1, places).topk(k, -1)
    return values, places.gather(1, chosen)


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Smoothed cross-entropy of a linear layer, a few rows of logits at a time.

    With p = softmax(h Wᵀ + b) and the smoothed target q = (1 - ε) · one-hot + ε / V, the gradient with respect to the
    logits is p - q. The term of p is used up in the forward pass, while a chunk is in the cache: logits are computed
    once and never stored, in one small buffer. The term of q needs no logits: it is a lookup and a mean. This is more
    than twice as fast as `F.cross_entropy` with a vocabulary of 10,000. Under autocast the products are computed in its
    precision, and all else in that of the weights.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float, chunk: int
    ) -> tuple[Tensor, Tensor]:
        wanted = any(ctx.needs_input_grad)
        hidden = hidden.to(weight.dtype)
        if wanted:
            grads = _gradient_of_target(hidden, weight, bias, targets, smoothing)
        nll = hidden.new_zeros(())
        uniform = hidden.new_zeros(())  # Σ over rows of the mean over v of -log p[v]
        mean_logit = hidden.mv(weight.mean(0)) + bias.mean()  # (n)
        low = _precision_of_products(weight)
        if low != weight.dtype:
            chunk *= 4  # adding a product of lower precision to a sum takes a pass over the sum
        scores = hidden.new_empty(min(chunk, hidden.size(0)), weight.size(0))
        products = scores.to(low)  # the same tensor unless its precision differs
        h, w, b = hidden.to(low), weight.to(low), bias.to(low)
        for start in range(0, hidden.size(0), chunk):
            rows = slice(start, start + chunk)
            logits = torch.addmm(b, h[rows], w.T, out=products[: len(h[rows])])  # (rows, V)
            p, surprise, chosen = _softmax(logits, scores, h[rows], w, b, targets[rows, None])
            nll += surprise.sum()
            uniform += (surprise + chosen - mean_logit[rows]).sum()  # log Σ exp - mean
            if wanted:
                _add_gradient_of_softmax(grads, rows, p, logits, h[rows], w)
        if wanted:
            ctx.save_for_backward(*grads)
        ctx.mark_non_differentiable(nll)
        return (1.0 - smoothing) * nll + smoothing * uniform, nll

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return *(grad.mul_(grads[0]) for grad in ctx.saved_tensors), None, None, None


def _precision_of_products(weight: Tensor) -> torch.dtype:
    """The precision of autocast, or that of the weights."""
    device = weight.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype


def _softmax(
    logits: Tensor, buffer: Tensor, h: Tensor, w: Tensor, b: Tensor, target: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The softmax of some rows (rows, V), in a buffer, and -log p and the logit of the target of each (rows)."""
    chosen = logits.gather(1, target)[:, 0].to(buffer.dtype)
    p = _cast(logits, buffer[: len(logits)])
    p = torch.softmax(p, 1, out=p)
    surprise = -p.gather(1, target)[:, 0].log()
    lost = surprise > FAR  # the probability has lost digits, but its logarithm has not
    if lost.any():
        exact = F.linear(h[lost], w, b).to(buffer.dtype).log_softmax(1)
        surprise[lost] = -exact.gather(1, target[lost])[:, 0]
    return p, surprise, chosen


def _add_gradient_of_softmax(
    grads: tuple[Tensor, Tensor, Tensor], rows: slice, p: Tensor, buffer: Tensor, h: Tensor, w: Tensor
) -> None:
    """Add the term of p of some rows to the gradients of hidden, weight and bias."""
    hidden_grad, weight_grad, bias_grad = grads
    bias_grad += p.sum(0)
    p = _cast(p, buffer)
    for total, left, right in ((hidden_grad[rows], p, w), (weight_grad, p.T, h)):
        if left.dtype == total.dtype:
            total.addmm_(left, right)
        else:
            total += left @ right


def _cast(values: Tensor, buffer: Tensor) -> Tensor:
    """The values in the precision of a buffer, written into it if they have another."""
    return values if values.dtype == buffer.dtype else buffer.copy_(values)


def _gradient_of_target(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The term of -q in the gradients of hidden, weight and bias."""
    sure, even = smoothing - 1.0, -smoothing / weight.size(0)
    hidden_grad = torch.addcmul(even * weight.sum(0), weight[targets], weight.new_tensor(sure))  # (n, D)
    weight_grad = (even * hidden.sum(0)).repeat(weight.size(0), 1)  # (V, D)
    weight_grad.index_add_(0, targets, hidden, alpha=sure)
    bias_grad = torch.bincount(targets, minlength=bias.size(0)) * sure + even * len(targets)
    return hidden_grad, weight_grad, bias_grad.to(bias)
