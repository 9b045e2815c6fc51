"""Where a model begins."""

import math

import torch
from torch import nn
from torch.testing import assert_close

from weft.parts.frontend import Frontend, ScaledEmbedding
from weft.parts.positions import NoPosition, Sinusoid, sinusoids


def test_embeddings_are_scaled_by_the_root_of_the_width() -> None:
    embedding = ScaledEmbedding(5, 6)
    assert_close(embedding(torch.tensor([[3, 0]])), math.sqrt(6) * embedding.weight[[3, 0]][None])


def test_an_entrance_adds_positions_to_embeddings() -> None:
    embedding = nn.Embedding(5, 4)
    entrance = Frontend(embedding, Sinusoid(4))
    assert_close(entrance(torch.tensor([[3, 3]])), embedding.weight[[3, 3]][None] + sinusoids(2, 4))


def test_an_entrance_takes_positions_by_row() -> None:
    embedding = nn.Embedding(5, 4)
    entrance = Frontend(embedding, Sinusoid(4))
    found = entrance(torch.tensor([[3], [3]]), torch.tensor([[7], [0]]))
    assert_close(found[:, 0], embedding.weight[3] + sinusoids(8, 4)[[7, 0]])


def test_dropout_stands_on_the_embedding_sum() -> None:
    entrance = Frontend(nn.Embedding(5, 200), Sinusoid(200), dropout=0.5)
    tokens = torch.tensor([[1, 2]])
    dropped = entrance(tokens)
    whole = entrance.eval()(tokens)
    kept = dropped != 0
    assert 0.4 < kept.float().mean() < 0.6
    assert_close(dropped[kept], 2 * whole[kept])


def test_no_dropout_unless_told() -> None:
    entrance = Frontend(nn.Embedding(5, 4), NoPosition())
    tokens = torch.tensor([[1, 2]])
    assert torch.equal(entrance(tokens), entrance.embedding(tokens))
