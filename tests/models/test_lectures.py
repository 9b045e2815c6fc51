"""Claims of the lectures, on real models (SPEC 1.5, 1.7, 1.8)."""

from itertools import permutations

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tests.models.tiny import tiny
from weft.data.codecs.subwords import END, PAD
from weft.models.encoder_decoder import EncoderDecoder
from weft.parts.attention import Attention
from weft.parts.call import Call

WORDS = ["Man", "eats", "small", "dinosaur"]
IDS = {word: i for i, word in enumerate(WORDS, start=4)}
ORDERS = list(permutations(range(4)))


def ids(order: tuple[int, ...]) -> Tensor:
    return torch.tensor([[IDS[WORDS[i]] for i in order]])


def commutes(model: EncoderDecoder, order: tuple[int, ...]) -> bool:
    """Is the encoding of the words in another order the encodings of the words, in that order?"""
    plain, shuffled = model.encode(ids((0, 1, 2, 3))).output, model.encode(ids(order)).output
    return torch.allclose(shuffled, plain[:, list(order)], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("order", ORDERS)
def test_self_attention_commutes_with_permutations(order: tuple[int, ...]) -> None:
    attention, x = Attention(6, 2).double(), torch.randn(1, 4, 6, dtype=torch.float64)
    assert_close(attention(x[:, list(order)], Call()), attention(x, Call())[:, list(order)])


@pytest.mark.parametrize("order", ORDERS)
def test_encoder_without_positions_ignores_word_order(order: tuple[int, ...]) -> None:
    assert commutes(tiny(position="none"), order)


@pytest.mark.parametrize("position", ["sinusoid", "concatenated", "learned"])
@pytest.mark.parametrize("order", ORDERS[1:])
def test_encoder_with_positions_sees_word_order(order: tuple[int, ...], position: str) -> None:
    assert not commutes(tiny(position=position, head="linear"), order)


def test_without_positions_all_orders_translate_alike() -> None:
    model, target = tiny(position="none"), torch.tensor([[1, 9, 8]])
    plain = model.decode(target, model.encode(ids((0, 1, 2, 3))))
    for order in ORDERS:
        assert_close(model.decode(target, model.encode(ids(order))), plain)


@pytest.mark.parametrize("position", ["sinusoid", "concatenated", "learned", "none"])
def test_a_masked_decoder_ignores_the_future(position: str) -> None:
    model = tiny(position=position, head="linear")
    memory = model.encode(torch.tensor([[7, 8, END]]))
    hidden = model.decode(torch.tensor([[1, 5, 6, 7]]), memory)
    other = model.decode(torch.tensor([[1, 5, 9, 9]]), memory)
    assert_close(other[:, :2], hidden[:, :2])
    assert not torch.allclose(other[:, 2:], hidden[:, 2:])


@pytest.mark.parametrize("position", ["sinusoid", "concatenated", "learned", "none"])
def test_padding_of_the_source_changes_nothing(position: str) -> None:
    model, target = tiny(position=position, head="linear"), torch.tensor([[1, 5, 6]])
    short, padded = torch.tensor([[7, 8, END]]), torch.tensor([[7, 8, END, PAD, PAD, PAD]])
    assert_close(model.decode(target, model.encode(padded)), model.decode(target, model.encode(short)))
