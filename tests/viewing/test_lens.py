"""What is said of each step and each layer is what the model computes."""

import copy

import torch

from weft.parts.call import Call
from weft.tasks.generator import Generator
from weft.tasks.translator import Translator
from weft.viewing.lens import lens, next_token, steps
from weft.viewing.what_if import WhatIf

TEXT = "red cat"


@torch.inference_mode()
def test_steps_rank_each_token_among_all(toy: Translator) -> None:
    seen = toy.attention(TEXT, "RED DOG")
    found = steps(toy.models[0], toy.codec, seen.hidden, seen.targets, top=4)
    each = toy.models[0].head.log_probs(seen.hidden)
    for step, row, token in zip(found, each.tolist(), seen.ids):
        order = sorted(range(len(row)), key=lambda i: -row[i])
        assert step.rank == 1 + order.index(token)
        assert step.log_prob == row[token]
        assert [one.id for one in step.top] == order[:4]
        assert [one.log_prob for one in step.top] == [row[i] for i in order[:4]]
    assert [step.token for step in found] == seen.target


@torch.inference_mode()
def test_logits_of_a_step_give_its_probabilities(toy: Translator) -> None:
    seen = toy.attention(TEXT)
    found = next_token(toy.models[0], seen.hidden[2], 7)
    log_probs = toy.models[0].head.log_probs(seen.hidden[2])
    assert [i for i, _ in found.tokens] == log_probs.topk(7).indices.tolist()
    torch.testing.assert_close(
        torch.tensor([logit - found.log_sum for _, logit in found.tokens]), log_probs.topk(7).values
    )


@torch.inference_mode()
def test_the_lens_at_a_layer_is_the_model_cut_there(toy: Translator, lm: Generator) -> None:
    for predictor, seen in ((toy, toy.attention(TEXT)), (lm, lm.attention("The red"))):
        cells = lens(predictor.models[0], predictor.codec, seen)
        assert len(cells) == 3, "the embedding and two layers"
        for layer, row in enumerate(cells):
            cut = copy.deepcopy(predictor.models[0])
            stack = [*cut.sides.values()][-1].stack
            stack.layers = stack.layers[:layer]
            inputs = {name: torch.tensor([ids]) for name, ids in seen.read.items()}
            probabilities = cut.head.log_probs(cut.hidden(inputs, Call())[0]).exp()
            best = probabilities.max(-1)
            assert [cell.token for cell in row] == predictor.codec.readable(best.indices.tolist())
            torch.testing.assert_close(torch.tensor([cell.probability for cell in row]), best.values)
        final = [cell.token for cell in cells[-1]]
        assert all(cell.rank_of_final == 1 for cell in cells[-1])
        for row in cells:
            for cell, wanted in zip(row, final):
                assert (cell.rank_of_final == 1) == (cell.token == wanted)
                assert cell.probability_of_final <= cell.probability


def test_the_lens_has_the_temperature(toy: Translator) -> None:
    cold = toy.attention(TEXT, what_if=WhatIf(temperature=0.1))
    warm = toy.attention(TEXT, cold.ids)
    sharp, flat = (lens(toy.models[0], toy.codec, seen)[-1][0].probability for seen in (cold, warm))
    assert sharp > flat


def test_a_text_longer_than_the_context_is_rated_by_at_least_half_of_it(lm: Generator) -> None:
    ids = lm.prompt("The red cat sees a blue dog. " * 8)
    assert lm.context == 48
    assert len(ids) > 2 * lm.context
    found = [step for some in lm.rated(ids) for step in some]
    assert len(found) == len(ids) - 1
    for at, first in ((1, 0), (48, 0), (49, 24), (72, 24), (73, 48)):  # the first token that is seen
        own = lm.log_probs(ids[first:at])[-1, ids[at]]
        assert abs(found[at - 1].log_prob - float(own)) < 1e-4
