"""Decoders of their own kind, each against a loop that is written straight from its paper, one sentence at a time."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.parts.watchers import Looking, Silencing
from weft.parts.call import Call, Memory, State
from weft.parts.context_attention import Additive, ContextAttention, Dot, General
from weft.parts.convolution import GatedConvolution
from weft.parts.decoders import (
    AttentiveRecurrence,
    BahdanauDecoder,
    ByteNetDecoder,
    ConvS2SDecoder,
    ConvS2SLayer,
    FedLayer,
    FromColumn,
    FromEncoderState,
    FromLayer,
    GNMTDecoder,
    InputFeeding,
)
from weft.parts.layers import Add, Layer, NoResidual, PostNorm, PreNorm, ScaledAdd, Sublayer
from weft.parts.recurrent import GRU, LSTM, Cell, Forward

B, T, S, D = 2, 4, 3, 6
KEEP = torch.tensor([[True, True, True], [True, True, False]])
X, MEMORY = torch.randn(B, T, D), Memory(torch.randn(B, S, D), KEEP, torch.randn(B, S, D))
PLAIN = Memory(MEMORY.output, KEEP)
ENDED = Memory(MEMORY.output, KEEP, final=torch.randn(B, 2, 2 * D))  # two layers of LSTM
Make = Callable[[], nn.Module]
ByHand = Callable[..., Tensor]


def bare() -> PostNorm:
    return PostNorm(nn.Identity(), 0.0, NoResidual())


def recurrence(make: type[Cell] = GRU) -> AttentiveRecurrence:
    cell = make(2 * D, D)
    return AttentiveRecurrence(cell, ContextAttention(Additive(D, 5)), FromColumn(D, cell))


def real(memory: Memory, b: int) -> Tensor:
    return memory.output[b][memory.keep[b]]


def additive(look: ContextAttention, s: Tensor, h: Tensor) -> Tensor:
    """Σ_j α_j h_j, α = softmax(v · tanh(W s + U h_j))"""
    score = look.score
    e = torch.stack([score.out.weight[0] @ (score.query.weight @ s + score.key(h_j)).tanh() for h_j in h])
    return e.softmax(0) @ h


def lstm(cell: LSTM, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    W, U, b = cell.rnn.weight_ih_l0, cell.rnn.weight_hh_l0, cell.rnn.bias_ih_l0 + cell.rnn.bias_hh_l0
    i, f, g, o = (W @ x + U @ h + b).chunk(4)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


# Bahdanau


def bahdanau_by_hand(decoder: BahdanauDecoder, x: Tensor, h: Tensor) -> Tensor:
    """Appendix A.2.2, with the reset gate where torch has it."""
    rnn = decoder.recurrence.cell.rnn
    W_r, W_z, W = rnn.weight_ih_l0.chunk(3)
    U_r, U_z, U = rnn.weight_hh_l0.chunk(3)
    b_r, b_z, b = rnn.bias_ih_l0.chunk(3)
    d_r, d_z, d = rnn.bias_hh_l0.chunk(3)
    s = decoder.recurrence.start.linear(h[0]).tanh()
    made = []
    for y in x:
        c = additive(decoder.recurrence.attention, s, h)
        yc = torch.cat((y, c))
        r = (W_r @ yc + b_r + U_r @ s + d_r).sigmoid()
        z = (W_z @ yc + b_z + U_z @ s + d_z).sigmoid()
        proposed = (W @ yc + b + r * (U @ s + d)).tanh()
        s = (1 - z) * proposed + z * s
        t = decoder.readout(torch.cat((s, y, c)))
        made.append(torch.stack([torch.maximum(t[2 * j], t[2 * j + 1]) for j in range(D)]))
    return torch.stack(made)


def test_attention_before_each_step_is_bahdanaus() -> None:
    decoder = BahdanauDecoder(D, recurrence(), 0.0)
    found = decoder(X, Call(memory=PLAIN))
    for b in range(B):
        assert_close(found[b], bahdanau_by_hand(decoder, X[b], real(PLAIN, b)))


# Luong


def luong_by_hand(decoder: InputFeeding, x: Tensor, h: Tensor, final: Tensor) -> Tensor:
    bottom, above = decoder.bottom, decoder.above.layers[0].mix.body.cell
    (h1, c1), (h2, c2) = (state.chunk(2) for state in final)
    fed, made = torch.zeros(D), []
    for y in x:
        h1, c1 = lstm(bottom, torch.cat((y, fed)), h1, c1)
        h2, c2 = lstm(above, h1, h2, c2)
        a = (h @ (decoder.attention.score.key.weight.T @ h2)).softmax(0)  # h₂ · W h_j for each j
        fed = decoder.join(torch.cat((a @ h, h2))).tanh()
        made.append(fed)
    return torch.stack(made)


def input_feeding(layers: int = 2) -> InputFeeding:
    bottom, cells = LSTM(2 * D, D), [LSTM(D, D) for _ in range(layers - 1)]
    start, *starts = (FromLayer(i) for i in range(layers))
    above = FromEncoderState([Layer({"mix": Sublayer(bare(), Forward(cell))}) for cell in cells], nn.Identity(), starts)
    return InputFeeding(bottom, start, above, ContextAttention(General(D)), 0.0)


def test_attention_after_each_step_is_luongs() -> None:
    decoder = input_feeding()
    found = decoder(X, Call(memory=ENDED))
    for b in range(B):
        assert_close(found[b], luong_by_hand(decoder, X[b], real(ENDED, b), ENDED.final[b]))


# GNMT


def gnmt_by_hand(decoder: GNMTDecoder, x: Tensor, h: Tensor) -> Tensor:
    """Three layers; the third one is residual."""
    cells = [decoder.bottom.cell, *(layer.cell for layer in decoder.layers)]
    starts = [decoder.bottom.start, *(layer.start for layer in decoder.layers)]
    (y1, c1), (y2, c2), (y3, c3) = (start.linear(h[0]).tanh().chunk(2) for start in starts)
    made = []
    for y in x:
        a = additive(decoder.bottom.attention, y1, h)  # with what the bottom layer said the last time
        y1, c1 = lstm(cells[0], torch.cat((y, a)), y1, c1)
        y2, c2 = lstm(cells[1], torch.cat((y1, a)), y2, c2)
        y3, c3 = lstm(cells[2], torch.cat((y2, a)), y3, c3)
        made.append(y2 + y3)
    return torch.stack(made)


def attend_below() -> GNMTDecoder:
    cells = [LSTM(2 * D, D), LSTM(2 * D, D)]
    wirings = [bare(), PostNorm(nn.Identity(), 0.0, Add())]
    layers = [FedLayer(cell, FromColumn(D, cell), wiring) for cell, wiring in zip(cells, wirings)]
    return GNMTDecoder(recurrence(LSTM), layers, nn.Identity(), 0.0)


def test_attention_in_the_bottom_layer_is_gnmts() -> None:
    decoder = attend_below()
    found = decoder(X, Call(memory=PLAIN))
    for b in range(B):
        assert_close(found[b], gnmt_by_hand(decoder, X[b], real(PLAIN, b)))


# Dropout: on what a layer gives the next one, and on what the decoder gives the head


class Doubling(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * x


def test_attention_before_each_step_drops_what_it_gives() -> None:
    decoder = BahdanauDecoder(D, recurrence(), 0.5)
    whole = decoder.eval()(X, Call(memory=PLAIN))
    dropped = decoder.train()(X, Call(memory=PLAIN))
    assert_close(dropped, torch.where(dropped == 0.0, 0.0, 2 * whole))
    assert 0 < (dropped == 0.0).sum() < dropped.numel()


def test_gnmt_applies_dropout_between_the_bottom_layer_and_the_next() -> None:
    decoder = attend_below()
    seen = decoder.bottom(X, Call(memory=PLAIN, state=State()))[0]
    decoder.layers, decoder.dropout = nn.ModuleList(), Doubling()
    assert_close(decoder(X, Call(memory=PLAIN)), 2 * seen)


def test_input_feeding_applies_dropout_to_outputs_but_not_to_what_is_fed_back() -> None:
    decoder = input_feeding(layers=1)
    decoder.above, decoder.dropout = Nothing(), Doubling()
    found = decoder(X, Call(memory=ENDED))
    for b in range(B):
        h = real(ENDED, b)
        state, cell = ENDED.final[b, 0].chunk(2)
        fed = torch.zeros(D)
        for t, y in enumerate(X[b]):
            state, cell = lstm(decoder.bottom, torch.cat((y, fed)), state, cell)
            a = (h @ (decoder.attention.score.key.weight.T @ (2 * state))).softmax(0)
            fed = decoder.join(torch.cat((a @ h, 2 * state))).tanh()
            assert_close(found[b, t], 2 * fed)


# ConvS2S


def attend_everywhere() -> ConvS2SDecoder:
    def layer() -> ConvS2SLayer:
        wirings = [PreNorm(nn.Identity(), 0.0, ScaledAdd()) for _ in range(2)]
        return ConvS2SLayer(
            D, Sublayer(wirings[0], GatedConvolution(D, 3, 1, True)), ContextAttention(Dot()), wirings[1]
        )

    return ConvS2SDecoder([layer(), layer()], nn.Identity())


def convs2s_by_hand(decoder: ConvS2SDecoder, x: Tensor, z: Tensor, e: Tensor) -> Tensor:
    """Sections 3.2 to 3.4, in loops over the target."""
    h = x
    for layer in decoder.layers:
        kernel, bias = layer.mix.body.convolution.kernel.weight, layer.mix.body.convolution.kernel.bias
        before = torch.cat((torch.zeros(2, D), h))  # two zeros before the first, then kernel 3
        made = []
        for t in range(len(x)):
            value, gate = (bias + sum(kernel[:, :, k] @ before[t + k] for k in range(3))).chunk(2)
            state = (h[t] + value * gate.sigmoid()) * math.sqrt(0.5)
            d = layer.query(state) + x[t]  # d_i = W h_i + b + g_i
            c = (z @ d).softmax(0) @ (z + e)  # c_i = Σ a_ij (z_j + e_j)
            made.append((state + layer.out(math.sqrt(len(z)) * c)) * math.sqrt(0.5))
        h = torch.stack(made)
    return h


def test_attention_in_every_layer_is_that_of_convs2s() -> None:
    decoder = attend_everywhere()
    found = decoder(X, Call(memory=MEMORY))
    for b in range(B):
        assert_close(found[b], convs2s_by_hand(decoder, X[b], real(MEMORY, b), MEMORY.embedded[b][KEEP[b]]))


# ByteNet


class Nothing(nn.Module):
    def forward(self, x: Tensor, call: Call) -> Tensor:
        return x


def test_position_t_reads_column_t() -> None:
    """And on zeros where the encoder has no more columns."""
    decoder = ByteNetDecoder(D, [Nothing()], nn.Identity())
    found = decoder(X, Call(memory=PLAIN))
    for b in range(B):
        for t in range(T):
            column = PLAIN.output[b, t] if t < S and KEEP[b, t] else torch.zeros(D)
            assert_close(found[b, t], decoder.join(torch.cat((X[b, t], column))))


# Sutskever


def continuing() -> FromEncoderState:
    cells = [LSTM(D, D), LSTM(D, D)]
    layers = [Layer({"mix": Sublayer(bare(), Forward(cell))}) for cell in cells]
    return FromEncoderState(layers, nn.Identity(), [FromLayer(0), FromLayer(1)])


def test_from_encoder_state_is_torchs_lstm_started_from_the_final_state() -> None:
    decoder = continuing()
    theirs = nn.LSTM(D, D, num_layers=2, batch_first=True)
    cells = [layer.mix.body.cell.rnn for layer in decoder.layers]
    theirs.load_state_dict(
        {
            name.replace("l0", f"l{i}"): value
            for i, cell in enumerate(cells)
            for name, value in cell.state_dict().items()
        }
    )
    h, c = (half.transpose(0, 1).contiguous() for half in ENDED.final.chunk(2, -1))  # (layers, B, D) each
    assert_close(decoder(X, Call(memory=ENDED)), theirs(X, (h, c))[0])


def test_from_encoder_state_sees_nothing_else_of_the_source() -> None:
    decoder, other = continuing(), replace(ENDED, output=torch.randn(B, S, D))
    assert_close(decoder(X, Call(memory=other)), decoder(X, Call(memory=ENDED)))


# All of them


@pytest.mark.parametrize(
    ("make", "by_hand", "final"),
    [
        (lambda: BahdanauDecoder(D, recurrence(), 0.0), bahdanau_by_hand, False),
        (input_feeding, luong_by_hand, True),
        (attend_below, gnmt_by_hand, False),
    ],
    ids=["bahdanau", "luong", "gnmt"],
)
def test_the_gradients_of_a_loop_are_those_of_the_loop_by_hand(make: Make, by_hand: ByHand, final: bool) -> None:
    """Nothing is cut off on the way through the state."""
    decoder, gradients = make(), []
    theirs = torch.stack([by_hand(decoder, X[b], real(ENDED, b), *[ENDED.final[b]] * final) for b in range(B)])
    for hidden in (decoder(X, Call(memory=ENDED)), theirs):
        decoder.zero_grad()
        hidden.square().sum().backward()
        gradients.append({name: parameter.grad for name, parameter in decoder.named_parameters()})
    assert_close(gradients[0], gradients[1])


MAKERS = {
    "bahdanau": lambda: BahdanauDecoder(D, recurrence(), 0.0),
    "gnmt": attend_below,
    "input-feeding": input_feeding,
    "input-feeding with one layer": lambda: input_feeding(1),
}
every_loop = pytest.mark.parametrize("make", list(MAKERS.values()), ids=list(MAKERS))


@every_loop
def test_a_watcher_sees_all_steps_at_once(make: Make) -> None:
    decoder, watch = make(), Looking()
    watched = decoder(X, Call(memory=ENDED, watch=watch, place="decoder"))
    weights = watch.seen["decoder.0.cross", "weights"]
    assert weights.shape == (B, 1, T, S)
    assert_close(weights.sum(-1), torch.ones(B, 1, T))
    assert not weights[1, :, :, 2].any(), "nothing looks at padding"
    assert torch.equal(watched, decoder(X, Call(memory=ENDED)))


@every_loop
def test_a_watcher_sees_each_step_of_a_run(make: Make) -> None:
    decoder, watch, state, whole = make(), Looking(), State(), Looking()
    weights = "decoder.0.cross", "weights"
    decoder(X, Call(memory=ENDED, watch=whole, place="decoder"))
    for t in range(T):
        decoder(X[:, t : t + 1], Call(memory=ENDED, watch=watch, state=state, place="decoder"))
        assert_close(watch.seen[weights], whole.seen[weights][:, :, t : t + 1])


@every_loop
def test_what_a_watcher_changes_is_changed_on_the_way(make: Make) -> None:
    """With its only head silenced, a decoder does not see the source but for where it starts."""
    decoder, other = make(), PLAIN.output.clone()
    other[:, 1:] = torch.randn(B, S - 1, D)
    memories = ENDED, replace(ENDED, output=other)
    silenced = [decoder(X, Call(memory=memory, watch=Silencing(0))) for memory in memories]
    assert_close(silenced[0], silenced[1])
    assert not torch.allclose(silenced[0], decoder(X, Call(memory=ENDED)))


def test_decoding_without_a_state_leaves_nothing_behind() -> None:
    """Two calls without a state are the same call."""
    decoder = BahdanauDecoder(D, recurrence(), 0.0)
    assert torch.equal(decoder(X, Call(memory=PLAIN)), decoder(X, Call(memory=PLAIN)))
