"""The training loop. What happens beside it (progress on the screen, metrics in files) is a list of observers."""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Protocol

import torch

from weft.errors import Interrupted, WeftError
from weft.folder import Folder, load_weights, save_weights
from weft.models.sequence_to_sequence import PAD, Batch, SequenceToSequence
from weft.plans.catalogues import SCHEDULES
from weft.plans.plan import Training
from weft.text.batches import Batches
from weft.training import checkpoint
from weft.training.checkpoint import Progress

Validate = Callable[[SequenceToSequence], dict[str, float]]


class Observer(Protocol):
    """Someone who is told how a training goes."""

    def step(self, step: int, metrics: dict[str, float]) -> None:
        """After each step: loss, nll, tokens, rate, gradient norm, tokens a second."""

    def validation(self, step: int, scores: dict[str, float]) -> None: ...

    def close(self) -> None: ...


class Trainer:
    def __init__(
        self,
        model: SequenceToSequence,
        options: Training,
        batches: Batches,
        validate: Validate,
        folder: Folder,
        observers: Sequence[Observer] = (),
    ):
        self.model = model
        self.options = options
        self.batches = batches
        self.validate = validate
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

    def resume(self) -> None:
        """Go on from the newest checkpoint."""
        found = checkpoint.newest(self.folder.checkpoints)
        if found is None:
            raise WeftError(f"{self.folder.path} has no checkpoint to resume from.")
        self.progress = checkpoint.load(found, self.model, self.optimiser)

    def train(self) -> dict[str, float]:
        """Train to the last step or until patience ends; leave the averaged model in the folder; return its scores."""
        try:
            self._steps()
        except KeyboardInterrupt:
            saved = f" Saved at step {self.progress.step}; --resume goes on from there."
            if self.progress.step:
                checkpoint.save(self.folder.checkpoints, self.model, self.optimiser, self.progress)
            raise Interrupted(f"stopped.{saved if self.progress.step else ' Nothing was learned yet.'}") from None
        finally:
            for observer in self.observers:
                observer.close()
        return self._finish()

    def _steps(self) -> None:
        self.model.train()
        progress, options = self.progress, self.options
        began = time.perf_counter() - progress.seconds
        groups = self._groups()
        while progress.step < options.steps and not self._out_of_patience():
            epoch, batch, group = next(groups)
            metrics = self._step(group, progress.step + 1)
            progress.step, progress.epoch, progress.batch = progress.step + 1, epoch, batch
            progress.seconds = time.perf_counter() - began
            for observer in self.observers:
                observer.step(progress.step, {**metrics, "epoch": epoch, "seconds": progress.seconds})
            if progress.step % options.validate_every == 0 or progress.step == options.steps:
                self._validate()

    def _step(self, batches: Sequence[Batch], step: int) -> dict[str, float]:
        """One step of the optimiser: the mean over all tokens of all its batches."""
        rate = self.options.rate * self.schedule(step)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad()
        tokens = sum(int((batch.target != PAD).sum()) for batch in batches)
        objective = nll = 0.0
        for batch in batches:
            loss = self.model(batch.to(self.device))
            (loss.objective / tokens).backward()
            objective += float(loss.objective.detach())
            nll += float(loss.nll)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.options.clip or torch.inf)
        self.optimiser.step()
        return {
            "objective": objective / tokens,
            "loss": nll / tokens,
            "tokens": tokens,
            "rate": rate,
            "gradient": float(norm),
        }

    def _groups(self) -> Iterator[tuple[int, int, list[Batch]]]:
        """The batches of each step for ever, with the place in the data after them."""
        epoch, used = self.progress.epoch, self.progress.batch
        while True:
            batches = self.batches.epoch(epoch, skip=used)
            while group := list(islice(batches, self.options.accumulate)):
                used += len(group)
                yield epoch, used, group
            if used == 0:
                raise WeftError("there is nothing to train on: no pair is left.")
            epoch, used = epoch + 1, 0

    def _validate(self) -> None:
        scores = self.validate(self.model)
        self.progress.scores[self.progress.step] = scores
        checkpoint.save(self.folder.checkpoints, self.model, self.optimiser, self.progress)
        checkpoint.prune(self.folder.checkpoints, set(self._averaged()) | {self._by_goodness()[0]})
        for observer in self.observers:
            observer.validation(self.progress.step, scores)

    def _by_goodness(self) -> list[int]:
        """Validated steps, best first."""
        sign = -1 if self.options.best_by == "bleu" else 1
        scores = self.progress.scores
        return sorted(scores, key=lambda step: (sign * scores[step][self.options.best_by], step))

    def _averaged(self) -> list[int]:
        """The steps whose weights make the model in the end."""
        order = self._by_goodness() if self.options.average == "best" else sorted(self.progress.scores, reverse=True)
        return sorted(order[: self.options.average_of])

    def _out_of_patience(self) -> bool:
        since_best = sum(step > self._by_goodness()[0] for step in self.progress.scores) if self.progress.scores else 0
        return 0 < self.options.patience <= since_best

    def _finish(self) -> dict[str, float]:
        weights = checkpoint.average(self.folder.checkpoints, self._averaged())
        save_weights(weights, self.folder.path / "model.safetensors")
        load_weights(self.model, self.folder.path / "model.safetensors")
        return self.validate(self.model)
