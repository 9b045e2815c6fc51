"""The longest path between two tokens, counted by hand."""

from weft.parts.attention import Attention
from weft.parts.context_attention import ContextAttention, Dot
from weft.parts.convolution import GatedConvolution
from weft.parts.mixer import path_across, path_length
from weft.parts.recurrent import GRU, Forward


def test_attention_is_one_step_and_a_recurrence_as_many_as_there_are_tokens() -> None:
    assert path_length([Attention(4, 2)] * 6, 1024) == 1
    assert path_length([Forward(GRU(4, 4))], 1024) == 1024


def test_a_window_takes_more_layers_the_longer_the_sentence() -> None:
    """In the middle of a window of 5 one sees 2 to each side: 1,023 positions are 512 layers."""
    assert path_length([GatedConvolution(4, 5, 1, is_causal=False)], 1024) == 512
    assert path_length([GatedConvolution(4, 5, 1, is_causal=True)], 1024) == 256


def test_dilations_that_double_reach_a_thousand_tokens_in_ten_layers() -> None:
    layers = [GatedConvolution(4, 2, 2**i, is_causal=True) for i in range(10)]
    assert path_length(layers, 1024) == 10
    assert path_length(layers, 1025) == 11, "the same layers come again"


def test_path_length_of_one_token_and_of_a_window_of_one() -> None:
    alone = [GatedConvolution(4, 1, 1, is_causal=True)]
    assert path_length(alone, 1) == 0
    assert path_length(alone, 2) is None


def test_layers_of_several_kinds_add_up() -> None:
    layers = [GatedConvolution(4, 3, 1, is_causal=False), Forward(GRU(4, 4))]
    assert path_length(layers, 8) == 1 + 8


def test_a_decoder_that_looks_is_one_step_from_all_of_the_source() -> None:
    """Else the way leads through both recurrences: the last word that is read, and the last that is written."""
    recurrence = [Forward(GRU(4, 4))]
    assert path_across(recurrence, [ContextAttention(Dot())], recurrence, 1024) == 1
    assert path_across(recurrence, [], recurrence, 1024) == 2048
    assert path_across(recurrence, [], [], 1024) == 1024  # a column for each position is where the way ends
    assert path_across([GatedConvolution(4, 1, 1, is_causal=False)], [], recurrence, 1024) is None
