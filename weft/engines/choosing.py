"""Which engine decodes: the one asked for, or the faster one that is known to agree with the model.

An engine is a folder in the user's cache, named by all that it depends on: weights, plan and subwords of the model, the
precision, the versions, the machine. It is written completely or not at all. Its record.json says what was found, also
when the answer is no, so that nobody waits for it twice.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from weft.data.codecs import Subwords
from weft.data.texts import Texts
from weft.disk import SUMS, checksum, damage, seal, sums
from weft.errors import NoRoom, WeftError, install, unknown
from weft.folder import Folder
from weft.machine import ask, cache_file, key, may_use

if TYPE_CHECKING:
    from weft.engines.ctranslate2 import CTranslate2
    from weft.tasks.translator import Translator

ENGINES = ("auto", "torch", "ctranslate2")
PRECISIONS = ("float32", "int8")
FORMAT = 1  # of an engine's folder: another number makes all of them again
RECORD = "record.json"
KEPT = 16  # engines in the cache, those used last
WORTH = 10_000  # bytes of text from which an engine is worth making
PATIENCE = 1800.0  # seconds
FINAL = (
    "no answer",
    "killed by SIGILL",
    "killed by SIGSEGV",
    "killed by SIGBUS",
    "killed by SIGFPE",
    "killed by SIGABRT",
)
MAKE = """
import json, sys
from weft.engines.making import make
print(json.dumps(make(*sys.argv[1:])))
"""


@dataclass(frozen=True)
class Record:
    """What is known of an engine."""

    trouble: str | None  # why there is none
    limit: int = 0  # the most tokens of a source
    longest: int | None = None  # and of a translation
    gap: float = 0.0  # the largest difference in the log-probability of a token


@dataclass(frozen=True)
class Choice:
    """What the user asks for."""

    engine: str = "auto"
    precision: str = "float32"

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise WeftError(unknown("engine", self.engine, ENGINES))
        if self.precision not in PRECISIONS:
            raise WeftError(unknown("precision of an engine", self.precision, PRECISIONS))
        if self.precision != "float32":
            if self.engine == "torch":
                raise WeftError(f"precision {self.precision} needs engine ctranslate2; torch decodes in float32.")
            if not may_use(self.precision):
                raise WeftError(f"this machine cannot compute in {self.precision}; weft doctor shows what it can.")

    @property
    def is_demand(self) -> bool:
        """Whether torch in float32 would not be what was asked for."""
        return self.engine == "ctranslate2" or self.precision != "float32"

    def refuse(self, trouble: str) -> None:
        """Raise an error if torch in float32 would not do."""
        if self.is_demand:
            raise WeftError(f"engine ctranslate2 cannot be used here: {trouble}")


def is_worth(file: Path | None) -> bool:
    """Whether a text is so long that making an engine pays. Standard input counts if it is a file."""
    with suppress(OSError, ValueError):
        found = os.fstat(sys.stdin.fileno()) if file is None else file.stat()
        return found.st_size >= WORTH  # a pipe has no size
    return False


def engine_of(
    folders: Sequence[Folder], choice: Choice, make: bool, device: str = "cpu", workers: int = 1
) -> "CTranslate2 | None":
    """The engine for a translator, made if it is not there and is demanded or `make` says so; None: torch decodes."""
    if choice.engine == "torch":
        return None
    record, place = Record(_obstacle(folders, device)), Path()
    if not record.trouble:
        make = make or choice.is_demand
        if not make and not _cache().is_dir():
            return None  # without a look at the weights
        place = _place(folders[0], choice.precision)
        known = _record(place)
        if known is None and not make:
            return None
        record = known or _made(folders[0], place, choice.precision)
    if record.trouble:
        choice.refuse(record.trouble)
        return None
    from weft.engines.ctranslate2 import CTranslate2

    codec = folders[0].codec()
    assert isinstance(codec, Subwords)
    engine = CTranslate2(place, codec, choice.precision, record.limit, record.longest, workers)
    if choice.precision != "float32":
        engine.name += f" (log-probabilities differ by up to {record.gap:.2g})"
    return engine


def equip(predictors: Sequence[Any], choice: Choice, make: bool = True) -> dict[str, str]:
    """Give loaded translators the engine of this choice; return the engines' names by those of the models."""
    translators = cast("list[Translator]", [each for each in predictors if isinstance(each, Texts)])
    if not translators:
        choice.refuse(f"{predictors[0].name} does not translate.")
    for each in translators:
        each.engine = engine_of(each.folders, choice, make, each.device)
    return {each.name: each.engine.name for each in translators if each.engine}


