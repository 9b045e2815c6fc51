"""The loop: one step is the formula, early stopping, averages, and a task that is learned."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tests.training.tiny import (
    Scripted,
    Told,
    are_equal,
    reversed_letters,
    tiny_plan,
    tiny_run,
    tiny_trainer,
    weights_of,
)
from weft.data.codecs.subwords import PAD, START
from weft.errors import WeftError
from weft.models.base import IGNORED, Batch
from weft.models.encoder_decoder import EncoderDecoder
from weft.parts.heads import Loss
from weft.training import checkpoint, precision
from weft.training.loop import Trainer
from weft.training.run import begin
from weft.weights import parameters, read_weights

ONE_STEP = {"dropout": 0.0, "steps": 1, "epsilon": 0.001, "schedule": "constant", "average_of": 1}


def clear_gradient(model: EncoderDecoder, batches: list[Batch], smoothing: float) -> list[Tensor]:
    """Of the smoothed cross-entropy, divided by all tokens of all batches, the way PyTorch says it."""
    total, tokens = torch.zeros(()), 0
    for batch in batches:
        target = batch.targets.masked_fill(batch.targets == IGNORED, PAD)
        shifted = torch.cat((torch.full_like(target[:, :1], START), target[:, :-1]), 1)
        logits = model.head.logits(model.decode(shifted, model.encode(batch.inputs["source"])))
        total = total + F.cross_entropy(
            logits.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=smoothing, reduction="sum"
        )
        tokens += int((target != PAD).sum())
    return list(torch.autograd.grad(total / tokens, list(model.parameters())))


def trained_one_step(job: Trainer) -> list[Tensor]:
    job.validate = Scripted()
    job.train()
    return [parameter.detach() for parameter in job.model.parameters()]


@pytest.mark.parametrize("clip", [0.0, 0.1])
def test_first_step_matches_adam_formula(tmp_path: Path, clip: float) -> None:
    """Adam's first step from zero moments: w - rate · g / (|g| + ε), g clipped to its largest norm."""
    told = Told()
    job = tiny_trainer(tiny_run(tmp_path, **ONE_STEP, clip=clip, rate=0.01), told)
    (batch, *_) = job.batches.epoch(0)
    gradient = clear_gradient(job.model, [batch], smoothing=0.1)
    norm = torch.stack([g.norm() for g in gradient]).norm()
    assert norm > 0.1
    scale = 0.1 / norm if clip else 1.0
    before = list(weights_of(job.model).values())
    expected = [w - 0.01 * g * scale / ((g * scale).abs() + 0.001) for w, g in zip(before, gradient)]
    torch.testing.assert_close(trained_one_step(job), expected, atol=1e-5, rtol=0)
    assert told.steps[1]["gradient"] == pytest.approx(norm.item(), rel=1e-4)
    assert told.steps[1]["tokens"] == int((batch.targets != IGNORED).sum())


def test_accumulated_batches_give_the_gradient_of_one_batch(tmp_path: Path) -> None:
    """Halves with unequally many tokens: what counts is the token, not the batch."""
    pairs = [("a", "b")] * 4 + [("a b c d a b", "b a d c b a")] * 4
    steps = []
    for budget, accumulate in ((1000, 1), (28, 2)):
        plan = tiny_plan(**ONE_STEP, batch_tokens=budget, accumulate=accumulate)
        job = tiny_trainer(begin(plan, pairs, pairs, tmp_path / str(budget)))
        assert len(list(job.batches.epoch(0))) == accumulate
        steps.append(trained_one_step(job))
    torch.testing.assert_close(steps[0], steps[1], atol=1e-6, rtol=0)


def test_rate_follows_the_schedule(tmp_path: Path) -> None:
    told = Told()
    job = tiny_trainer(tiny_run(tmp_path, rate=0.01, schedule={"name": "constant", "warmup": 4}, steps=6), told)
    job.validate = Scripted()
    job.train()
    rates = [metrics["rate"] for metrics in told.steps.values()]
    assert rates == pytest.approx([0.0025, 0.005, 0.0075, 0.01, 0.01, 0.01])
    assert told.is_closed


def test_each_epoch_uses_every_batch_once(tmp_path: Path) -> None:
    """Six batches, four at a time: the last step of an epoch makes do with two."""
    told = Told()
    job = tiny_trainer(tiny_run(tmp_path, steps=5, accumulate=4), told)
    job.validate = Scripted()
    assert len(list(job.batches.epoch(0))) == 6
    job.train()
    assert [metrics["epoch"] for metrics in told.steps.values()] == [0, 0, 1, 1, 2]
    whole = sum(int((batch.targets != IGNORED).sum()) for batch in job.batches.epoch(0))
    assert told.steps[1]["tokens"] + told.steps[2]["tokens"] == whole


