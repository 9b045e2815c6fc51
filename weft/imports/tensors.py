"""The tensors of an untrusted file: each is requested by name and shape, and any left over is an error."""

import pickle
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from weft.errors import WeftError
from weft.imports.facts import Facts, read_json
from weft.weights import read_weights

FEW = 8  # faults that are listed
INDEX = re.compile(r"[\w.-]+\.(safetensors|bin)")  # a file beside the index, and nowhere else


class Tensors:
    """Tensors by name. `take` collects what is missing or misshapen; `refuse` says all of it at once."""

    def __init__(self, stored: Mapping[str, Tensor], where: str):
        self.stored = stored
        self.where = where
        self.taken: set[str] = set()
        self.wrong: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self.stored

    def take(self, name: str, *shape: int) -> Tensor:
        """The tensor, which has to have this shape; where it is wrong, one without numbers."""
        found = self.stored.get(name)
        self.taken.add(name)
        if found is None:
            self.wrong.append(f"{name} is missing")
        elif tuple(found.shape) != shape:
            self.wrong.append(f"{name} is {tuple(found.shape)}, but the configuration needs {shape}")
        elif not found.is_floating_point():
            self.wrong.append(f"{name} is stored as {str(found.dtype).removeprefix('torch.')}, expected floats")
        else:
            return found
        return torch.empty(shape, device="meta")

    def refuse(self, ignored: str) -> None:
        """Raise an error if something was wrong or is left over; names that match `ignored` may be."""
        left = [name for name in self.stored if name not in self.taken and not re.search(ignored, name)]
        wrong = self.wrong + [f"{name} has no place in a model of this shape" for name in sorted(left)]
        if wrong:
            more = f"\n  … and {len(wrong) - FEW} more" if len(wrong) > FEW else ""
            listed = "\n".join(f"  {line}" for line in wrong[:FEW])
            raise WeftError(f"{self.where} does not match its configuration:\n{listed}{more}")


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """The weights of a Hugging Face folder, in one file or in several: safetensors, or a pickle without its code."""
    for name, read in (("model.safetensors", read_weights), ("pytorch_model.bin", _unpickled)):
        if (index := folder / f"{name}.index.json").is_file():
            parts = _parts(index)
            return {key: value for part in parts for key, value in read(folder / part).items()}
        if (folder / name).is_file():
            return read(folder / name)
    raise WeftError(f"{folder} has no weights: neither model.safetensors nor pytorch_model.bin, nor an index of parts.")


def _parts(index: Path) -> list[str]:
    facts = Facts(read_json(index), str(index))
    places = facts.values.get("weight_map")
    if not isinstance(places, dict) or not places:
        raise WeftError(f"{index} has no weight_map, which says where each tensor is.")
    parts = sorted(set(map(str, places.values())))
    for part in parts:
        if not INDEX.fullmatch(part):
            raise WeftError(f"{index} names {part!r}: expected a file in the same folder.")
        if not (index.parent / part).is_file():
            raise WeftError(f"{index} names {part}, which is missing.")
    return parts


def _unpickled(file: Path) -> dict[str, Tensor]:
    try:
        found = torch.load(file, map_location="cpu", weights_only=True)
    except (
        pickle.UnpicklingError,
        RuntimeError,
        EOFError,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
    ) as error:
        raise WeftError(f"{file} is damaged, or holds more than tensors ({type(error).__name__}).") from None
    if not isinstance(found, dict) or not all(isinstance(value, Tensor) for value in found.values()):
        raise WeftError(f"{file} holds more than tensors by name.")
    return {str(name): value for name, value in found.items()}
