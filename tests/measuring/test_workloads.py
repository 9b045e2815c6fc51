"""The workloads are what they claim to be, and the measurements are right."""

import time

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from weft.measuring.scaling import counted, family
from weft.measuring.timing import peak_bytes, seconds
from weft.measuring.workloads import Decoding, layer, step, widened
from weft.plans.plan import Plan
from weft.plans.presets import plan


def tiny(name: str = "transformer-tiny") -> Plan:
    return plan(name).with_settings({"width": 16, "vocabulary": 300})


def test_peak_memory_of_two_blocks_then_one() -> None:
    """Two blocks of 4,000 bytes at once, then one of 6,000: what comes after a block was freed does not add up."""

    def run() -> None:
        a = torch.empty(1000)
        b = torch.empty(1000)
        del a, b
        torch.empty(1500)

    assert peak_bytes(run) == 8000


def test_peak_memory_counts_temporaries_inside_an_operation_and_nothing_older() -> None:
    """|x - y| needs x - y, 4,000 bytes, and its result, 4 bytes; x and y were there before."""
    x, y = torch.ones(1000), torch.zeros(1000)
    assert peak_bytes(lambda: torch.dist(x, y)) == 4004


def test_seconds_is_the_fastest_run() -> None:
    counts = iter([3_000_000, 30_000, 3_000_000])
    assert seconds(lambda: sum(range(next(counts, 3_000_000)))) < seconds(lambda: sum(range(1_000_000)))


def test_seconds_ignores_time_without_the_processor() -> None:
    assert seconds(lambda: time.sleep(0.05)) < 0.03


def test_counted_operations_of_a_layer_match_the_textbook() -> None:
    """Forward and back are three products each, of two operations: attention has 4 matrices, and 2 products of t²·k;
    an LSTM 8 matrices; a gated convolution 2 for each place of its window."""
    assert counted(tiny())["layer"] == {"t·k²": 4 * 6, "t²·k": 2 * 6}
    assert counted(tiny("seq2seq-rnn-tiny"))["layer"] == {"t·k²": 8 * 6, "t²·k": 0}
    assert counted(tiny("convs2s-tiny"))["layer"] == {"t·k²": 3 * 2 * 6, "t²·k": 0}


def test_counted_operations_of_a_step_have_t_squared_only_with_attention() -> None:
    """Of the pairs of tokens in each of 4 layers, 3 attentions see all; scores and contexts are one product each."""
    assert counted(tiny())["step"]["t²"] == 4 * 3 * 2 * 6 * 16
    assert counted(tiny("bahdanau-tiny"))["step"]["t²"] == 2 * 6 * 16
    stretched = tiny("bytenet-tiny").with_settings({"encoder.stack.factor": 1.23})
    assert counted(tiny("seq2seq-rnn-tiny"))["step"]["t²"] == counted(stretched)["step"]["t²"] == 0


def test_family_of_a_plan() -> None:
    rows = {
        "transformer-tiny": "Transformer",
        "seq2seq-rnn-tiny": "RNN",
        "bahdanau-tiny": "RNN with attention",
        "luong-tiny": "RNN with attention",
        "gnmt-tiny": "RNN with attention",
        "convs2s-tiny": None,
    }
    assert {name: family(plan(name)) for name in rows} == rows
    assert family(plan("transformer-tiny").with_settings({"decoder.mixer": "lstm"})) is None


def test_cached_bytes_grow_as_the_lectures_say() -> None:
    """A state of an LSTM is two vectors of float32 a layer; attention keeps keys and values of both sentences."""
    assert Decoding(tiny("seq2seq-rnn-tiny"), 6).bytes == Decoding(tiny("seq2seq-rnn-tiny"), 9).bytes == 2 * 2 * 16 * 4
    assert Decoding(tiny(), 6).bytes == 4 * 2 * (5 + 6) * 16 * 4
    windows = 5 * 2 * 16 * 4  # each layer sees two tokens behind it; the keys are the encoder's output itself
    assert Decoding(tiny("convs2s-tiny"), 6).bytes == windows + 2 * 6 * 16 * 4  # and the values have the words too
    assert Decoding(tiny("bahdanau-tiny"), 6).bytes == 16 * 4 + 2 * 6 * 16 * 4  # U h, and h


def test_unfused_attention_memory_is_quadratic_and_fused_is_linear() -> None:
    def most(t: int) -> int:
        workload = layer(tiny(), t)
        workload()
        return peak_bytes(workload)

    fused = most(2048) / most(1024)
    with sdpa_kernel(SDPBackend.MATH):
        clear = most(2048) / most(1024)
    assert fused < 2.1
    assert clear > 3.8


def test_step_changes_all_weights_and_leaves_no_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny().build()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    monkeypatch.setattr(Plan, "build", lambda plan: model)
    step(tiny(), 5)()
    assert not any(torch.equal(old, new) for old, new in zip(before, model.parameters()))
    assert all(parameter.grad is None for parameter in model.parameters()), "a run leaves nothing behind"


def test_last_token_is_the_same_cached_and_recomputed() -> None:
    for name in ("transformer-tiny", "seq2seq-rnn-tiny", "bahdanau-tiny"):
        decoding = Decoding(tiny(name).with_settings({"dropout": 0.0}), 6)
        hidden: list[torch.Tensor] = []
        decoding.model.head.best = lambda h, k, seen=hidden: seen.append(h)
        for run in (decoding.cached, decoding.cached, decoding.recomputed):
            run()
        torch.testing.assert_close(hidden[0], hidden[2], rtol=1e-4, atol=1e-5)
        assert torch.equal(hidden[0], hidden[1]), "a run leaves no trace"


def test_widened_scales_inner_widths() -> None:
    wide = widened(plan("transformer-tiny"), 512)
    assert wide.width == 512
    assert wide.encoder.feed_forward.options["hidden"] == 1024
    assert wide.decoder.mixer.options["heads"] == 4
    parts = sum(p.numel() for p in widened(plan("bytenet-tiny"), 32).build().parameters())
    assert parts < 1_000_000