def test_validates_every_n_steps_and_at_the_end(tmp_path: Path) -> None:
    told = Told()
    job = tiny_trainer(tiny_run(tmp_path, steps=8, validate_every=3), told)
    job.validate = Scripted()
    job.train()
    assert list(told.validations) == [3, 6, 8]


def test_last_step_is_validated_once(tmp_path: Path) -> None:
    told, scripted = Told(), Scripted()
    job = tiny_trainer(tiny_run(tmp_path, steps=6, validate_every=3), told)
    job.validate = scripted
    job.train()
    assert list(told.validations) == [3, 6]
    assert len(scripted.shown) == 3, "and once more for the average"


@pytest.mark.parametrize(
    ("best_by", "scores", "stops_at"),
    [
        ("loss", [3.0, 2.0, 2.5, 2.1, 1.0], 4),
        ("loss", [3.0, 2.0, 2.5, 1.9, 2.2, 2.0, 1.0], 6),
        ("bleu", [3.0, 2.0, 2.5, 9.0], 3),
        ("loss", [2.0, 2.0, 2.0], 3),
    ],
)
def test_training_stops_when_patience_ends(tmp_path: Path, best_by: str, scores: list[float], stops_at: int) -> None:
    """With a patience of two: the second validation in a row that is not better than the best is the last."""
    told = Told()
    job = tiny_trainer(tiny_run(tmp_path, steps=50, validate_every=1, patience=2, best_by=best_by), told)
    job.validate = Scripted(*({"loss": score, "bleu": score} for score in scores))
    job.train()
    assert list(told.validations) == list(range(1, stops_at + 1))


def test_lower_loss_breaks_ties_in_bleu(tmp_path: Path) -> None:
    """At the beginning BLEU is 0.0 for long. Step 3 is the best, 4 and 5 are no better, and of equals the later."""
    script = [(4.0, 0.0), (3.0, 0.0), (2.0, 0.0), (2.0, 0.0), (2.5, 0.0), (1.0, 9.0)]  # loss, BLEU
    job = tiny_trainer(tiny_run(tmp_path, steps=50, validate_every=1, patience=2))
    job.validate = Scripted(*({"loss": loss, "bleu": bleu} for loss, bleu in script))
    job.train()
    assert job._by_goodness() == [4, 3, 5, 2, 1]
    assert job.remarks == ["stopped early after step 5: no improvement in BLEU for 2 validations; best at step 3"]


@pytest.mark.parametrize(
    ("average", "best_by", "wanted"), [("last", "bleu", [4, 5]), ("best", "bleu", [2, 4]), ("best", "loss", [1, 3])]
)
def test_final_model_averages_last_or_best_checkpoints(
    tmp_path: Path, average: str, best_by: str, wanted: list[int]
) -> None:
    script = [(1.0, 10.0), (3.0, 30.0), (2.0, 20.0), (5.0, 40.0), (4.0, 1.0)]  # loss, BLEU
    scripted = Scripted(*({"loss": loss, "bleu": bleu} for loss, bleu in script))
    folder = tiny_run(tmp_path, steps=5, validate_every=1, average=average, best_by=best_by, average_of=2)
    job = tiny_trainer(folder)
    job.validate = scripted
    job.train()
    found = read_weights(folder.weights())
    for name, value in found.items():
        mean = sum(scripted.shown[step - 1][name] for step in wanted) / 2
        torch.testing.assert_close(value, mean, atol=1e-7, rtol=1e-6)
    assert all(parameter.equal(found[name]) for name, parameter in parameters(job.model).items())


def test_unneeded_checkpoints_are_pruned(tmp_path: Path) -> None:
    """Kept: the one that is averaged, the best (step 2) and the two newest, which alone have their optimisers."""
    scores = [1.0, 9.0, 2.0, 3.0, 4.0, 5.0]
    folder = tiny_run(tmp_path, steps=6, validate_every=1, average="last", average_of=1)
    job = tiny_trainer(folder)
    job.validate = Scripted(*({"loss": 1.0, "bleu": score} for score in scores))
    job.train()
    assert sorted(p.name for p in folder.checkpoints.iterdir()) == ["step-00000002", "step-00000005", "step-00000006"]
    optimisers = sorted(file.parent.name for file in folder.checkpoints.glob("*/optimiser.safetensors"))
    assert optimisers == ["step-00000005", "step-00000006"]


def test_empty_corpus_is_refused(tmp_path: Path) -> None:
    job = tiny_trainer(tiny_run(tmp_path))
    job.batches = replace(job.batches, batching=lambda rows, budget, random: [])
    with pytest.raises(WeftError, match="nothing to train on: the data does not fill a batch"):
        job.train()


