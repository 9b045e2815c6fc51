"""A model folder: a plan, a tokeniser and weights on disk. Run folders and the models that ship with weft are such.

plan.yaml            the plan of the model
tokeniser.json       its codec
about.json           facts recorded by its task, such as languages
model.safetensors    its weights (absent during training)
SHA256SUMS           checksums of its weights and subwords
README.md            its model card, if it has one
checkpoints/         in a run folder

Plan and weights need torch, and import it when they are read: a folder whose engine is another program is opened
without.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from weft.data import codecs
from weft.data.codecs import Codec
from weft.data.corpus import Corpus
from weft.disk import SUMS, damage, path_inside, read_text, seal, write_text
from weft.errors import WeftError, unknown

if TYPE_CHECKING:
    from torch import Tensor

    from weft.models.base import Model
    from weft.plans.plan import Plan

MOST_BYTES = 100_000  # of about.json or a card
SEALED = ("model.safetensors", "tokeniser.json")  # plan.yaml and about.json may be edited
STEP = re.compile(r"step-\d{8,}")
SHIPPED = Path(__file__).parent / "shipped"


def shipped() -> list[str]:
    return sorted(folder.name for folder in SHIPPED.glob("*") if (folder / "plan.yaml").exists())


def _is_model(path: Path) -> bool:
    return (path / "plan.yaml").is_file() and (path / "tokeniser.json").is_file()


def is_plan(name: str) -> bool:
    """Whether a name is that of a preset or a YAML file, and not of a model."""
    from weft.plans.presets import names

    return name in names() or name.endswith((".yaml", ".yml"))


def find_plan(name: str, also: Sequence[str] = ()) -> "Plan":
    """A plan by its name, or the plan of a model; errors also suggest the names in `also`."""
    from weft.plans.presets import names, plan

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
        """Find a folder by its path, or a shipped model by its name. A local folder takes precedence."""
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
        """The name by which `find` finds the folder."""
        return self.path.name if self.path.parent == SHIPPED else str(self.path)

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def average(self) -> Path:
        """The file of the final weights."""
        return self.path / "model.safetensors"

    def steps(self) -> list[Path]:
        """The checkpoints, oldest first, without renamed copies."""
        return sorted(found for found in self.checkpoints.glob("step-*") if STEP.fullmatch(found.name))

    def plan(self) -> "Plan":
        from weft.plans.presets import read_whole_plan

        return _parsed(path_inside(self.path, "plan.yaml"), read_whole_plan)

    def codec(self, name: str = "tokeniser") -> Codec:
        """The codec in this file; a task may have several."""
        return _parsed(path_inside(self.path, f"{name}.json"), codecs.load)

    def about(self) -> dict[str, Any]:
        """The facts recorded by the task; empty if the file is missing or damaged."""
        try:
            about = json.loads(read_text(path_inside(self.path, "about.json"), MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return about if isinstance(about, dict) else {}

    def card(self) -> str | None:
        """The model card, if there is one."""
        try:
            return read_text(path_inside(self.path, "README.md"), MOST_BYTES)
        except (OSError, ValueError):
            return None

    def validated_on(self) -> Corpus | None:
        """The validation set of a run, if it exists and is undamaged."""
        tokens = self.path / "tokens" / "valid"
        if not Corpus.exists(tokens):
            return None
        for name in Corpus.FILES:
            path_inside(self.path, f"tokens/valid/{name}")
        return None if damage(tokens, Corpus.FILES) else Corpus(tokens)

    def note(self, **facts: Any) -> None:
        """Add facts to about.json."""
        write_text(self.path / "about.json", json.dumps({**self.about(), **facts}))

    def describe(self, plan: "Plan", own: Mapping[str, Codec], **facts: Any) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        self.note(**facts)
        for name, codec in own.items():
            codec.save(self.path / f"{name}.json")
        plan.write(self.path / "plan.yaml")  # last: a folder without it is not a model

    def finish(self, weights: "dict[str, Tensor]") -> None:
        """Write the final weights of a training."""
        from weft.weights import save_weights

        (self.path / SUMS).unlink(missing_ok=True)  # if killed here: no checksum rather than a wrong one
        save_weights(weights, self.average)
        seal(self.path, [name for name in SEALED if (self.path / name).exists()])  # a trial run has no subwords

    def forget(self) -> None:
        """Delete the final weights when a training continues: its checkpoints are newer."""
        for name in (SUMS, self.average.name):
            (self.path / name).unlink(missing_ok=True)

    def weights(self) -> Path:
        """The file of the final weights, or of the newest checkpoint of an unfinished training, undamaged."""
        newest = [self.path] if self.average.is_file() else self.steps()[-1:]
        if not newest:
            raise WeftError(f"{self.path} has no weights yet: neither model.safetensors nor a checkpoint.")
        found = path_inside(self.path, str((newest[0] / self.average.name).relative_to(self.path)))
        is_sealed = (newest[0] / SUMS).exists()  # optional, for folders assembled by hand
        if is_sealed and (wrong := damage(newest[0], SEALED if newest[0] == self.path else [found.name])):
            raise WeftError(f"{newest[0]} is damaged: {wrong}.")
        return found

    def model(self, device: str = "cpu") -> "Model":
        """Load the model, ready for use."""
        from weft.plans.size import outline
        from weft.weights import check_weights, load_weights, usable_device

        where, weights, plan = usable_device(device), self.weights(), self.plan()
        check_weights(outline(plan), weights)
        model = outline(plan, "cpu")
        load_weights(model, weights)
        return model.to(where).eval()


Parsed = TypeVar("Parsed")


_CACHE: dict[Path, tuple[tuple[int, int], Any]] = {}  # by file: (time of change, size), parsed contents


def _parsed(file: Path, parse: Callable[[Path], Parsed]) -> Parsed:
    """Parse a file, or return the cached result if the file is unchanged."""
    try:
        stat = file.stat()
    except OSError:
        return parse(file)  # raises the error
    stamp = stat.st_mtime_ns, stat.st_size
    if _CACHE.get(file, (None,))[0] != stamp:
        _CACHE[file] = stamp, parse(file)
    parsed: Parsed = _CACHE[file][1]
    return parsed
