"""Attention before 2017, against its formulas written out."""

import math

import torch
from torch.testing import assert_close

from tests.parts.watchers import Looking, Silencing
from weft.parts.attention import attention_weights
from weft.parts.call import Call, Memory, State
from weft.parts.context_attention import Additive, ContextAttention, Dot, General

B, T, S, D = 2, 3, 4, 6
KEEP = torch.tensor([[True, True, True, True], [True, True, False, False]])


def memory(embedded: torch.Tensor | None = None) -> Memory:
    return Memory(torch.randn(B, S, D), KEEP, embedded)


def test_additive_attention_is_its_formula() -> None:
    """e_tj = v · tanh(W s_t + U h_j), α = softmax over the real j, c_t = Σ α_tj h_j: in loops, number by number."""
    look, x, seen = ContextAttention(Additive(D, 5)), torch.randn(B, T, D), memory()
    W, U, b, v = look.score.query.weight, look.score.key.weight, look.score.key.bias, look.score.out.weight[0]
    wanted = torch.zeros(B, T, D)
    for i in range(B):
        real = int(KEEP[i].sum())
        for t in range(T):
            e = torch.stack([v @ torch.tanh(W @ x[i, t] + U @ seen.output[i, j] + b) for j in range(real)])
            alpha = e.exp() / e.exp().sum()
            wanted[i, t] = sum(alpha[j] * seen.output[i, j] for j in range(real))
    assert_close(look(x, Call(memory=seen)), wanted)


def test_the_general_score_is_its_formula() -> None:
    score, x, h = General(D), torch.randn(B, T, D), torch.randn(B, S, D)
    assert_close(score(x, score.keys(h)), torch.einsum("btd,de,bse->bts", x, score.key.weight, h))


def test_the_dot_score_is_attention_without_its_scale() -> None:
    look, x, seen, watch = ContextAttention(Dot()), torch.randn(B, T, D), memory(), Looking()
    found = look(x, Call(memory=seen, watch=watch, place="cross"))
    weights = attention_weights(x * math.sqrt(D), seen.output, KEEP[:, None])
    assert_close(watch.seen["cross", "weights"], weights[:, None])
    assert_close(found, weights @ seen.output)


def test_values_with_the_source_embeddings() -> None:
    """Keys are the output alone; the average is of output and embedding together."""
    seen, x, watch = memory(torch.randn(B, S, D)), torch.randn(B, T, D), Looking()
    found = ContextAttention(Dot())(x, Call(memory=seen, watch=watch))
    assert_close(found, watch.seen["", "weights"][:, 0] @ (seen.output + seen.embedded))


def test_a_watcher_sees_what_the_weights_are_made_of() -> None:
    look, x, seen, watch = ContextAttention(Additive(D, 5)), torch.randn(B, T, D), memory(), Looking()
    found = look(x, Call(memory=seen, watch=watch))
    query, key, value, scores, weights = (
        watch.seen["", name][:, 0] for name in ("query", "key", "value", "scores", "weights")
    )
    assert_close(scores, look.score(query, key))
    assert_close(weights[1, :, :2], scores[1, :, :2].softmax(-1))
    assert_close(found, weights @ value)


def test_keys_are_made_once_in_a_run() -> None:
    look, state, seen = ContextAttention(General(D)), State(), memory()
    call = Call(memory=seen, state=state, place="decoder.cross")
    look(torch.randn(B, 1, D), call)
    keys = state.sentences["decoder.cross.key"]
    look(torch.randn(B, 1, D), call)
    assert state.sentences["decoder.cross.key"] is keys


def test_hypotheses_of_a_sentence_are_queries_of_that_sentence() -> None:
    look, seen, x, watch = ContextAttention(Additive(D, 5)), memory(), torch.randn(2 * B, 1, D), Looking()
    found = look(x, Call(memory=seen, watch=watch, place="cross"))
    twice = Memory(seen.output.repeat_interleave(2, 0), KEEP.repeat_interleave(2, 0))
    assert_close(found, look(x, Call(memory=twice)))
    assert watch.seen["cross", "weights"].shape == (2 * B, 1, 1, S)


def test_a_watcher_can_switch_it_off() -> None:
    found = ContextAttention(Dot())(torch.randn(B, T, D), Call(memory=memory(), watch=Silencing(0)))
    assert not found.any()