@pytest.mark.parametrize(("accumulate", "batches"), [(1, "batch 3"), (2, "batches 5 to 6")])
def test_nan_loss_names_step_and_batch(tmp_path: Path, accumulate: int, batches: str) -> None:
    """Step, batch and the last good checkpoint; the weights have not moved."""
    folder = tiny_run(tmp_path, rate=0.001, validate_every=2, accumulate=accumulate, batch_tokens=40)
    job, shown = tiny_trainer(folder), Scripted()
    job.validate = shown
    (*_, spoiled) = zip(range(3 * accumulate), job.batches.epoch(0))
    forward = job.model.forward

    def poisoned(batch: Batch) -> Loss:
        loss = forward(batch)
        return (
            replace(loss, objective=loss.objective * math.nan)
            if batch.inputs["source"].equal(spoiled[1].inputs["source"])
            else loss
        )

    job.model.forward = poisoned  # type: ignore[method-assign]
    with pytest.raises(WeftError) as caught:
        job.train()
    assert str(caught.value) == (
        f"training diverged: loss is nan at step 3 (epoch 0, {batches}). The last good checkpoint is "
        f"{folder.checkpoints}/step-00000002. Try a lower rate, a longer warmup or a smaller clip; "
        "--resume takes --set too."
    )
    assert are_equal(weights_of(job.model), shown.shown[0])


def test_nan_gradient_names_step_and_batch(tmp_path: Path) -> None:
    job = tiny_trainer(tiny_run(tmp_path))
    next(iter(job.model.parameters())).register_hook(lambda gradient: gradient * math.inf)
    with pytest.raises(
        WeftError, match=r"training diverged: gradient is (nan|inf) at step 1 \(epoch 0, batch 1\).* no checkpoint yet"
    ):
        job.train()


def test_nan_validation_loss_saves_no_checkpoint(tmp_path: Path) -> None:
    """A rate of 1e30: the first step is a step, and what it made is seen when it is validated."""
    folder = tiny_run(tmp_path, rate=1e30, schedule="constant", validate_every=1)
    with pytest.raises(WeftError, match=r"training diverged: validation loss is (nan|inf) after step 1\."):
        tiny_trainer(folder).train()
    assert checkpoint.newest(folder) is None


def test_a_small_model_learns_to_reverse(tmp_path: Path) -> None:
    plan = tiny_plan(
        **{"width": 32, "layers": 2, "feed_forward.hidden": 64, "wiring": "pre", "dropout": 0.0, "head.smoothing": 0.0},
        steps=300,
        batch_tokens=500,
        schedule={"name": "cosine", "warmup": 40},
        validate_every=300,
        average_of=1,
    )
    unseen = reversed_letters(20, seed=2)
    scores = tiny_trainer(begin(plan, reversed_letters(1500), unseen, tmp_path)).train()
    assert scores["loss"] < 0.1
    assert scores["bleu"] > 90


def test_running_mean_by_hand(tmp_path: Path) -> None:
    """mean ← d · mean + (1 - d) · weights, d = min(ema, (1 + step) / (10 + step)): validated, saved and shipped."""
    folder = tiny_run(tmp_path, steps=4, validate_every=2, ema=0.3, average_of=5)
    job, shown = tiny_trainer(folder), Scripted()
    means = [weights_of(job.model)]
    move = job.optimiser.step

    def watched() -> None:
        move()
        step, now = len(means), weights_of(job.model)
        decay = min(0.3, (1 + step) / (10 + step))
        means.append({name: decay * mean + (1 - decay) * now[name] for name, mean in means[-1].items()})

    job.optimiser.step = watched  # type: ignore[method-assign]
    job.validate = shown
    job.train()
    assert job.remarks == []
    for seen, mean in zip(shown.shown, (means[2], means[4], means[4]), strict=True):
        torch.testing.assert_close(seen, mean)
    for step in (2, 4):
        saved = read_weights(checkpoint.path_of(folder.checkpoints, step) / "model.safetensors")
        torch.testing.assert_close(saved, means[step])
    assert are_equal(read_weights(folder.average), shown.shown[1]), "the newest mean alone"


def test_validation_of_a_running_mean_leaves_the_model_alone(tmp_path: Path) -> None:
    ends = []
    for ema in (0.0, 0.9):
        job = tiny_trainer(tiny_run(tmp_path / str(ema), steps=6, ema=ema))
        job.validate = Scripted()
        job.train()
        ends.append(checkpoint.path_of(job.folder.checkpoints, 6))
    plain, own = read_weights(ends[0] / "model.safetensors"), read_weights(ends[1] / "optimiser.safetensors")
    assert are_equal(plain, {name: own[f"{name}:weight"] for name in plain})


def test_optimiser_in_a_forbidden_precision_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "may_use", lambda precision: False)
    with pytest.raises(WeftError, match=r"muon needs bfloat16, .* set optimiser=adam or adamw, or see `weft doctor`"):
        tiny_trainer(tiny_run(tmp_path, optimiser="muon"))
    tiny_trainer(tiny_run(tmp_path / "other", optimiser="adamw"))
