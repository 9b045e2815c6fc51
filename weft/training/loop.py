"""The training loop. What happens beside it (progress on the screen, metrics in files) is a list of observers."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import NoReturn, Protocol

import torch
from torch import Tensor

from weft.data.batches import Batches
from weft.disk import damage, friendly_disk_errors, owned
from weft.errors import Interrupted, NoRoom, WeftError
from weft.evaluation.scores import LOSS, Metric
from weft.folder import Folder
from weft.models.base import Batch, Model
from weft.plans.catalogues import SCHEDULES
from weft.plans.plan import Training
from weft.training import checkpoint
from weft.training.checkpoint import Progress
from weft.training.observers import metrics_rows
from weft.training.parallel import fill, full_tensor, gathered
from weft.training.signals import as_ctrl_c, held_back
from weft.training.workers import ALONE, Workers
from weft.weights import fitting_weights, parameters

Scores = dict[str, float]  # by the name of the metric
Validate = Callable[[Model], Scores]


class Observer(Protocol):
    """Someone who is told how a training goes."""

    def step(self, step: int, metrics: dict[str, float]) -> None:
        """After each step: objective and loss (the mean nll) of a token, tokens, rate, gradient (its norm before it
        was clipped), epoch, seconds since the training began."""

    def validation(self, step: int, scores: dict[str, float]) -> None: ...

    def close(self) -> None: ...


class Trainer:
    def __init__(
        self,
        model: Model,
        options: Training,
        batches: Batches,
        validate: Validate,
        best_by: Metric,
        folder: Folder,
        observers: Sequence[Observer] = (),
        workers: Workers = ALONE,
    ):
        self.model = model
        self.workers = workers
        self.shared = workers.wrap(model)
        self.options = options
        self.batches = batches
        self.validate = validate
        self.best_by = best_by
        self.folder = folder
        self.observers = observers
        self.device = next(model.parameters()).device
        self.schedule = SCHEDULES.build(options.schedule, options.steps)
        self.optimiser = torch.optim.Adam(
            model.parameters(),
            lr=options.rate,
            betas=(options.beta1, options.beta2),
            eps=options.epsilon,
            weight_decay=options.weight_decay,
            decoupled_weight_decay=True,
            fused=self.device.type != "mps",
        )
        self.progress = Progress()
        self.remarks: list[str] = []  # what there is to say of how it ended

    def resume(self) -> list[str]:
        """Go on from the newest whole checkpoint; from the beginning, where a run was stopped before its first.

        What is said of damaged ones is returned; they are set aside.
        """
        with owned(self.folder.path) if self.workers.is_first else nullcontext():
            found, damaged = self.workers.gather(self._newest_whole() if self.workers.is_first else (None, []))[0]
        if found is not None:
            self.progress = checkpoint.load(found, self.model, self.optimiser, self.workers.rank)
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
            raise WeftError("\n".join([*sentences, "There is no other checkpoint to go on from."]))
        self._refuse_to_begin_again()
        return None, []

    def _refuse_to_begin_again(self) -> None:
        """Where there have been checkpoints: they were taken away, and what is left would be overwritten."""
        run = self.folder.path
        if self.folder.average.exists():
            raise WeftError(
                f"{run} cannot be resumed: its checkpoints are gone. Its model.safetensors can start a new run: "
                f"weft train {run} --from {run} --out NEW …"
            )
        metrics = run / "metrics.jsonl"
        validations = ["valid" in row for row in metrics_rows(metrics)] if metrics.exists() else []
        if any(validations[:-1]):  # each is told before its checkpoint is written: the last may have none
            raise WeftError(
                f"{run} cannot be resumed: its checkpoints are gone, and metrics.jsonl says that there were some. "
                "Put them back, or begin anew in another --out."
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
            raise WeftError(f"{ahead} is newer than this training, which would overwrite it: resume from there.")

    def _train(self) -> dict[str, float]:
        try:
            with self._listening() as asked:
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

    def _listening(self) -> AbstractContextManager[list[int]]:
        """A request to stop ends a process that trains alone at once; several stop together, after the same step."""
        return as_ctrl_c() if self.workers.size == 1 else held_back()

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
                self.remarks.append(self._patience_ended())
                return
            epoch, batch, group = next(groups)
            metrics = self._gradient(group)
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
        """Save what was learned up to here, and say so."""
        step = self.progress.step
        if step == 0:
            return "Nothing was learned yet."
        if checkpoint.newest(self.folder) != checkpoint.path_of(self.folder.checkpoints, step):
            self._save()
        return f"Saved at step {step}; continue with --resume."

    def _save(self) -> None:
        draws = self.workers.gather(checkpoint.random_state())
        weights = gathered(parameters(self.model), self.workers.is_first)
        moments = gathered(checkpoint.moments(self.model, self.optimiser), self.workers.is_first)
        if not self.workers.is_first:
            return
        checkpoint.save(self.folder.checkpoints, weights, moments, self.progress, draws)
        # Where a finished run goes on, its average is older than this checkpoint: whoever translates takes the newer.
        self.folder.forget()

    def _gradient(self, batches: Sequence[Batch]) -> dict[str, float]:
        """The gradient of the mean over all tokens of all batches, clipped. Interrupted, it can be taken anew."""
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
                loss = self.shared(mine)
                # Gradients of several workers become their mean, and the sum is wanted.
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
        """Before the weights move: they are still those of the step before."""
        for what, value in (("loss", metrics["objective"]), ("gradient", metrics["gradient"])):
            if not math.isfinite(value):
                numbers = f"batch {batches[0]}" if len(batches) == 1 else f"batches {batches[0]} to {batches[-1]}"
                self._diverged(f"{what} is {value} at step {self.progress.step + 1} (epoch {epoch}, {numbers})")

    def _diverged(self, finding: str) -> NoReturn:
        last = self._last_good()
        if self.progress.step and self.progress.step not in self.progress.scores:
            saved = checkpoint.path_of(self.folder.checkpoints, self.progress.step)
            if saved.exists():  # when it was asked to stop: nobody looked at what it had learned
                last = f"{saved} was saved without a look at it: remove it, and --resume goes on from the one before."
        raise WeftError(
            f"training diverged: {finding}. {last} "
            "Try a lower rate, a longer warmup or a smaller clip; --resume takes --set too."
        )

    def _move(self, step: int) -> float:
        """One step of the optimiser, at the rate the schedule has for it."""
        rate = self.options.rate * self.schedule(step)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        return rate

    def _groups(self) -> Iterator[tuple[int, int, list[Batch]]]:
        """The batches of each step for ever, with the place in the data after them."""
        epoch, used = self.progress.epoch, self.progress.batch
        while True:
            batches = self.batches.epoch(epoch, skip=used)
            while group := list(islice(batches, self.options.accumulate)):
                used += len(group)
                yield epoch, used, group
            if used == 0:
                raise WeftError("nothing to train on: the corpus makes no batch.")
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
        # First: what a checkpoint knows is not told again by a run that goes on from it.
        for observer in self.observers:
            observer.validation(self.progress.step, scores)
        self._save()
        if self.workers.is_first:
            keep = {*self._to_average()[: self.options.average_of], self._by_goodness()[0]}
            checkpoint.prune(self.folder, keep)

    def _scores(self) -> dict[str, float]:
        with self.shared.full_model() as model:
            return self.validate(model)

    def _goodness(self, step: int) -> tuple[float, float]:
        """Larger is better. Where scores are equal, as at the beginning, the lower loss decides."""
        scores = self.progress.scores[step]
        value = scores[self.best_by.name]
        return (value if self.best_by.higher_is_better else -value), -scores[LOSS.name]

    def _by_goodness(self) -> list[int]:
        """Validated steps, best first; of equals the later."""
        return sorted(self.progress.scores, key=lambda step: (self._goodness(step), step), reverse=True)

    def _to_average(self) -> list[int]:
        """The steps whose weights could make the model in the end, those that should first."""
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

    def _patience_ended(self) -> str:
        return (
            f"stopped early after step {self.progress.step}: no better {self.best_by.label} for "
            f"{self.options.patience} validations; best at step {self._first_best()}"
        )

    def _finish(self) -> dict[str, float]:
        if self.workers.is_first:
            self.folder.finish(self._average())
        self.workers.wait()
        fill(self.model, fitting_weights(self.model, self.folder.average))
        return self._scores()

    def _average(self) -> dict[str, Tensor]:
        """The mean of as many checkpoints as are wanted; of fewer, where others are damaged or gone, and it is said."""
        whole: list[Path] = []
        for found in (checkpoint.path_of(self.folder.checkpoints, step) for step in self._to_average()):
            if len(whole) == self.options.average_of:
                break
            if wrong := damage(found, ["model.safetensors"]):
                self.remarks.append(f"{found} is damaged: {wrong}. The model is made without it.")
            else:
                whole.append(found)
        if not whole:
            raise WeftError("\n".join([*self.remarks, "There is no checkpoint left to make a model of."]))
        if len(whole) < min(self.options.average_of, len(self.progress.scores)):
            self.remarks.append(
                f"average_of={self.options.average_of}, but the model is the mean of {len(whole)}: no others are left"
            )
        return checkpoint.average(sorted(whole))
