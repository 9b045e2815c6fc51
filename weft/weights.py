"""Weights on disk, as safetensors files that fit a model, and the devices to compute on."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from weft.disk import FULL, draft_of
from weft.errors import NoRoom, WeftError, unknown

TYPES = ("F16", "BF16", "F32", "F64")  # that weights are stored as
DEVICES = ("cpu", "cuda", "mps")


def usable_device(name: str) -> torch.device:
    """The device with this name (cpu, cuda or mps), if it is available."""
    if name.partition(":")[0] not in DEVICES:
        raise WeftError(unknown("device", name, DEVICES))
    try:
        made = torch.zeros(1, device=name)
        made.item()  # fails for "meta", whose tensors hold no numbers
        return made.device
    except (RuntimeError, AssertionError):  # torch raises either
        raise WeftError(f"device {name!r} is not available on this machine.") from None


def parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters by name; shared ones have only their first name."""
    return dict(model.named_parameters())


def save_weights(weights: dict[str, Tensor], file: Path) -> None:
    """Write weights under a temporary name and rename the file: it exists as a whole or not at all."""
    with draft_of(file) as draft:
        try:
            save_file({name: value.detach().contiguous().cpu() for name, value in weights.items()}, draft)
        except SafetensorError as error:
            reason = re.search(r"os error (\d+)", str(error))
            kind = NoRoom if reason and int(reason[1]) in FULL else WeftError
            raise kind(f"{file} could not be written: {error}.") from None
        draft.chmod(0o644)  # safetensors makes it readable for its owner only


def read_weights(file: Path) -> dict[str, Tensor]:
    with _opened(file) as stored:
        return {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118


def load_weights(model: nn.Module, file: Path) -> None:
    """Load weights into a model, converted to the model's type."""
    stored = fitting_weights(model, file)
    with torch.no_grad():
        for name, parameter in parameters(model).items():
            parameter.copy_(stored[name])


def fitting_weights(model: nn.Module, file: Path) -> dict[str, Tensor]:
    """The weights in a file, if they fit the model."""
    check_weights(model, file)
    return read_weights(file)


def check_weights(model: nn.Module, file: Path) -> None:
    """Raise an error if a file does not fit the model, judging by its header. The model may be on the meta device: then
    a plan that is larger than its weights costs no memory."""
    with _opened(file) as stored:
        shapes = {name: tuple(stored.get_slice(name).get_shape()) for name in stored.keys()}  # noqa: SIM118
        types = {name: stored.get_slice(name).get_dtype() for name in shapes}
    wanted = {name: tuple(parameter.shape) for name, parameter in parameters(model).items()}
    wrong = [f"{name} is missing" for name in wanted.keys() - shapes.keys()]
    wrong += [f"{name} is not part of this plan" for name in shapes.keys() - wanted.keys()]
    for name in wanted.keys() & shapes.keys():
        if wanted[name] != shapes[name]:
            wrong.append(f"{name} is {shapes[name]}, but the plan needs {wanted[name]}")
        elif types[name] not in TYPES:
            wrong.append(f"{name} is stored as {types[name]}, expected {', '.join(TYPES)}")
    if wrong:
        listed = "\n".join(f"  {line}" for line in sorted(wrong)[:20])
        raise WeftError(f"{file} does not fit the plan, in {len(wrong)} places:\n{listed}")


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    """Open a safetensors file. The library rejects a header that does not match the size of the file."""
    try:
        with safe_open(file, "pt") as stored:
            yield stored
    except FileNotFoundError:
        raise WeftError(f"{file} is missing.") from None
    except (SafetensorError, OSError) as error:
        raise WeftError(f"{file} is damaged or not a safetensors file: {error}") from None
