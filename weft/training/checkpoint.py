"""Checkpoints: everything a run needs to continue as if it had never stopped.

    checkpoints/step-00001000/
      model.safetensors       weights
      optimiser.safetensors   what the optimiser remembers, such as Adam's moments, and each worker's random state
      state.json              the step, the place in the data, the scores so far
      SHA256SUMS              checksums of these, as `sha256sum -c` reads them

With a running mean of the weights (`ema`), model.safetensors is that mean, and the weights themselves stand beside the
moments. Only the two newest checkpoints keep their optimiser: the second is there for when the first is damaged.
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

from weft.disk import flush, seal, write_text
from weft.errors import WeftError
from weft.evaluation.scores import LOSS
from weft.folder import Folder
from weft.models.base import Model
from weft.parts.optimisers import Optimiser
from weft.training.kept import Newest
from weft.training.parallel import fill, slice_like
from weft.weights import fitting_weights, parameters, read_weights, save_weights


@dataclass
class Progress:
    """How far a run has come."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of this epoch already used
    seconds: float = 0.0
    scores: dict[int, dict[str, float]] = field(default_factory=dict)  # validations by step


FILES = ("model.safetensors", "optimiser.safetensors", "state.json")
KEPT = 2  # checkpoints that keep their optimiser


def path_of(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


Draws = dict[str, Tensor]  # the states of one worker's random generators


def save(
    folder: Path, weights: dict[str, Tensor], moments: dict[str, Tensor], progress: Progress, draws: Sequence[Draws]
) -> Path:
    """Write a checkpoint under a temporary name and rename it: it exists as a whole or not at all."""
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
    """Rename a damaged checkpoint to a name that is not in use."""
    name = f"damaged-{checkpoint.name}"
    names = (checkpoint.with_name(name if n == 1 else f"{name}-{n}") for n in count(1))
    return checkpoint.rename(next(free for free in names if not free.exists()))


def mend(folder: Path) -> None:
    """Clean up after a killed process: delete what it had not finished, restore what it had moved aside."""
    for old in folder.glob(".step-*.old"):
        final = folder / old.name[1 : -len(".old")]
        if final.exists():
            shutil.rmtree(old)
        else:
            old.rename(final)
    for draft in folder.glob(".step-*.draft"):
        shutil.rmtree(draft)


def resumable(folder: Folder) -> list[Path]:
    """The checkpoints that a run can, or should, resume from, newest first."""
    found = enumerate(folder.steps()[::-1])
    return [checkpoint for i, checkpoint in found if i < KEPT or (checkpoint / "optimiser.safetensors").exists()]


def newest(folder: Folder) -> Path | None:
    """The newest checkpoint that a run can resume from."""
    return next((found for found in resumable(folder) if (found / "optimiser.safetensors").exists()), None)


def load(checkpoint: Path, model: Model, kept: Newest, optimiser: Optimiser, rank: int = 0) -> Progress:
    """Restore model, optimiser and this worker's random state. A worker that is new gets fresh randomness."""
    weights = fitting_weights(model, checkpoint / "model.safetensors")
    stored = read_weights(checkpoint / "optimiser.safetensors")
    try:
        kept.fill(weights)
        own = {name: stored.get(f"{name}:weight", value) for name, value in weights.items()}
        fill(model, own)
        remembers = optimiser.remembers()
        for name, parameter in parameters(model).items():
            optimiser.state[parameter] = {
                moment: _moment(stored, f"{name}:{moment}", parameter) for moment in remembers[parameter]
            }
        mine = {name.removeprefix(f"{rank}:"): value for name, value in stored.items() if name.startswith(f"{rank}:")}
        if mine or rank == 0:
            restore_random_state(mine)
        return _progress(json.loads((checkpoint / "state.json").read_text()))
    except (LookupError, ValueError, TypeError, AttributeError, OSError, RuntimeError, ArithmeticError) as error:
        raise WeftError(f"{checkpoint} is damaged: {error}.") from None


def _moment(stored: Mapping[str, Tensor], name: str, parameter: Tensor) -> Tensor:
    """A number of steps, or a number for each weight."""
    value = stored[name].to(parameter.device, torch.float32)
    if name.endswith(":step"):
        return value.reshape(())
    if value.shape != parameter.shape:
        raise ValueError(f"{name} is {tuple(value.shape)}, not {tuple(parameter.shape)}")
    return slice_like(value.to(parameter.dtype), parameter)


def _progress(data: Any) -> Progress:
    """Parse the contents of a state.json, which may be anything."""
    scores = {int(step): {name: float(value) for name, value in some.items()} for step, some in data["scores"].items()}
    step, epoch, batch = (int(data[name]) for name in ("step", "epoch", "batch"))
    if min(step, epoch, batch, *scores, 0) < 0 or not all(LOSS.name in some for some in scores.values()):
        raise ValueError("its state.json was not written by weft")
    return Progress(step, epoch, batch, float(data["seconds"]), scores)


def random_state() -> Draws:
    """The state of every random generator that dropout may use."""
    others = {f"random.{name}": module.get_rng_state() for name, module in _accelerators().items()}
    return {"random": torch.get_rng_state(), **others}


def restore_random_state(states: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(states["random"])
    for name, module in _accelerators().items():
        if f"random.{name}" in states:
            module.set_rng_state(states[f"random.{name}"])


def _accelerators() -> dict[str, Any]:
    return {name: module for name, module in (("cuda", torch.cuda), ("mps", torch.mps)) if module.is_available()}


def prune(folder: Folder, keep: set[int]) -> None:
    """Delete the weights of other steps and all optimisers, except those of the two newest checkpoints."""
    for checkpoint in folder.steps()[:-KEPT]:
        if int(checkpoint.name.removeprefix("step-")) not in keep:
            shutil.rmtree(checkpoint.rename(_hidden(checkpoint, "draft")))  # if killed here, no half checkpoint is left
        else:
            (checkpoint / "optimiser.safetensors").unlink(missing_ok=True)


def average(checkpoints: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the checkpoints' weights."""
    total: dict[str, Tensor] = {}
    for found in checkpoints:
        for name, value in read_weights(found / "model.safetensors").items():
            total[name] = total[name] + value if name in total else value.double()
    return {name: (value / len(checkpoints)).float() for name, value in total.items()}


def moments(model: Model, optimiser: Optimiser) -> dict[str, Tensor]:
    """The optimiser's moments of each parameter."""
    return {
        f"{name}:{moment}": value
        for name, parameter in parameters(model).items()
        for moment, value in optimiser.state[parameter].items()
    }
