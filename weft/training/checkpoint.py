"""Checkpoints: everything a training needs to go on as if it had never stopped.

    checkpoints/step-00001000/
      model.safetensors       weights
      optimiser.safetensors   Adam's moments and each worker's random state
      state.json              the step, the place in the data, the scores so far

Only the newest checkpoint keeps its optimiser.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from weft.errors import WeftError
from weft.folder import fitting_weights, parameters, read_weights, save_weights
from weft.models.sequence_to_sequence import SequenceToSequence
from weft.training.united import fill, slice_like


@dataclass
class Progress:
    """Where a training stands."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of this epoch already used
    seconds: float = 0.0
    scores: dict[int, dict[str, float]] = field(default_factory=dict)  # validations by step


MOMENTS = ("exp_avg", "exp_avg_sq")  # of the gradient and of its square; a number for each weight


def path_of(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


Draws = dict[str, Tensor]  # the states of one worker's random generators


def save(
    folder: Path, weights: dict[str, Tensor], moments: dict[str, Tensor], progress: Progress, draws: Sequence[Draws]
) -> Path:
    """Written under a temporary name and renamed: a checkpoint is there as a whole or not at all."""
    final = path_of(folder, progress.step)
    draft = folder / f".{final.name}.draft"
    for left_over in folder.glob(".step-*.draft"):
        shutil.rmtree(left_over)
    draft.mkdir(parents=True)
    save_weights(weights, draft / "model.safetensors")
    random = {f"{rank}:{name}": state for rank, states in enumerate(draws) for name, state in states.items()}
    save_weights(moments | random, draft / "optimiser.safetensors")
    (draft / "state.json").write_text(json.dumps(asdict(progress)))
    shutil.rmtree(final, ignore_errors=True)
    draft.rename(final)
    return final


def newest(folder: Path) -> Path | None:
    """The newest checkpoint that a training can go on from."""
    found = sorted(file.parent for file in folder.glob("step-*/optimiser.safetensors"))
    return found[-1] if found else None


def load(checkpoint: Path, model: SequenceToSequence, optimiser: Optimizer, rank: int = 0) -> Progress:
    """Bring model, optimiser and this worker's random state to where they were. One that was not there draws anew."""
    fill(model, fitting_weights(model, checkpoint / "model.safetensors"))
    stored = read_weights(checkpoint / "optimiser.safetensors")
    try:
        state_of: dict[int, dict[str, Tensor]] = {}
        for i, (name, parameter) in enumerate(parameters(model).items()):
            state_of[i] = {"step": stored[f"{name}:step"]}
            state_of[i] |= {moment: slice_like(stored[f"{name}:{moment}"], parameter) for moment in MOMENTS}
        optimiser.load_state_dict({**optimiser.state_dict(), "state": state_of})
        mine = {name.removeprefix(f"{rank}:"): value for name, value in stored.items() if name.startswith(f"{rank}:")}
        if mine or rank == 0:
            restore_random_state(mine)
        state = json.loads((checkpoint / "state.json").read_text())
        state["scores"] = {int(step): scores for step, scores in state["scores"].items()}
        return Progress(**state)
    except (KeyError, ValueError, TypeError, AttributeError, OSError, RuntimeError) as error:
        raise WeftError(f"{checkpoint} is damaged: {error}.") from None


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


def prune(folder: Path, keep: set[int]) -> None:
    """Drop the weights of other steps, and the optimiser of all but the newest."""
    found = sorted(folder.glob("step-*"))
    for checkpoint in found[:-1]:
        if int(checkpoint.name.removeprefix("step-")) not in keep:
            shutil.rmtree(checkpoint)
        else:
            (checkpoint / "optimiser.safetensors").unlink(missing_ok=True)


def average(folder: Path, steps: list[int]) -> dict[str, Tensor]:
    """The mean of the weights at these steps."""
    files = [path_of(folder, step) / "model.safetensors" for step in steps]
    total = {name: value.double() for name, value in read_weights(files[0]).items()}
    for file in files[1:]:
        for name, value in read_weights(file).items():
            total[name] += value
    return {name: (value / len(files)).float() for name, value in total.items()}


def moments(model: SequenceToSequence, optimiser: Optimizer) -> dict[str, Tensor]:
    """What Adam remembers of each parameter."""
    return {
        f"{name}:{moment}": value
        for name, parameter in parameters(model).items()
        for moment, value in optimiser.state[parameter].items()
    }
