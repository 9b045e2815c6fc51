"""Contracts of whole models, one for each catalogue entry: what holds for a part holds for what it is put into."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.contracts.tiny import every_model, filled, model_with, sentences, there_and_back, tiny_plan, without_gradient
from tests.pairs import pair_batch
from weft.data.codecs.subwords import PAD
from weft.measuring.scaling import declared
from weft.measuring.workloads import cross_mixers
from weft.parts.call import Call, Memory, State

every_part = pytest.mark.parametrize(("slot", "name"), list(every_model()))


def hidden(model: nn.Module, source: Tensor, target: Tensor) -> Tensor:
    return model.decode(target, model.encode(source))


def longer(tokens: Tensor) -> Tensor:
    return nn.functional.pad(tokens, (0, 3), value=PAD)


@every_part
def test_every_parameter_gets_a_gradient(slot: str, name: str) -> None:
    model = model_with(slot, name)
    model(pair_batch(sentences(6, 4), sentences(5, 3))).objective.backward()
    assert without_gradient(model) == []


@every_part
def test_padding_of_the_source_changes_nothing(slot: str, name: str) -> None:
    model, source, target = model_with(slot, name), sentences(6, 4), sentences(5, 3)
    assert_close(hidden(model, longer(source), target), hidden(model, source, target))


@every_part
def test_padding_of_the_target_changes_nothing(slot: str, name: str) -> None:
    model, source, target = model_with(slot, name), sentences(6, 4), sentences(5, 3)
    ours, padded = model(pair_batch(source, target)), model(pair_batch(source, longer(target)))
    assert_close((padded.objective, padded.nll), (ours.objective, ours.nll))
    assert padded.count == ours.count == 8


@every_part
def test_first_word_sees_all_of_the_source_where_a_plan_declares_it(slot: str, name: str) -> None:
    """A decoder with attention sees every column from the first word on; one without sees the first alone, or none of
    them where it is given states."""
    model, first = model_with(slot, name), torch.tensor([[5]])
    output, keep = torch.randn(1, 4, 16, dtype=torch.float64), torch.ones(1, 4, dtype=torch.bool)
    final = model.encode(sentences(4)).final

    def word(output: Tensor) -> Tensor:
        return model.decode(first, Memory(output, keep, torch.zeros_like(output), final))

    changes = torch.eye(4, dtype=torch.float64)[:, None, :, None]  # one column at a time
    seen = [not torch.equal(word(output + change), word(output)) for change in changes]
    chosen = tiny_plan(slot, name)
    assert seen == ([True] * 4 if cross_mixers(chosen) else [final is None, False, False, False])
    assert declared(chosen, [4])[0].model_path == 1 or not cross_mixers(chosen)


@every_part
def test_the_decoder_ignores_the_future(slot: str, name: str) -> None:
    model, source = model_with(slot, name), sentences(6, 4)
    first, other = torch.randint(4, 260, (2, 2, 5))
    for t in range(1, 5):
        changed = torch.cat((first[:, :t], other[:, t:]), 1)
        assert_close(hidden(model, source, changed)[:, :t], hidden(model, source, first)[:, :t])


@every_part
def test_the_decoder_sees_the_source(slot: str, name: str) -> None:
    model, target = model_with(slot, name), sentences(5, 3)
    assert not torch.allclose(hidden(model, sentences(6, 4), target), hidden(model, sentences(6, 4), target))


@every_part
def test_step_by_step_equals_all_at_once(slot: str, name: str) -> None:
    model, source, target = model_with(slot, name), sentences(6, 4), torch.randint(4, 260, (2, 5))
    memory, whole = model.encode(source), hidden(model, source, target)
    for pieces in ([1, 1, 1, 1, 1], [2, 1, 2]):
        state, positions = State(), torch.arange(5).expand(2, 5)
        steps = [
            model.decode(piece, memory, Call(positions=where, state=state))
            for piece, where in zip(target.split(pieces, 1), positions.split(pieces, 1))
        ]
        assert_close(torch.cat(steps, 1), whole)


@every_part
@torch.inference_mode()
def test_hypotheses_of_a_sentence_can_be_reordered(slot: str, name: str) -> None:
    """Two hypotheses of each of two sentences; after a step, the second of each goes on from the first."""
    model, source, state = model_with(slot, name), sentences(6, 4), State()
    memory, first, second = model.encode(source), torch.arange(4, 8)[:, None], torch.arange(8, 12)[:, None]
    model.decode(first, memory, Call(positions=torch.zeros(4, 1, dtype=torch.long), state=state))
    parents = torch.tensor([0, 0, 2, 2])
    state.select(parents)
    moved = model.decode(second, memory, Call(positions=torch.ones(4, 1, dtype=torch.long), state=state))
    whole = torch.cat((first[parents], second), 1)
    assert_close(moved, hidden(model, source.repeat_interleave(2, 0), whole)[:, 1:])


@every_part
def test_batched_equals_single(slot: str, name: str) -> None:
    model, source, target = model_with(slot, name), sentences(6, 4, 1), sentences(3, 5, 2)
    together = model(pair_batch(source, target))
    lengths = [(6, 3), (4, 5), (1, 2)]
    alone = [model(pair_batch(source[b : b + 1, :s], target[b : b + 1, :t])) for b, (s, t) in enumerate(lengths)]
    assert_close(torch.stack([loss.nll for loss in alone]).sum(), together.nll)


@every_part
def test_weights_survive_saving_and_loading(slot: str, name: str) -> None:
    model, source, target = model_with(slot, name), sentences(6, 4), sentences(5, 3)
    again = filled(model_with(slot, name), there_and_back(model))
    assert torch.equal(hidden(again, source, target), hidden(model, source, target))


@every_part
def test_a_first_step_of_training_makes_the_loss_smaller(slot: str, name: str) -> None:
    model, batch = model_with(slot, name), pair_batch(sentences(6, 4), sentences(5, 3))
    before = model(batch).objective
    before.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 1e-4 * parameter.grad
    assert model(batch).objective < before
