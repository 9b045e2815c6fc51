"""Checkpoints: everything a training needs to go on as if it had never stopped.

    checkpoints/step-00001000/
      model.safetensors       weights
      optimiser.safetensors   Adam's moments and each worker's random state
      state.json              the step, the place in the data, the scores so far
      SHA256SUMS              checksums of these, as `sha256sum -c` reads them

Only the two newest checkpoints keep their optimiser: the second is there for when the first is damaged.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from weft.disk import flush, seal, write_text
from weft.errors import WeftError
from weft.evaluation.scores import LOSS
from weft.folder import Folder
from weft.models.base import Model
from weft.training.parallel import fill, slice_like
from weft.weights import fitting_weights, parameters, read_weights, save_weights


@dataclass
class Progress:
    """Where a training stands."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of this epoch already used
    seconds: float = 0.0
    scores: dict[int, dict[str, float]] = field(default_factory=dict)  # validations by step


FILES = ("model.safetensors", "optimiser.safetensors", "state.json")
KEPT = 2  # checkpoints that keep their optimiser
MOMENTS = ("exp_avg", "exp_avg_sq")  # of the gradient and of its square; a number for each weight


def path_of(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


Draws = dict[str, Tensor]  # the states of one worker's random generators


def save(
    folder: Path, weights: dict[str, Tensor], moments: dict[str, Tensor], progress: Progress, draws: Sequence[Draws]
) -> Path:
    """Written under a temporary name and renamed: a checkpoint is there as a whole or not at all."""
    final = path_of(folder, progress.step)
    draft = _hidden(final, "draft")
    mend(folder)
    draft.mkdir(parents=True)
    try:
        save_weights(weights, draft / "model.safetensors")
        random = {f"{rank}:{name}": state for rank, states in enumerate(draws) for name, state in states.items()}
        save_weights(moments | random, draft / "optimiser.safetensors")
        write_text(draft / "state.json", json.dumps(asdict(progress)))
        seal(draft, FILES)
    except BaseException:
        shutil.rmtree(draft)
        raise
    if final.exists():  # the same step, now with its scores
        final.rename(_hidden(final, "old"))
    draft.rename(final)
    flush(folder)
    mend(folder)
    return final


def _hidden(checkpoint: Path, kind: str) -> Path:
    return checkpoint.with_name(f".{checkpoint.name}.{kind}")


def set_aside(checkpoint: Path) -> Path:
    """A damaged one, under a name that nothing has yet."""
    name = f"damaged-{checkpoint.name}"
    names = (checkpoint.with_name(name if n == 1 else f"{name}-{n}") for n in count(1))
    return checkpoint.rename(next(free for free in names if not free.exists()))


def mend(folder: Path) -> None:
    """Clear up what a killed process left: what it had not finished is dropped, what it had moved aside comes back."""
    for old in folder.glob(".step-*.old"):
        final = folder / old.name[1 : -len(".old")]
        if final.exists():
            shutil.rmtree(old)
        else:
            old.rename(final)
    for draft in folder.glob(".step-*.draft"):
        shutil.rmtree(draft)


def resumable(folder: Folder) -> list[Path]:
    """The checkpoints that a training can go on from, or should, newest first."""
    found = folder.steps()[::-1]
    return [
        *found[:KEPT],
        *(checkpoint for checkpoint in found[KEPT:] if (checkpoint / "optimiser.safetensors").exists()),
    ]


def newest(folder: Folder) -> Path | None:
    """The newest that a training can go on from."""
    return next((found for found in resumable(folder) if (found / "optimiser.safetensors").exists()), None)


def load(checkpoint: Path, model: Model, optimiser: Optimizer, rank: int = 0) -> Progress:
    """Bring model, optimiser and this worker's random state to where they were. One that was not there draws anew."""
    fill(model, fitting_weights(model, checkpoint / "model.safetensors"))
    stored = read_weights(checkpoint / "optimiser.safetensors")
    try:
        state_of: dict[int, dict[str, Tensor]] = {}
        for i, (name, parameter) in enumerate(parameters(model).items()):
            state_of[i] = {"step": stored[f"{name}:step"].reshape(())}
            for moment in MOMENTS:
                value = stored[f"{name}:{moment}"]
                if value.shape != parameter.shape:
                    raise ValueError(f"{name}:{moment} is {tuple(value.shape)}, not {tuple(parameter.shape)}")
                state_of[i][moment] = slice_like(value, parameter)
        optimiser.load_state_dict({**optimiser.state_dict(), "state": state_of})
        mine = {name.removeprefix(f"{rank}:"): value for name, value in stored.items() if name.startswith(f"{rank}:")}
        if mine or rank == 0:
            restore_random_state(mine)
        return _progress(json.loads((checkpoint / "state.json").read_text()))
    except (LookupError, ValueError, TypeError, AttributeError, OSError, RuntimeError, ArithmeticError) as error:
        raise WeftError(f"{checkpoint} is damaged: {error}.") from None


def _progress(data: Any) -> Progress:
    """From what a file says, which may be anything."""
    scores = {int(step): {name: float(value) for name, value in some.items()} for step, some in data["scores"].items()}
    step, epoch, batch = (int(data[name]) for name in ("step", "epoch", "batch"))
    if min(step, epoch, batch, *scores, 0) < 0 or not all(LOSS.name in some for some in scores.values()):
        raise ValueError("its state.json is not one that weft wrote")
    return Progress(step, epoch, batch, float(data["seconds"]), scores)


def random_state() -> Draws:
    """Of every generator that dropout may draw from."""
    states = {"random": torch.get_rng_state()}
    for name, module in _accelerators().items():
        states[f"random.{name}"] = module.get_rng_state()
    return states


def restore_random_state(states: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(states["random"])
    for name, module in _accelerators().items():
        if f"random.{name}" in states:
            module.set_rng_state(states[f"random.{name}"])


def _accelerators() -> dict[str, Any]:
    return {name: module for name, module in (("cuda", torch.cuda), ("mps", torch.mps)) if module.is_available()}


def prune(folder: Folder, keep: set[int]) -> None:
    """Drop the weights of other steps, and the optimisers of all; but not of the two newest checkpoints."""
    for checkpoint in folder.steps()[:-KEPT]:
        if int(checkpoint.name.removeprefix("step-")) not in keep:
            shutil.rmtree(checkpoint.rename(_hidden(checkpoint, "draft")))  # killed within, it is no half checkpoint
        else:
            (checkpoint / "optimiser.safetensors").unlink(missing_ok=True)


def average(checkpoints: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of their weights."""
    total: dict[str, Tensor] = {}
    for found in checkpoints:
        for name, value in read_weights(found / "model.safetensors").items():
            total[name] = total[name] + value if name in total else value.double()
    return {name: (value / len(checkpoints)).float() for name, value in total.items()}


def moments(model: Model, optimiser: Optimizer) -> dict[str, Tensor]:
    """What Adam remembers of each parameter."""
    return {
        f"{name}:{moment}": value
        for name, parameter in parameters(model).items()
        for moment, value in optimiser.state[parameter].items()
    }