def _obstacle(folders: Sequence[Folder], device: str) -> str | None:
    if find_spec("ctranslate2") is None:
        return f"it is not installed: {install('export')}."
    if len(folders) > 1:
        return "an ensemble is decoded by torch."
    return None if device == "cpu" else f"on {device}, torch decodes."


def _cache() -> Path:
    return cache_file().with_name("engines")


def _place(folder: Folder, precision: str) -> Path:
    """The folder of an engine, whether it exists or not."""
    weights = folder.weights()  # an error if they are damaged
    known = sums(weights.parent) if (weights.parent / SUMS).exists() else {}
    files = [checksum(folder.path / name) for name in ("plan.yaml", "tokeniser.json")]
    depends = (FORMAT, version("ctranslate2"), precision, key(), known.get(weights.name) or checksum(weights), *files)
    return _cache() / hashlib.sha256(json.dumps(depends).encode()).hexdigest()[:32]


def _record(place: Path) -> Record | None:
    """What is known of an engine; None if it is not there or damaged."""
    if not place.is_dir():
        return None
    with suppress(OSError, ValueError, KeyError, WeftError):
        if damage(place, [RECORD, *sums(place)]) is None:
            found = json.loads((place / RECORD).read_text(encoding="utf-8"))
            with suppress(OSError):
                os.utime(place)  # used now
            return Record(*(found[name] for name in ("trouble", "limit", "longest", "gap")))
    return None


def _made(folder: Folder, place: Path, precision: str) -> Record:
    """Make an engine, or find out why there can be none, and record it."""
    from weft.exports.ctranslate2_spec import refuse_inexpressible
    from weft.tasks import load

    load(Path(folder.name), verb="translate")  # what is wrong with the model itself is said first
    found: dict[str, Any] = {"limit": 0, "longest": None, "gap": 0.0}
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".", dir=place.parent, ignore_cleanup_errors=True) as room:
            draft = Path(room) / "engine"
            draft.mkdir()
            try:
                refuse_inexpressible(folder.plan())
            except WeftError as error:
                found["trouble"] = str(error)
            else:
                seconds = 10 + folder.weights().stat().st_size / 2e6
                print(f"preparing CTranslate2 for {folder.name}, once: about {seconds:.0f} seconds", file=sys.stderr)
                answer = ask(MAKE, str(folder.path.resolve()), str(draft), precision, patience=PATIENCE)
                if answer.trouble and not answer.trouble.startswith(FINAL):  # a full disk: another time it may work
                    return Record(f"it could not be prepared: {answer.trouble}.")
                found |= answer.value or {"trouble": f"it cannot run here: {answer.trouble}."}
            if found["trouble"]:  # only the answer is kept
                draft = Path(room) / "answer"
                draft.mkdir()
            (draft / RECORD).write_text(json.dumps(found), encoding="utf-8")
            seal(draft, [each.name for each in draft.iterdir()])
            if place.exists() and _record(place) is None:  # damaged; another process may have made it by now
                place.rename(Path(room) / "damaged")
            with suppress(OSError):  # another process was faster
                draft.rename(place)
            _tidy(place.parent)
            return _record(place) or Record(f"{place} cannot be read.")
    except (OSError, NoRoom) as error:
        return Record(f"{place.parent} cannot be written: {error}.")


def _tidy(engines: Path) -> None:
    """Remove the engines that were not used for longest, and what killed processes left."""
    newest = sorted(((each.stat().st_mtime, each) for each in engines.iterdir()), reverse=True)
    for _, old in [one for one in newest if not one[1].name.startswith(".")][KEPT:]:
        rmtree(old, ignore_errors=True)
    for changed, left in newest:
        if left.name.startswith(".") and changed < time.time() - PATIENCE:
            rmtree(left, ignore_errors=True)
