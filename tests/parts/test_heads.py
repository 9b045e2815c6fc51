"""Heads: the fused loss is `F.cross_entropy`, value and gradients; perplexity excludes smoothing."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from weft.parts.heads import Head, Loss, SoftmaxHead, largest

TARGETS = torch.tensor([3, 0, 6, 6, 2])


def head(smoothing: float = 0.0, chunk: int = 256) -> SoftmaxHead:
    made = SoftmaxHead(nn.Embedding(7, 4), smoothing, chunk).double()
    nn.init.normal_(made.bias)
    return made


def states() -> Tensor:
    return torch.randn(5, 4, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_loss_is_smoothed_cross_entropy(smoothing: float) -> None:
    part, hidden = head(smoothing), states()
    wanted = F.cross_entropy(part.logits(hidden), TARGETS, reduction="sum", label_smoothing=smoothing)
    assert_close(part.loss(hidden, TARGETS).objective, wanted)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_all_gradients_are_those_of_cross_entropy(smoothing: float) -> None:
    part, hidden = head(smoothing), states()
    inputs = [hidden, part.words.weight, part.bias]
    ours = part.loss(hidden, TARGETS).objective / 5
    theirs = F.cross_entropy(part.logits(hidden), TARGETS, label_smoothing=smoothing)
    assert_close(torch.autograd.grad(ours, inputs), torch.autograd.grad(theirs, inputs))


def test_head_without_a_bias_is_one_whose_bias_is_zero() -> None:
    without, hidden = SoftmaxHead(nn.Embedding(7, 4), 0.1, bias=False).double(), states()
    assert [name for name, _ in without.named_parameters()] == ["words.weight"]
    assert list(without.state_dict()) == ["words.weight"]
    logits = hidden @ without.words.weight.T
    loss = without.loss(hidden, TARGETS).objective
    wanted = F.cross_entropy(logits, TARGETS, reduction="sum", label_smoothing=0.1)
    assert_close(loss, wanted)
    inputs = [hidden, without.words.weight]
    assert_close(torch.autograd.grad(loss, inputs), torch.autograd.grad(wanted, inputs))
    weight, bias = without.projection()
    assert_close(F.linear(hidden, weight, bias), logits)


def test_loss_by_hand() -> None:
    """Two words with probabilities 3/4 and 1/4."""
    part = SoftmaxHead(nn.Embedding(2, 1), smoothing=0.2)
    with torch.no_grad():
        part.words.weight.copy_(torch.tensor([[3.0], [1.0]]).log())
    loss = part.loss(torch.ones(1, 1), torch.tensor([0]))
    right, wrong = torch.tensor([4 / 3, 4.0]).log()
    assert_close(loss.nll, right)
    assert_close(loss.objective.detach(), 0.8 * right + 0.2 * (right + wrong) / 2)


@pytest.mark.parametrize("chunk", [1, 2, 5])
def test_chunk_size_does_not_change_the_loss(chunk: int) -> None:
    part, hidden = head(smoothing=0.1, chunk=chunk), states()
    inputs = [hidden, part.words.weight, part.bias]
    pieces = part.loss(hidden, TARGETS)
    part.chunk = 100
    whole = part.loss(hidden, TARGETS)
    assert_close((pieces.objective, pieces.nll), (whole.objective, whole.nll))
    assert_close(torch.autograd.grad(pieces.objective, inputs), torch.autograd.grad(whole.objective, inputs))


def test_nll_excludes_smoothing() -> None:
    part, hidden = head(smoothing=0.3), states()
    loss = part.loss(hidden, TARGETS)
    assert_close(loss.nll, F.cross_entropy(part.logits(hidden), TARGETS, reduction="sum").detach())
    assert not loss.nll.requires_grad


def test_large_scores_do_not_overflow() -> None:
    part = SoftmaxHead(nn.Embedding(7, 4))
    hidden = 1e4 * torch.randn(5, 4)
    assert_close(part.loss(hidden, TARGETS).nll, F.cross_entropy(part.logits(hidden), TARGETS, reduction="sum"))


def test_count_is_the_number_of_tokens() -> None:
    assert head().loss(states(), TARGETS).count == 5


def test_loss_of_no_tokens_is_zero() -> None:
    loss = head(0.1).loss(states()[:0], TARGETS[:0])
    assert (loss.objective.item(), loss.nll.item(), loss.count) == (0.0, 0.0, 0)


def test_no_gradients_are_computed_without_grad_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    part, hidden = head(), states()
    wanted = part.loss(hidden, TARGETS).nll
    monkeypatch.setattr(torch, "mm", None)  # what the gradients are made with
    with torch.no_grad():
        assert_close(part.loss(hidden, TARGETS).nll, wanted)


def test_log_probs_are_a_distribution() -> None:
    part, hidden = head(), torch.randn(2, 3, 4, dtype=torch.float64)
    assert_close(part.log_probs(hidden), F.linear(hidden, part.words.weight, part.bias).log_softmax(-1))


def test_best_is_the_top_of_log_probs() -> None:
    part, hidden = head(), states()
    values, ids = part.best(hidden, 3)
    top = part.log_probs(hidden).topk(3, -1)
    assert_close(values, top.values)
    assert torch.equal(ids, top.indices)


def test_tied_head_shares_the_matrix_of_the_embedding() -> None:
    words = nn.Embedding(7, 4)
    assert SoftmaxHead(words).words.weight is words.weight
    assert SoftmaxHead(words).tied_to(words)
    assert not SoftmaxHead(words).tied_to(nn.Embedding(7, 4))


def test_projection_of_a_softmax_head_gives_its_log_probs() -> None:
    part, hidden = head(), states()
    weight, bias = part.projection()
    assert_close(F.linear(hidden, weight, bias).log_softmax(-1), part.log_probs(hidden))


class EvenHead(Head):
    """The same distribution whatever the hidden state: the least that a head must define."""

    vocabulary = 4

    def loss(self, hidden: Tensor, targets: Tensor) -> Loss:
        nll = -self.log_probs(hidden).gather(-1, targets[:, None]).sum()
        return Loss(nll, nll, targets.numel())

    def log_probs(self, hidden: Tensor) -> Tensor:
        return torch.tensor([0.1, 0.4, 0.2, 0.3]).log().expand(*hidden.shape[:-1], 4)


def test_best_defaults_to_the_top_of_log_probs() -> None:
    values, ids = EvenHead().best(torch.randn(2, 5), 2)
    assert_close(values.exp(), torch.tensor([[0.4, 0.3]] * 2))
    assert ids.tolist() == [[1, 3]] * 2


def test_head_without_projection_says_so() -> None:
    assert EvenHead().projection() is None


def test_incomplete_head_cannot_be_built() -> None:
    class LossOnly(Head):
        def loss(self, hidden: Tensor, targets: Tensor) -> Loss:
            return Loss(hidden.sum(), hidden.sum(), 1)

    with pytest.raises(TypeError, match="log_probs"):
        LossOnly()


@pytest.mark.parametrize("words", [10, 4 * 3 * 64, 1000, 1024])
def test_largest_equals_topk(words: int) -> None:
    scores = torch.randn(7, words)
    values, places = largest(scores, 3)
    expected = scores.topk(3, -1)
    assert values.equal(expected.values)
    assert places.equal(expected.indices)
