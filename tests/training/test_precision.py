"""Training in bfloat16: only products are; the faster precision is chosen by measurement, and kept."""

from pathlib import Path

import pytest
import torch

from tests.precision import needs
from tests.training.tiny import are_equal, tiny_run, tiny_trainer, weights_of
from weft.errors import WeftError
from weft.folder import Folder
from weft.parts.heads import SoftmaxHead
from weft.training import precision
from weft.training.precision import chosen_precision, computing
from weft.training.run import check_precision
from weft.weights import read_weights

CPU = torch.device("cpu")


def heads_gradients(low: bool, smoothing: float) -> list[torch.Tensor]:
    torch.manual_seed(0)
    head = SoftmaxHead(torch.nn.Embedding(300, 32), smoothing)
    hidden, targets = torch.randn(600, 32, requires_grad=True), torch.randint(0, 300, (600,))
    with computing(CPU, "bfloat16" if low else "float32"):
        loss = head.loss(hidden, targets)
    loss.objective.backward()
    return [loss.objective.detach(), loss.nll, hidden.grad, head.words.weight.grad, head.bias.grad]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_in_bfloat16_is_that_of_float32_up_to_rounding(smoothing: float) -> None:
    needs("bfloat16")
    for full, low in zip(heads_gradients(False, smoothing), heads_gradients(True, smoothing)):
        assert low.dtype == torch.float32
        assert 0 < (full - low).norm() < 0.01 * full.norm()  # bfloat16 has 8 bits


def test_weights_gradients_and_moments_stay_in_float32(tmp_path: Path) -> None:
    needs("bfloat16")
    job = tiny_trainer(tiny_run(tmp_path / "run", steps=4, precision="bfloat16"))
    job.precision = "bfloat16"
    job.train()
    state = [value for moments in job.optimiser.state.values() for value in moments.values()]
    assert {p.dtype for p in job.model.parameters()} == {value.dtype for value in state} == {torch.float32}


def test_training_in_bfloat16_resumes_to_the_last_bit(tmp_path: Path) -> None:
    needs("bfloat16")
    ends = []
    for name in ("whole", "stopped"):
        folder = tiny_run(tmp_path / name, steps=6, validate_every=3, dropout=0.2)
        job = tiny_trainer(folder)
        job.precision = "bfloat16"
        if name == "stopped":
            job.options = type(job.options)(**{**vars(job.options), "steps": 3})
            job.train()
            job = tiny_trainer(folder)
            job.resume()
            job.precision = "bfloat16"
        job.train()
        ends.append(read_weights(folder.weights()))
    assert are_equal(*ends)


@pytest.mark.parametrize(("slower", "expected"), [("float32", "bfloat16"), ("bfloat16", "float32")])
def test_auto_takes_the_faster_precision_and_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slower: str, expected: str
) -> None:
    needs("bfloat16")
    folder, told = tiny_run(tmp_path / "run", steps=precision.WORTH), list[str]()
    job = tiny_trainer(folder)
    weights, draws = weights_of(job.model), torch.get_rng_state()
    monkeypatch.setattr(precision, "_seconds", lambda step: step() and 2.0 if job.precision == slower else 1.0)
    assert chosen_precision(job, folder, told.append) == expected
    assert told == [
        f"computing in {expected}: with bfloat16 a step is {2.0 if slower == 'float32' else 0.5:.2f} times "
        "as fast as with float32"
    ]
    assert are_equal(weights, weights_of(job.model))
    assert draws.equal(torch.get_rng_state())
    assert all(p.grad is None for p in job.model.parameters())
    assert folder.about()["precision"] == expected
    monkeypatch.setattr(precision, "_seconds", lambda step: pytest.fail("measured again"))
    assert chosen_precision(tiny_trainer(folder), folder, told.append) == expected


def test_a_short_training_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_run(tmp_path / "run", steps=precision.WORTH - 1)
    monkeypatch.setattr(precision, "_seconds", lambda step: pytest.fail("measured"))
    assert chosen_precision(tiny_trainer(folder), folder, pytest.fail) == "float32"


def test_a_machine_without_bfloat16(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "may_use", lambda name: False)
    folder: Folder = tiny_run(tmp_path / "run", steps=precision.WORTH)
    assert chosen_precision(tiny_trainer(folder), folder, pytest.fail) == "float32"
    with pytest.raises(WeftError, match="needs bfloat16, which this machine does not support"):
        check_precision(folder.plan().with_settings(["precision=bfloat16"]), CPU)
