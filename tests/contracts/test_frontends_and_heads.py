"""Contracts of both ends: embeddings, positions and heads."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.contracts.tiny import B, D, T, V, filled, part, random, there_and_back, without_gradient
from weft.errors import WeftError
from weft.parts.positions import Position
from weft.plans.catalogues import EMBEDDINGS, HEADS, POSITIONS
from weft.plans.part import Part

every_embedding = pytest.mark.parametrize("name", list(EMBEDDINGS))
every_position = pytest.mark.parametrize("name", list(POSITIONS))
every_head = pytest.mark.parametrize("name", [*HEADS, *(Part(name, {"bias": False}) for name in HEADS)], ids=str)


# Embeddings: ids (B, T) → (B, T, D)


@every_embedding
def test_an_embedding_has_the_shape_it_was_asked_for(name: str) -> None:
    embedding = part(EMBEDDINGS, name, V, D)
    assert embedding(torch.randint(V, (B, T))).shape == (B, T, D)
    assert embedding.num_embeddings == V


@every_embedding
def test_every_parameter_of_an_embedding_gets_a_gradient(name: str) -> None:
    embedding = part(EMBEDDINGS, name, V, D)
    embedding(torch.randint(V, (B, T))).sum().backward()
    assert without_gradient(embedding) == []


@every_embedding
def test_a_token_is_embedded_the_same_wherever_it_stands(name: str) -> None:
    embedding = part(EMBEDDINGS, name, V, D)
    assert_close(embedding(torch.tensor([[5, 6], [6, 5]]))[1], embedding(torch.tensor([[6, 5]]))[0])


@every_embedding
def test_an_embedding_goes_there_and_back(name: str) -> None:
    embedding, tokens = part(EMBEDDINGS, name, V, D), torch.randint(V, (B, T))
    again = filled(part(EMBEDDINGS, name, V, D), there_and_back(embedding))
    assert torch.equal(again(tokens), embedding(tokens))


# Positions: (B, T, D - features) → (B, T, D)


def embedded(position: Position) -> torch.Tensor:
    return random(B, T, D - position.features)


@every_position
def test_a_position_gives_the_whole_width(name: str) -> None:
    position = part(POSITIONS, name, D)
    assert position(embedded(position), None).shape == (B, T, D)


@every_position
def test_positions_count_from_zero_unless_told(name: str) -> None:
    position = part(POSITIONS, name, D)
    x = embedded(position)
    assert_close(position(x, torch.arange(T).expand(B, T)), position(x, None))


@every_position
def test_each_row_has_its_own_positions(name: str) -> None:
    position = part(POSITIONS, name, D)
    x, where = embedded(position), torch.randint(20, (B, T))
    whole = position(x, where)
    for b in range(B):
        for t in range(T):
            assert_close(position(x[b : b + 1, t : t + 1], where[b : b + 1, t : t + 1])[0, 0], whole[b, t])


@every_position
def test_the_embeddings_and_every_parameter_of_a_position_get_a_gradient(name: str) -> None:
    position = part(POSITIONS, name, D)
    x = embedded(position).requires_grad_()
    position(x, None).sum().backward()
    assert without_gradient(position) == []
    assert (x.grad != 0).all()


@every_position
def test_a_position_knows_its_limit(name: str) -> None:
    position = part(POSITIONS, name, D)
    length = position.limit or 1000
    position(random(1, length, D - position.features), None)
    if position.limit:
        with pytest.raises(WeftError):
            position(random(1, length + 1, D - position.features), None)


@every_position
def test_a_position_goes_there_and_back(name: str) -> None:
    position = part(POSITIONS, name, D)
    again, x = filled(part(POSITIONS, name, D), there_and_back(position)), embedded(position)
    assert torch.equal(again(x, None), position(x, None))


# Heads: hidden (n, D) → loss, log-probabilities, the best words


def head(name: Part | str) -> nn.Module:
    return part(HEADS, name, nn.Embedding(V, D, dtype=torch.float64), D)


@every_head
def test_log_probs_are_a_distribution(name: Part | str) -> None:
    log_probs = head(name).log_probs(random(B, T, D))
    assert log_probs.shape == (B, T, V)
    assert_close(log_probs.exp().sum(-1), torch.ones(B, T, dtype=torch.float64))


@every_head
def test_the_loss_is_that_of_log_probs(name: Part | str) -> None:
    made, hidden, targets = head(name), random(T, D), torch.randint(V, (T,))
    loss = made.loss(hidden, targets)
    assert loss.count == T
    assert_close(loss.nll, -made.log_probs(hidden).gather(1, targets[:, None]).sum().detach())


@every_head
def test_losses_add_up(name: Part | str) -> None:
    made, hidden, targets = head(name), random(T, D), torch.randint(V, (T,))
    whole, first, rest = (made.loss(hidden[some], targets[some]) for some in (slice(T), slice(2), slice(2, T)))
    assert_close(first.objective + rest.objective, whole.objective)


@every_head
def test_best_is_the_top_of_log_probs(name: Part | str) -> None:
    made, hidden = head(name), random(T, D)
    values, ids = made.best(hidden, 3)
    top = made.log_probs(hidden).topk(3, -1)
    assert_close(values, top.values)
    assert torch.equal(ids, top.indices)


@every_head
def test_hidden_states_and_every_parameter_of_a_head_get_a_gradient(name: Part | str) -> None:
    made, hidden = head(name), random(T, D).requires_grad_()
    made.loss(hidden, torch.randint(V, (T,))).objective.backward()
    assert without_gradient(made) == []
    assert (hidden.grad != 0).all()


@every_head
def test_a_head_goes_there_and_back(name: Part | str) -> None:
    made, hidden = head(name), random(T, D)
    assert torch.equal(filled(head(name), there_and_back(made)).log_probs(hidden), made.log_probs(hidden))
