"""A model on disk: a folder with a plan, a tokeniser, weights and what they are for. A run folder is one, and so is
each model that ships with weft.

    plan.yaml            what the model is made of
    tokeniser.json       its subwords
    about.json           its languages, and which heads align words
    model.safetensors    its weights (absent while a training is under way)
    SHA256SUMS           the checksums of its weights and subwords
    README.md            its card, where it has one
    checkpoints/         weights on the way, in a run folder
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from weft.data.corpus import Corpus
from weft.data.languages import Languages, direction_of
from weft.data.tokeniser import Tokeniser
from weft.disk import FULL, SUMS, damage, draft_of, read_text, seal, within, write_text
from weft.errors import NoRoom, WeftError, unknown
from weft.models.sequence_to_sequence import SequenceToSequence
from weft.plans.plan import Plan
from weft.plans.presets import names, plan, read_whole_plan

KINDS = ("F16", "BF16", "F32", "F64")  # that weights are stored as
MOST_BYTES = 100_000  # of about.json or a card
SEALED = ("model.safetensors", "tokeniser.json")  # plan.yaml may be edited, and about.json is added to
SLACK = 4  # as many numbers as a file has may be allocated for a model, for what is built and then shared
DEVICES = ("cpu", "cuda", "mps")
STEP = re.compile(r"step-\d{8,}")
SHIPPED = Path(__file__).parent / "shipped"


def shipped() -> list[str]:
    return sorted(folder.name for folder in SHIPPED.glob("*") if (folder / "plan.yaml").exists())


def _is_model(path: Path) -> bool:
    return (path / "plan.yaml").is_file() and (path / "tokeniser.json").is_file()


def is_plan(name: str) -> bool:
    """Whether a name means a plan, by a preset or a YAML file, and not a model."""
    return name in names() or name.endswith((".yaml", ".yml"))


def find_plan(name: str, also: Sequence[str] = ()) -> Plan:
    """A plan by its name, or the plan of a model; `also` are words that whoever asks would have understood."""
    if is_plan(name):
        return plan(name)
    if name in shipped() or Path(name).exists():
        return Folder.find(name).plan()
    raise WeftError(
        unknown("plan or model", name, [*names(), *shipped(), *also], "weft show plans")
        + " A plan can also be a .yaml file."
    )


@dataclass(frozen=True)
class Folder:
    path: Path

    @classmethod
    def find(cls, name: str | Path) -> "Folder":
        """A folder by its path, or a shipped model by its name. A model of one's own comes before a shipped one."""
        path = Path(name)
        if not _is_model(path) and str(name) in shipped():
            path = SHIPPED / str(name)
        if not path.exists():
            raise WeftError(unknown("model", str(name), shipped()) + " A model can also be a run folder.")
        if not _is_model(path):
            raise WeftError(f"{path} is not a model folder: it has no plan.yaml and tokeniser.json.")
        return cls(path)

    @property
    def name(self) -> str:
        """What `find` finds it by."""
        return self.path.name if self.path.parent == SHIPPED else str(self.path)

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def average(self) -> Path:
        """The weights of a training that has ended."""
        return self.path / "model.safetensors"

    def steps(self) -> list[Path]:
        """The checkpoints, oldest first; a copy that someone keeps beside them is none."""
        return sorted(found for found in self.checkpoints.glob("step-*") if STEP.fullmatch(found.name))

    def plan(self) -> Plan:
        return read_whole_plan(within(self.path, "plan.yaml"))

    def tokeniser(self) -> Tokeniser:
        return Tokeniser.load(within(self.path, "tokeniser.json"))

    def about(self) -> dict[str, Any]:
        """What is known of the model beside its weights; nothing where the file is missing or damaged."""
        try:
            about = json.loads(read_text(within(self.path, "about.json"), MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return about if isinstance(about, dict) else {}

    def card(self) -> str | None:
        """What whoever made the model says of it."""
        try:
            return read_text(within(self.path, "README.md"), MOST_BYTES)
        except (OSError, ValueError):
            return None

    def validated_on(self) -> Corpus | None:
        """The pairs that a run is validated on, where they are there and what was written."""
        tokens = self.path / "tokens" / "valid"
        if not Corpus.exists(tokens):
            return None
        for name in Corpus.FILES:
            within(self.path, f"tokens/valid/{name}")
        return None if damage(tokens, Corpus.FILES) else Corpus(tokens)

    def note(self, **facts: Any) -> None:
        """Write into about.json, beside what is there."""
        write_text(self.path / "about.json", json.dumps({**self.about(), **facts}))

    def languages(self) -> Languages | None:
        match self.about().get("languages"):
            case [str() as source, str() as target]:
                return source, target
        return None

    def describe(self, plan: Plan, tokeniser: Tokeniser, languages: Languages | None) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        self.note(languages=languages and direction_of(languages))
        tokeniser.save(self.path / "tokeniser.json")
        plan.write(self.path / "plan.yaml")  # last: a folder without it is not a model

    def finish(self, weights: dict[str, Tensor]) -> None:
        """A training has ended with these."""
        (self.path / SUMS).unlink(missing_ok=True)  # killed within, a model has no checksum rather than another's
        save_weights(weights, self.average)
        seal(self.path, [name for name in SEALED if (self.path / name).exists()])  # a trial run has no subwords

    def forget(self) -> None:
        """A training goes on: its checkpoints are newer than what it ended with."""
        for name in (SUMS, self.average.name):
            (self.path / name).unlink(missing_ok=True)

    def weights(self) -> Path:
        """The finished model, or the newest checkpoint of a training that has not ended; as it was written."""
        newest = [self.path] if self.average.is_file() else self.steps()[-1:]
        if not newest:
            raise WeftError(f"{self.path} has no weights yet: neither model.safetensors nor a checkpoint.")
        found = within(self.path, str((newest[0] / self.average.name).relative_to(self.path)))
        is_sealed = (newest[0] / SUMS).exists()  # one that was put together by hand need not be
        if is_sealed and (wrong := damage(newest[0], SEALED if newest[0] == self.path else [found.name])):
            raise WeftError(f"{newest[0]} is damaged: {wrong}.")
        return found

    def model(self, device: str = "cpu") -> SequenceToSequence:
        """The model, ready to be used."""
        where, weights = usable_device(device), self.weights()
        plan = self.plan().with_settings({"vocabulary": len(self.tokeniser())})
        with _Budget(weights):
            model = plan.build()
        load_weights(model, weights)
        return model.to(where).eval()


def usable_device(name: str) -> torch.device:
    """cpu, cuda or mps, where there is one."""
    if name.partition(":")[0] not in DEVICES:
        raise WeftError(unknown("device", name, DEVICES))
    try:
        made = torch.zeros(1, device=name)
        made.item()  # a tensor without numbers in it, as of "meta", is of no use
        return made.device
    except (RuntimeError, AssertionError):  # torch says it in both ways
        raise WeftError(f"there is no device {name!r} here: cpu always is, cuda and mps on some machines.") from None


def parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """By name; what is shared stands under its first name only."""
    return dict(model.named_parameters())


def save_weights(weights: dict[str, Tensor], file: Path) -> None:
    """Written under a temporary name and renamed: a file is there as a whole or not at all."""
    with draft_of(file) as draft:
        try:
            save_file({name: value.detach().contiguous().cpu() for name, value in weights.items()}, draft)
        except SafetensorError as error:
            reason = re.search(r"os error (\d+)", str(error))
            kind = NoRoom if reason and int(reason[1]) in FULL else WeftError
            raise kind(f"{file} could not be written: {error}.") from None
        draft.chmod(0o644)  # the library makes it readable for its owner only


def read_weights(file: Path) -> dict[str, Tensor]:
    with _opened(file) as stored:
        return {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118


def load_weights(model: nn.Module, file: Path) -> None:
    """Fill a model; stored as float16 or float32, it becomes what the model is."""
    stored = fitting_weights(model, file)
    with torch.no_grad():
        for name, parameter in parameters(model).items():
            parameter.copy_(stored[name])


def fitting_weights(model: nn.Module, file: Path) -> dict[str, Tensor]:
    """The weights in a file that was written for a model like this one."""
    _refuse_unfitting(model, file)
    return read_weights(file)


class _Budget(TorchFunctionMode):
    """While a model is built it gets no more memory than the file of its weights is worth, whatever its plan claims."""

    def __init__(self, file: Path):
        super().__init__()
        with _opened(file) as stored:
            self.numbers = sum(math.prod(stored.get_slice(name).get_shape()) for name in stored.keys())  # noqa: SIM118
        self.file, self.left = file, SLACK * self.numbers

    def __torch_function__(self, function: Any, types: Any, given: Any = (), options: Any = None) -> Any:
        if function in (torch.empty, torch.zeros, torch.ones):
            self.left -= math.prod(given if isinstance(given[0], int) else given[0])
            if self.left < 0:
                raise WeftError(
                    f"{self.file} does not fit the plan: it has {self.numbers:,} weights, the plan far more."
                )
        return function(*given, **(options or {}))


def _refuse_unfitting(model: nn.Module, file: Path) -> None:
    """By the file's header: nothing is read yet."""
    with _opened(file) as stored:
        shapes = {name: tuple(stored.get_slice(name).get_shape()) for name in stored.keys()}  # noqa: SIM118
        kinds = {name: stored.get_slice(name).get_dtype() for name in shapes}
    wanted = {name: tuple(parameter.shape) for name, parameter in parameters(model).items()}
    wrong = [f"{name} is missing" for name in wanted.keys() - shapes.keys()]
    wrong += [f"{name} is not part of this plan" for name in shapes.keys() - wanted.keys()]
    for name in wanted.keys() & shapes.keys():
        if wanted[name] != shapes[name]:
            wrong.append(f"{name} is {shapes[name]}, and the plan wants {wanted[name]}")
        elif kinds[name] not in KINDS:
            wrong.append(f"{name} is stored as {kinds[name]}, and weights are {', '.join(KINDS)}")
    if wrong:
        listed = "\n".join(f"  {line}" for line in sorted(wrong)[:20])
        raise WeftError(f"{file} does not fit the plan, in {len(wrong)} places:\n{listed}")


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    """A safetensors file. The library refuses a header that promises more or less than the file holds."""
    try:
        with safe_open(file, "pt") as stored:
            yield stored
    except FileNotFoundError:
        raise WeftError(f"{file} is missing.") from None
    except (SafetensorError, OSError) as error:
        raise WeftError(f"{file} is damaged or not a safetensors file: {error}") from None
