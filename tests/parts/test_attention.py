"""Attention by hand, in heads, masked, watched; and equal to torch's own with copied weights."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from tests.parts.watchers import Looking, Silencing
from weft.parts.attention import Attention, attention_weights, reference_attention
from weft.parts.call import Call, Memory, State
from weft.parts.patterns import Pattern
from weft.parts.relative_positions import RelativePosition, Rotary

QUERY = torch.tensor([[1.0, 1.0, 0.0]])
KEYS = torch.tensor([[1.0, 3.0, 0.0], [0.0, 0.0, 1.0], [5.0, -1.0, 2.0]])
# Scores 4, 0, 4 over √3: the first and the last key get the weight e / (2 e + 1) with e = exp(4 / √3).
E = math.exp(4 / math.sqrt(3))
WEIGHTS = torch.tensor([[E, 1.0, E]]) / (2 * E + 1)


# The worked example of the lecture (SPEC 1.3)


def test_weights_of_the_worked_example() -> None:
    assert_close(attention_weights(QUERY, KEYS), WEIGHTS)
    assert_close(WEIGHTS, torch.tensor([[0.476, 0.047, 0.476]]), atol=5e-4, rtol=0)  # its three digits


def test_context_of_the_worked_example() -> None:
    context = reference_attention(QUERY, KEYS, KEYS)
    w = float(WEIGHTS[0, 0])
    assert_close(context, torch.tensor([[6 * w, 2 * w, 1.0]]))
    assert_close(context, torch.tensor([[2.857, 0.952, 1.000]]), atol=1.5e-3, rtol=0)  # its digits are those of e = 10


def test_context_when_the_values_differ_from_the_keys() -> None:
    values = torch.tensor([[2.0, 0.0], [0.0, 1.0], [4.0, 10.0]])
    w = float(WEIGHTS[0, 0])
    assert_close(reference_attention(QUERY, KEYS, values), torch.tensor([[6 * w, (1 - 2 * w) + 10 * w]]))


@pytest.mark.parametrize("width", [4, 64, 512])
def test_the_scaled_score_has_variance_one(width: int) -> None:
    """The variance of n samples of a score strays from 1 by about √(2 / n): 0.014 here."""
    query, key = torch.randn(2, 10_000, width)
    scores = (query * key).sum(-1) / math.sqrt(width)
    assert scores.var().item() == pytest.approx(1.0, abs=0.06)


def test_the_weights_use_the_scaled_score() -> None:
    query, key = torch.randn(2, 3, 64)
    log_ratio = attention_weights(query, key).log()
    assert_close(log_ratio[:, 0] - log_ratio[:, 1], (query @ (key[0] - key[1])) / 8)


# Masks


def test_what_is_not_visible_gets_exactly_zero_weight() -> None:
    visible = torch.tensor([[True, False, True]])
    weights = attention_weights(QUERY, KEYS, visible)
    assert weights[0, 1] == 0.0
    assert_close(weights, torch.tensor([[0.5, 0.0, 0.5]]))


def test_padding_gets_exactly_zero_weight_in_every_head() -> None:
    attention, look = Attention(6, 2), Looking()
    keep = torch.tensor([[True, True, False, False], [True, True, True, False]])
    attention(torch.randn(2, 4, 6), Call(keep=keep, watch=look))
    weights = look.seen["", "weights"]
    assert (weights.masked_select(~keep[:, None, None].expand_as(weights)) == 0.0).all()


def test_padding_of_the_memory_gets_exactly_zero_weight() -> None:
    attention, look = Attention(6, 2), Looking()
    keep = torch.tensor([[True, False, False], [True, True, False]])
    attention(torch.randn(2, 4, 6), Call(memory=Memory(torch.randn(2, 3, 6), keep), watch=look))
    weights = look.seen["", "weights"]  # (B, H, T, S)
    assert (weights.masked_select(~keep[:, None, None].expand_as(weights)) == 0.0).all()


# Heads


def by_hand(attention: Attention, x: Tensor, key_width: int, value_width: int, visible: Tensor | None = None) -> Tensor:
    """Self-attention as the paper writes it: each head with matrices of its own, concatenated, times W^O."""
    h = attention.heads
    sizes = [key_width] * 2 * h + [value_width] * h
    matrices = attention.project.weight.split(sizes)
    biases = attention.project.bias.split(sizes)
    queries, keys, values = (
        [F.linear(x, matrices[kind * h + i], biases[kind * h + i]) for i in range(h)] for kind in range(3)
    )
    heads = [reference_attention(q, k, v, visible) for q, k, v in zip(queries, keys, values)]
    return F.linear(torch.cat(heads, -1), attention.out.weight, attention.out.bias)


def test_heads_are_concatenated_and_projected() -> None:
    attention, x = Attention(6, 3), torch.randn(2, 4, 6)
    assert_close(attention(x, Call()), by_hand(attention, x, 2, 2))


def test_masked_heads() -> None:
    attention, x = Attention(6, 3, is_causal=True), torch.randn(2, 4, 6)
    assert_close(attention(x, Call()), by_hand(attention, x, 2, 2, torch.ones(4, 4).tril().bool()))


def test_key_and_value_widths_are_free_of_the_width() -> None:
    attention, x = Attention(6, 4, key_width=3, value_width=5), torch.randn(2, 4, 6)
    assert attention.out.in_features == 20
    assert_close(attention(x, Call()), by_hand(attention, x, 3, 5))


def test_dropout_acts_on_the_weights_while_training_only() -> None:
    attention, x = Attention(6, 2, dropout=0.5), torch.randn(2, 4, 6)
    assert not torch.equal(attention(x, Call()), attention(x, Call()))
    attention.eval()
    assert_close(attention(x, Call()), by_hand(attention, x, 3, 3))


# Shared keys and values, norms of queries and keys, no biases


def repeated(grouped: Attention, width: int) -> Attention:
    """Plain attention in which each head has a copy of the keys and values that it shares."""
    plain = Attention(width, grouped.heads, grouped.key_width, grouped.value_width, is_causal=grouped.is_causal)
    sharing = grouped.heads // grouped.kv_heads
    with torch.no_grad():
        for name in ("weight", "bias"):
            query, key, value = getattr(grouped.project, name).split(grouped.widths)
            key = key.unflatten(0, (-1, grouped.key_width)).repeat_interleave(sharing, 0).flatten(0, 1)
            value = value.unflatten(0, (-1, grouped.value_width)).repeat_interleave(sharing, 0).flatten(0, 1)
            getattr(plain.project, name).copy_(torch.cat((query, key, value)))
    plain.out.load_state_dict(grouped.out.state_dict())
    plain.position = grouped.position
    return plain


def test_as_many_kv_heads_as_heads_are_plain_attention() -> None:
    plain, same = Attention(6, 3), Attention(6, 3, kv_heads=3)
    same.load_state_dict(plain.state_dict())
    x = torch.randn(2, 4, 6)
    assert torch.equal(same(x, Call()), plain(x, Call()))


@pytest.mark.parametrize("kv_heads", [1, 2])
@pytest.mark.parametrize("position", [None, Rotary(10000.0)], ids=["none", "rotary"])
@pytest.mark.parametrize("use", ["self", "causal", "cross"])
def test_shared_keys_are_repeated_keys(use: str, position: RelativePosition | None, kv_heads: int) -> None:
    grouped = Attention(8, 4, value_width=3, is_causal=use == "causal", kv_heads=kv_heads)
    grouped.position = position
    plain, x, looks = repeated(grouped, 8), torch.randn(2, 5, 8), [Looking(), Looking()]
    memory = Memory(torch.randn(2, 3, 8), torch.tensor([[True] * 3, [True, False, False]])) if use == "cross" else None
    assert_close(grouped(x, Call(memory=memory)), plain(x, Call(memory=memory)))
    for attention, look in zip((grouped, plain), looks):
        attention(x, Call(memory=memory, watch=look))
    assert looks[0].seen.keys() == looks[1].seen.keys()
    for name, seen in looks[0].seen.items():
        assert_close(seen, looks[1].seen[name])
    assert looks[0].seen["", "key"].size(1) == 4


@torch.no_grad()
def test_only_shared_keys_and_values_are_cached() -> None:
    attention, state = Attention(8, 4, is_causal=True, kv_heads=1), State()
    attention(torch.randn(2, 3, 8), Call(state=state))
    assert state.hypotheses[".key_value"].shape == (2, 3, 2 + 2)


def test_queries_and_keys_are_normed_in_each_head_before_they_know_their_positions() -> None:
    attention, x, look = Attention(8, 2, kv_heads=1), torch.randn(2, 4, 8), Looking()
    attention.norms = nn.ModuleList([nn.RMSNorm(4, eps=1e-6), nn.RMSNorm(4, eps=1e-6)])
    attention.position = Rotary(100.0)
    with torch.no_grad():
        attention.norms[0].weight.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    attention(x, Call(watch=look))
    query, key, value = attention.project(x).split([8, 4, 4], -1)
    query = query.view(2, 4, 2, 4)
    query = query / query.square().mean(-1, keepdim=True).add(1e-6).sqrt() * torch.tensor([1.0, 2.0, 3.0, 4.0])
    key = (key / key.square().mean(-1, keepdim=True).add(1e-6).sqrt()).view(2, 4, 1, 4)
    where = torch.arange(4)[None]
    assert_close(look.seen["", "query"], attention.position.queries(query, where, Call()).transpose(1, 2))
    assert_close(look.seen["", "key"][:, :1], attention.position.keys(key, where, Call()).transpose(1, 2))
    assert_close(look.seen["", "value"][:, 1], value)


def test_attention_without_biases_is_one_whose_biases_are_zero() -> None:
    without, x = Attention(6, 2, bias=False), torch.randn(2, 4, 6)
    assert [name for name, _ in without.named_parameters()] == ["project.weight", "out.weight"]
    zero = Attention(6, 2)
    zero.load_state_dict({**{k: torch.zeros_like(v) for k, v in zero.state_dict().items()}, **without.state_dict()})
    memory = Memory(torch.randn(2, 3, 6), torch.ones(2, 3, dtype=torch.bool))
    assert_close(without(x, Call()), zero(x, Call()))
    assert_close(without(x, Call(memory=memory)), zero(x, Call(memory=memory)))


# Decoding


def test_hypotheses_of_a_sentence_share_its_keys() -> None:
    """Two sentences with three hypotheses each: the memory is not copied, the answer is as if it were."""
    attention, x = Attention(6, 2), torch.randn(6, 1, 6)
    memory = Memory(torch.randn(2, 5, 6), torch.tensor([[True] * 5, [True] * 3 + [False] * 2]))
    copied = memory.select(torch.tensor([0, 0, 0, 1, 1, 1]))
    state, look = State(), Looking()
    assert_close(
        attention(x, Call(memory=memory, state=state, watch=look)), attention(x, Call(memory=copied, state=State()))
    )
    assert state.sentences[".key_value"].size(0) == 2
    assert look.seen["", "weights"].shape == (6, 2, 1, 5)


def test_watched_weights_of_hypotheses_are_each_their_own() -> None:
    attention, x = Attention(6, 2), torch.randn(6, 1, 6)
    memory = Memory(torch.randn(2, 5, 6), torch.ones(2, 5, dtype=torch.bool))
    together, alone = Looking(), Looking()
    attention(x, Call(memory=memory, watch=together))
    attention(x[4:5], Call(memory=memory.select(torch.tensor([1])), watch=alone))
    assert_close(together.seen["", "weights"][4:5], alone.seen["", "weights"])


def test_the_memory_is_projected_once_in_a_run() -> None:
    attention, state = Attention(6, 2), State()
    keep = torch.ones(1, 3, dtype=torch.bool)
    first = attention(torch.ones(1, 1, 6), Call(memory=Memory(torch.randn(1, 3, 6), keep), state=state))
    again = attention(torch.ones(1, 1, 6), Call(memory=Memory(torch.randn(1, 3, 6), keep), state=state))
    assert_close(again, first)


@torch.no_grad()
@pytest.mark.parametrize("pieces", [[1, 1, 1, 1], [1, 2, 1], [3, 1]], ids=str)
def test_rows_may_start_at_different_positions(pieces: list[int]) -> None:
    attention, x, state = Attention(6, 2, is_causal=True), torch.randn(2, 4, 6), State()
    positions = torch.tensor([[0], [7]]) + torch.arange(4)
    steps = [
        attention(piece, Call(positions=where, state=state))
        for piece, where in zip(x.split(pieces, 1), positions.split(pieces, 1))
    ]
    assert_close(torch.cat(steps, 1), attention(x, Call()))


def test_only_keys_and_values_are_cached_unless_a_part_compares_positions() -> None:
    state = State()
    Attention(6, 2, is_causal=True)(torch.randn(1, 1, 6), Call(positions=torch.tensor([[0]]), state=state))
    assert list(state.hypotheses) == [".key_value"]


# Positions and patterns


class Linear(RelativePosition):
    """score - s |i - j| with a slope s for each head (ALiBi, arXiv:2108.12409)."""

    on_scores = True

    def bias(self, query: Tensor, i: Tensor, j: Tensor, call: Call) -> Tensor:
        slopes = torch.tensor([0.5, 0.25], dtype=query.dtype)
        return -slopes[:, None, None] * (i[:, :, None] - j[:, None]).abs()[:, None]  # (B or 1, H, T, S)


class Shaw(RelativePosition):
    """q_i · (k_j + a_{j-i}) / √K and Σ_j α_ij (v_j + b_{j-i}), further than 2 positions as 2 (arXiv:1803.02155)."""

    on_scores = on_values = True

    def __init__(self, width: int):
        super().__init__()
        self.of_keys, self.of_values = nn.Embedding(5, width), nn.Embedding(5, width)

    def offset(self, i: Tensor, j: Tensor) -> Tensor:
        return (j[:, None] - i[:, :, None]).clamp(-2, 2) + 2  # (B or 1, T, S)

    def bias(self, query: Tensor, i: Tensor, j: Tensor, call: Call) -> Tensor:
        a = self.of_keys(self.offset(i, j))[:, None]  # (B or 1, 1, T, S, K)
        return (query[:, :, :, None] * a).sum(-1) / math.sqrt(query.size(-1))

    def values(self, weights: Tensor, i: Tensor, j: Tensor, call: Call) -> Tensor:
        return (weights[..., None] * self.of_values(self.offset(i, j))[:, None]).sum(3)  # (B, H, T, K)


class Tree(RelativePosition):
    """Whatever a batch says of each pair of its tokens."""

    on_scores = True

    def bias(self, query: Tensor, i: Tensor, j: Tensor, call: Call) -> Tensor:
        return call.extras["tree"][:, None]  # (B, 1, T, S)


class Even(Pattern):
    """A query sees the keys whose positions differ from its own by an even number."""

    reach = None

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return (query[:, :, None] - key[:, None]) % 2 == 0


def made(position: RelativePosition | None, is_causal: bool = False, pattern: Pattern | None = None) -> Attention:
    attention = Attention(6, 2, is_causal=is_causal)
    attention.position, attention.pattern = position, pattern
    return attention.double()


def one_by_one(attention: Attention, x: Tensor, start: int, is_causal: bool) -> Tensor:
    """Attention with the positions of Shaw, a query and a key at a time, as the paper writes it."""
    position = attention.position
    assert isinstance(position, Shaw)
    rows = []
    query, key, value = (
        each.view(-1, 2, 3) for each in F.linear(x, attention.project.weight, attention.project.bias).split(6, -1)
    )  # (T, H, K)
    for i in range(len(x)):
        seen = range(i + 1) if is_causal else range(len(x))
        clipped = [max(-2, min(2, (start + j) - (start + i))) + 2 for j in seen]
        heads = []
        for h in range(2):
            keys = torch.stack([key[j, h] + position.of_keys.weight[c] for j, c in zip(seen, clipped)])
            values = torch.stack([value[j, h] + position.of_values.weight[c] for j, c in zip(seen, clipped)])
            heads.append((keys @ query[i, h] / math.sqrt(3)).softmax(0) @ values)
        rows.append(torch.cat(heads))
    return attention.out(torch.stack(rows))


@pytest.mark.parametrize("is_causal", [False, True])
def test_hooks_on_scores_and_on_values(is_causal: bool) -> None:
    attention, x = made(Shaw(3), is_causal), torch.randn(2, 5, 6, dtype=torch.float64)
    expected = torch.stack([one_by_one(attention, row, 0, is_causal) for row in x])
    assert_close(attention(x, Call()), expected)


@pytest.mark.parametrize("position", [None, Linear(), Shaw(3)], ids=["none", "bias", "bias and values"])
@pytest.mark.parametrize("pattern", [None, Even()], ids=["full", "even"])
@pytest.mark.parametrize("padded", [False, True])
def test_fast_attention_with_positions_and_patterns_is_the_reference(
    position: RelativePosition | None, pattern: Pattern | None, padded: bool
) -> None:
    attention, x = made(position, True, pattern), torch.randn(2, 4, 6, dtype=torch.float64)
    call = Call(keep=torch.tensor([[True] * 4, [True, True, False, False]]) if padded else None)
    look = attention.looks(x, call)
    clear = attention.out(reference_attention(*look).transpose(1, 2).flatten(2))
    assert_close(attention(x, call), clear)
    assert not clear.isnan().any()


@pytest.mark.parametrize("position", [Linear(), Shaw(3)], ids=["bias", "bias and values"])
def test_watched_scores_and_weights_are_those_that_are_used(position: RelativePosition) -> None:
    attention, x, look = made(position, True), torch.randn(2, 4, 6, dtype=torch.float64), Looking()
    seen = attention(x, Call(watch=look))
    assert_close(seen, attention(x, Call()))
    scores, visible = look.seen["", "scores"], look.seen["", "visible"]
    weights = scores.masked_fill(~visible, -math.inf).softmax(-1)
    assert_close(look.seen["", "weights"], weights)
    used = weights @ look.seen["", "value"]
    if position.on_values:
        used = used + position.values(weights, torch.arange(4)[None], torch.arange(4)[None], Call())
    assert_close(attention.out(used.transpose(1, 2).flatten(2)), seen)


@torch.no_grad()
@pytest.mark.parametrize("position", [None, Linear(), Shaw(3)], ids=["none", "bias", "bias and values"])
@pytest.mark.parametrize("pattern", [None, Even()], ids=["full", "even"])
def test_prompts_may_differ_in_length(position: RelativePosition | None, pattern: Pattern | None) -> None:
    """A short prompt is padded; what is written after it is as if it stood alone, and rows may change places."""
    attention, state = made(position, True, pattern), State()
    prompt, written = torch.randn(2, 4, 6, dtype=torch.float64), torch.randn(2, 3, 6, dtype=torch.float64)
    lengths = torch.tensor([[4], [2]])
    attention(prompt, Call(keep=torch.arange(4) < lengths, positions=torch.arange(4).expand(2, 4), state=state))
    steps = [attention(written[:, :1], Call(positions=lengths, state=state))]
    state.select(torch.tensor([1, 0]))
    steps.append(attention(written[[1, 0], 1:], Call(positions=lengths[[1, 0]] + torch.tensor([1, 2]), state=state)))
    found = torch.cat((steps[0], steps[1][[1, 0]]), 1)
    for row, length in enumerate((4, 2)):
        alone = attention(torch.cat((prompt[row : row + 1, :length], written[row : row + 1]), 1), Call())
        assert_close(found[row], alone[0, length:])


def test_positions_may_come_from_the_extras_of_a_batch() -> None:
    attention, x = made(Tree()), torch.randn(2, 3, 6, dtype=torch.float64)
    apart = torch.zeros(2, 3, 3, dtype=torch.float64)
    apart[:, :, 1:] = -math.inf  # every token sees the first one only
    value = F.linear(x[:, :1], attention.project.weight[12:], attention.project.bias[12:])
    assert_close(attention(x, Call(extras={"tree": apart})), attention.out(value).expand(2, 3, 6))


def test_pattern_is_combined_with_causality() -> None:
    attention, look = made(None, True, Even()), Looking()
    attention(torch.randn(1, 4, 6, dtype=torch.float64), Call(watch=look))
    assert look.seen["", "visible"][0, 0].int().tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]]


def test_dropout_acts_on_the_weights_of_relative_values() -> None:
    attention, x = Attention(6, 2, dropout=0.5), torch.randn(2, 4, 6)
    attention.position = Shaw(3)
    assert not torch.equal(attention(x, Call()), attention(x, Call()))
    attention.eval()
    assert torch.equal(attention(x, Call()), attention(x, Call()))


# Watching


@pytest.mark.parametrize("cross", [False, True])
def test_watched_weights_sum_to_one_and_are_those_of_the_formula(cross: bool) -> None:
    attention, x, look = Attention(6, 2), torch.randn(2, 4, 6), Looking()
    memory = Memory(torch.randn(2, 3, 6), torch.ones(2, 3, dtype=torch.bool)) if cross else None
    attention(x, Call(memory=memory, watch=look, place="encoder.0.mix"))
    weights = look.seen["encoder.0.mix", "weights"]
    read = x if memory is None else memory.output
    query = F.linear(x, attention.project.weight[3:6], attention.project.bias[3:6])  # the second head's
    key = F.linear(read, attention.project.weight[9:12], attention.project.bias[9:12])
    assert_close(weights.sum(-1), torch.ones(2, 2, 4))
    assert_close(weights[:, 1], attention_weights(query, key))


def test_watching_changes_nothing() -> None:
    attention, x = Attention(6, 2, is_causal=True), torch.randn(2, 4, 6)
    assert torch.equal(attention(x, Call(watch=Looking())), attention(x, Call()))


def test_a_silenced_head_contributes_nothing() -> None:
    attention, x = Attention(6, 3), torch.randn(2, 4, 6)
    silenced = attention(x, Call(watch=Silencing(1)))
    without = Attention(6, 3)
    without.load_state_dict(attention.state_dict())
    with torch.no_grad():
        without.out.weight[:, 2:4] = 0.0  # what W^O makes of the second head
    assert_close(silenced, without(x, Call()))
    assert not torch.allclose(silenced, attention(x, Call()))


# Reductions: clear = fast = torch.nn.MultiheadAttention


@pytest.mark.parametrize("mask", ["none", "causal", "padding"])
def test_clear_attention_is_the_fast_one(mask: str) -> None:
    """Forward and gradients."""
    visible = {
        "none": None,
        "causal": torch.ones(4, 4).tril().bool(),
        "padding": torch.tensor([[True, True, True, False], [True, False, False, False]])[:, None, None],
    }[mask]
    inputs = [torch.randn(2, 3, 4, 5, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    clear, fast = reference_attention(*inputs, visible), F.scaled_dot_product_attention(*inputs, visible)
    assert_close(clear, fast)
    seed = torch.randn_like(clear)
    assert_close(torch.autograd.grad(clear, inputs, seed), torch.autograd.grad(fast, inputs, seed))


def torchs_own(attention: Attention, width: int) -> nn.MultiheadAttention:
    own = nn.MultiheadAttention(width, attention.heads, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        own.in_proj_weight.copy_(attention.project.weight)
        own.in_proj_bias.copy_(attention.project.bias)
        own.out_proj.weight.copy_(attention.out.weight)
        own.out_proj.bias.copy_(attention.out.bias)
    return own


@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
@pytest.mark.parametrize("use", ["self", "causal", "cross"])
def test_multihead_attention_with_copied_weights(use: str, padded: bool) -> None:
    """Forward, watched weights and the gradients of inputs and of all weights."""
    attention = Attention(6, 3, is_causal=use == "causal").double()
    own = torchs_own(attention, 6)
    x = torch.randn(2, 4, 6, dtype=torch.float64, requires_grad=True)
    source = torch.randn(2, 5, 6, dtype=torch.float64, requires_grad=True) if use == "cross" else x
    lengths = torch.tensor([source.size(1), 2 if padded else source.size(1)])
    keep = torch.arange(source.size(1)) < lengths[:, None]
    memory, look = Memory(source, keep) if use == "cross" else None, Looking()

    ours = attention(x, Call(keep=None if memory else keep, memory=memory, watch=look))
    hidden_future = torch.ones(4, 4).triu(1).bool() if use == "causal" else None
    theirs, weights = own(
        x, source, source, key_padding_mask=~keep, attn_mask=hidden_future, average_attn_weights=False
    )

    assert_close(ours, theirs)
    assert_close(look.seen["", "weights"], weights)
    seed = torch.randn_like(ours)
    inputs = [x] if source is x else [x, source]
    mine = [attention.project.weight, attention.project.bias, attention.out.weight, attention.out.bias]
    yours = [own.in_proj_weight, own.in_proj_bias, own.out_proj.weight, own.out_proj.bias]
    assert_close(
        torch.autograd.grad(ours, [*inputs, *mine], seed), torch.autograd.grad(theirs, [*inputs, *yours], seed)
    )
