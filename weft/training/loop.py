"""The training loop. Everything else (progress on the screen, metrics in files) is done by observers."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NoReturn

import torch
from torch import Tensor

from weft.data.batches import Batches
from weft.disk import damage, friendly_disk_errors, owned
from weft.errors import Interrupted, NoRoom, WeftError
from weft.evaluation.scores import LOSS, Metric
from weft.folder import Folder
from weft.models.base import Batch, Model
from weft.parts.optimisers import Numbers
from weft.plans.catalogues import OPTIMISERS, SCHEDULES
from weft.plans.plan import Training
from weft.training import checkpoint
from weft.training.checkpoint import Progress
from weft.training.kept import Newest, RunningMean
from weft.training.observers import Observer as Observer
from weft.training.observers import metrics_rows
from weft.training.parallel import fill, full_tensor, gathered
from weft.training.precision import computing
from weft.training.signals import as_ctrl_c, held_back
from weft.training.workers import ALONE, Workers
from weft.weights import fitting_weights

Scores = dict[str, float]  # by the name of the metric
Validate = Callable[[Model], Scores]


@dataclass(eq=False)
class Trainer:
    model: Model
    options: Training
    batches: Batches
    validate: Validate
    best_by: Metric
    folder: Folder
    observers: Sequence[Observer] = ()
    workers: Workers = ALONE
    precision: str = "float32"  # of matrix products

    def __post_init__(self) -> None:
        options = self.options
        self.shared = self.workers.wrap(self.model)
        self.device = next(self.model.parameters()).device
        self.schedule = SCHEDULES.build(options.schedule, options.steps)
        numbers = Numbers(options.rate, (options.beta1, options.beta2), options.epsilon, options.weight_decay)
        self.optimiser = OPTIMISERS.build(options.optimiser, self.model, numbers)
        self.kept = RunningMean(self.model, options.ema) if options.ema else Newest(self.model)
        self.average_of = 1 if options.ema else options.average_of  # a running mean is an average already
        self.progress = Progress()
        self.remarks: list[str] = []  # what the user should know about the result

    def resume(self) -> list[str]:
        """Resume from the newest intact checkpoint, or start over if the run was stopped before its first. Damaged ones
        are set aside, and a message about each is returned."""
        with owned(self.folder.path) if self.workers.is_first else nullcontext():
            found, damaged = self.workers.gather(self._newest_whole() if self.workers.is_first else (None, []))[0]
        if found is not None:
            self.progress = checkpoint.load(found, self.model, self.kept, self.optimiser, self.workers.rank)
        return damaged

    def _newest_whole(self) -> tuple[Path | None, list[str]]:
        checkpoint.mend(self.folder.checkpoints)
        damaged: dict[Path, str] = {}
        for found in checkpoint.resumable(self.folder):
            wrong = damage(found, checkpoint.FILES)
            if wrong is None:
                aside = {path: checkpoint.set_aside(path) for path in damaged}
                return found, [f"{path} is damaged: {damaged[path]}. It is now {aside[path].name}." for path in damaged]
            damaged[found] = wrong
        if damaged:
            sentences = [f"{path} is damaged: {wrong}." for path, wrong in damaged.items()]
            raise WeftError("\n".join([*sentences, "There is no other checkpoint to resume from."]))
        self._refuse_to_begin_again()
        return None, []

    def _refuse_to_begin_again(self) -> None:
        """Refuse if there were checkpoints: they were removed, and what is left would be overwritten."""
        run = self.folder.path
        if self.folder.average.exists():
            raise WeftError(
                f"{run} cannot be resumed: its checkpoints are gone. Its model.safetensors can start a new run: "
                f"weft train {run} --from {run} --out NEW …"
            )
        metrics = run / "metrics.jsonl"
        validations = ["valid" in row for row in metrics_rows(metrics)] if metrics.exists() else []
        if any(validations[:-1]):  # each is logged before its checkpoint is written: the last may have none
            raise WeftError(
                f"{run} cannot be resumed: its checkpoints are gone, though metrics.jsonl shows that there were some. "
                "Restore them, or start over in another --out."
            )

    def train(self) -> Scores:
        """Train to the last step or until patience ends; leave the averaged model in the folder; return its scores."""
        try:
            with (
                owned(self.folder.path) if self.workers.is_first else nullcontext(),
                friendly_disk_errors(self.folder.path),
            ):
                self._refuse_to_fall_behind()
                return self._train()
        except NoRoom as error:
            raise NoRoom(f"{error} Stopped after step {self.progress.step}. {self._last_good()}") from None

    def _refuse_to_fall_behind(self) -> None:
        ahead = checkpoint.newest(self.folder)
        if ahead is not None and ahead > checkpoint.path_of(self.folder.checkpoints, self.progress.step):
            raise WeftError(f"{ahead} is newer and would be overwritten: resume from there.")

    def _train(self) -> dict[str, float]:
        try:
            # A request to stop ends a process that trains alone at once; several stop together, after the same step.
            with as_ctrl_c() if self.workers.size == 1 else held_back() as asked:
                self._steps(asked)
                return self._finish()
        except KeyboardInterrupt:
            with held_back():  # a second Ctrl-C must not interrupt the saving
                saved = self._saved()
            raise Interrupted(f"stopped. {saved}") from None
        finally:
            self.shared.close()
            for observer in self.observers:
                observer.close()

    def _last_good(self) -> str:
        found = checkpoint.newest(self.folder)
        return f"The last good checkpoint is {found}." if found else "There is no checkpoint yet."

    def _steps(self, asked: list[int]) -> None:
        self.model.train()
        progress, options = self.progress, self.options
        began = time.perf_counter() - progress.seconds
        groups = self._groups()
        while True:
            if self._validation_is_due():
                self._validate()
            if progress.step >= options.steps:
                return
            if self._out_of_patience():
                self.remarks.append(
                    f"stopped early after step {progress.step}: no improvement in {self.best_by.label} for "
                    f"{options.patience} validations; best at step {self._first_best()}"
                )
                return
            epoch, batch, group = next(groups)
            metrics = self.gradient(group)
            self._stop_if_diverged(metrics, epoch, range(batch - len(group) + 1, batch + 1))
            with held_back() as just_now:
                metrics["rate"] = self._move(progress.step + 1)
                progress.step, progress.epoch, progress.batch = progress.step + 1, epoch, batch
                progress.seconds = time.perf_counter() - began
            for observer in self.observers:
                observer.step(progress.step, {**metrics, "epoch": epoch, "seconds": progress.seconds})
            if just_now or self.workers.total(len(asked))[0]:
                raise KeyboardInterrupt

    def _saved(self) -> str:
        """Save the current state, and return a message about it."""
        step = self.progress.step
        if step == 0:
            return "There was nothing to save yet."
        if checkpoint.newest(self.folder) != checkpoint.path_of(self.folder.checkpoints, step):
            self._save()
        return f"Saved at step {step}; continue with --resume."

    def _save(self) -> None:
        draws = self.workers.gather(checkpoint.random_state())
        weights = gathered(self.kept.weights, self.workers.is_first)
        beside = checkpoint.moments(self.model, self.optimiser) | self.kept.beside()
        moments = gathered(beside, self.workers.is_first)
        if not self.workers.is_first:
            return
        checkpoint.save(self.folder.checkpoints, weights, moments, self.progress, draws)
        # When a finished run is continued, its average is older than this checkpoint, which is used from now on.
        self.folder.forget()

    def gradient(self, batches: Sequence[Batch]) -> dict[str, float]:
        """The clipped gradient of the mean over all tokens of all batches; if interrupted, it can be repeated."""
        random = checkpoint.random_state()
        try:
            return self._backward(batches)
        except KeyboardInterrupt:
            checkpoint.restore_random_state(random)
            raise

    def _backward(self, batches: Sequence[Batch]) -> dict[str, float]:
        self.optimiser.zero_grad()
        tokens = sum(batch.count for batch in batches)
        objective = nll = 0.0
        for batch in batches:
            mine = batch.share(self.workers.rank, self.workers.size).to(self.device)
            with nullcontext() if batch is batches[-1] else self.shared.no_sync():
                with computing(self.device, self.precision):
                    loss = self.shared(mine)
                # Gradients of several workers are averaged, but the sum is needed.
                torch.autograd.backward(loss.objective * (self.workers.size / tokens))
            objective += float(loss.objective.detach())
            nll += float(loss.nll)
        objective, nll = self.workers.total(objective, nll)
        clipped = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.options.clip or torch.inf)
        return {
            "objective": objective / tokens,
            "loss": nll / tokens,
            "tokens": tokens,
            "gradient": float(full_tensor(clipped)),
        }

    def _stop_if_diverged(self, metrics: dict[str, float], epoch: int, batches: range) -> None:
        """Stop before the weights are updated, so that those of the last step are intact."""
        for what, value in (("loss", metrics["objective"]), ("gradient", metrics["gradient"])):
            if not math.isfinite(value):
                numbers = f"batch {batches[0]}" if len(batches) == 1 else f"batches {batches[0]} to {batches[-1]}"
                self._diverged(f"{what} is {value} at step {self.progress.step + 1} (epoch {epoch}, {numbers})")

    def _diverged(self, finding: str) -> NoReturn:
        last = self._last_good()
        if self.progress.step and self.progress.step not in self.progress.scores:
            saved = checkpoint.path_of(self.folder.checkpoints, self.progress.step)
            if saved.exists():  # written when the run was interrupted
                last = f"{saved} was saved without validation: remove it, and --resume continues from the one before."
        raise WeftError(
            f"training diverged: {finding}. {last} "
            "Try a lower rate, a longer warmup or a smaller clip; --resume takes --set too."
        )

    def _move(self, step: int) -> float:
        """Take one step of the optimiser, at the rate of the schedule."""
        rate = self.options.rate * self.schedule(step)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        self.kept.update(step)
        return rate

    def _groups(self) -> Iterator[tuple[int, int, list[Batch]]]:
        """Yield the batches of each step, without end, and the place in the data after them."""
        epoch, used = self.progress.epoch, self.progress.batch
        while True:
            batches = self.batches.epoch(epoch, skip=used)
            while group := list(islice(batches, self.options.accumulate)):
                used += len(group)
                yield epoch, used, group
            if used == 0:
                raise WeftError(
                    "nothing to train on: the data does not fill a batch; give more, or set a smaller batch_tokens."
                )
            epoch, used = epoch + 1, 0

    def _validation_is_due(self) -> bool:
        step = self.progress.step
        on_time = step % self.options.validate_every == 0 or step >= self.options.steps
        return step > 0 and on_time and step not in self.progress.scores

    def _validate(self) -> None:
        scores = self._scores()
        if not math.isfinite(scores[LOSS.name]):
            self._diverged(f"validation loss is {scores[LOSS.name]} after step {self.progress.step}")
        self.progress.scores[self.progress.step] = scores
        # Before saving: a run that resumes from this checkpoint does not report its scores again.
        for observer in self.observers:
            observer.validation(self.progress.step, scores)
        self._save()
        if self.workers.is_first:
            keep = {*self._to_average()[: self.average_of], self._by_goodness()[0]}
            checkpoint.prune(self.folder, keep)

    def _scores(self) -> dict[str, float]:
        with self.shared.full_model(self.kept.instead) as model:
            return self.validate(model)

    def _goodness(self, step: int) -> tuple[float, float]:
        """A key by which larger is better. Among equal scores, as at the beginning, the lower loss decides."""
        scores = self.progress.scores[step]
        value = scores[self.best_by.name]
        return (value if self.best_by.higher_is_better else -value), -scores[LOSS.name]

    def _by_goodness(self) -> list[int]:
        """Validated steps, best first; ties prefer the later one."""
        return sorted(self.progress.scores, key=lambda step: (self._goodness(step), step), reverse=True)

    def _to_average(self) -> list[int]:
        """The steps whose weights may be averaged into the final model, preferred ones first."""
        order = self._by_goodness() if self.options.average == "best" else sorted(self.progress.scores, reverse=True)
        return [step for step in order if checkpoint.path_of(self.folder.checkpoints, step).exists()]

    def _first_best(self) -> int:
        """The step of the best score; ties keep the earlier one."""
        return max(sorted(self.progress.scores), key=self._goodness)

    def _out_of_patience(self) -> bool:
        if not self.options.patience or not self.progress.scores:
            return False
        best = self._first_best()
        return sum(step > best for step in self.progress.scores) >= self.options.patience

    def _finish(self) -> dict[str, float]:
        if self.workers.is_first:
            self.folder.finish(self._average())
        self.workers.wait()
        weights = fitting_weights(self.model, self.folder.average)
        fill(self.model, weights)
        self.kept.fill(weights)
        return self._scores()

    def _average(self) -> dict[str, Tensor]:
        """The mean of `average_of` checkpoints; of fewer, with a remark, if others are damaged or gone."""
        whole: list[Path] = []
        for found in (checkpoint.path_of(self.folder.checkpoints, step) for step in self._to_average()):
            if len(whole) == self.average_of:
                break
            if wrong := damage(found, ["model.safetensors"]):
                self.remarks.append(f"{found} is damaged: {wrong}. It is left out of the average.")
            else:
                whole.append(found)
        if not whole:
            raise WeftError("\n".join([*self.remarks, "There is no checkpoint left to make a model from."]))
        if len(whole) < min(self.average_of, len(self.progress.scores)):
            self.remarks.append(f"average_of={self.average_of}, but only {len(whole)} checkpoints were left to average")
        return checkpoint.average(sorted(whole))
