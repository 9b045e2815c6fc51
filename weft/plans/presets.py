"""Presets: plans as short YAML files, each a base plan with a few slots replaced, citing its paper.

    about: one line
    base: transformer-base        # optional; without it the defaults of Plan
    set: {width: 128, encoder.layers: 4}

A base is another preset, or a file in the same folder.
"""

from pathlib import Path
from typing import Any

import yaml

from weft.disk import read_text
from weft.errors import WeftError, unknown
from weft.plans.notation import read_yaml
from weft.plans.plan import Plan
from weft.plans.rules import check

FOLDER = Path(__file__).parent / "presets"
KEYS = ("about", "base", "set")
MOST_BYTES = 100_000  # of a plan file


def names() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


def plan(name: str) -> Plan:
    """The checked plan of a preset, or of a YAML file (a complete plan, or a base with settings)."""
    found = read_plan_file(_file_of(name, Path()))
    check(found)
    return found


def read_plan_file(file: Path, above: tuple[Path, ...] = ()) -> Plan:
    """Read a complete plan, or a base with settings; `above` are the files that have this one as base."""
    data = _yaml(file)
    if "base" not in data and "set" not in data:
        return Plan.from_dict({"name": file.stem, **data}, str(file))
    if strange := sorted(map(str, data.keys() - set(KEYS))):
        raise WeftError("\n".join(f"{file}: {unknown('key of a preset', key, KEYS)}" for key in strange))
    settings = data.get("set") or {}
    if not isinstance(settings, dict):
        raise WeftError(f"{file}: set is a mapping from settings to values, not {settings!r}.")
    above = (*above, file.resolve())
    base = _base(file, str(data["base"]), above) if "base" in data else Plan()
    try:
        return base.with_settings({"name": file.stem, "about": data.get("about", ""), **settings})
    except WeftError as error:
        raise WeftError(f"{file}:\n{error}") from None


def read_whole_plan(file: Path) -> Plan:
    """Read the plan of a model, which is untrusted: it must be complete, and refer to no other file."""
    data = _yaml(file)
    if "base" in data or "set" in data:
        raise WeftError(f"{file}: the plan of a model must be complete; base and set are for plans to train with.")
    return Plan.from_dict({"name": file.stem, **data}, str(file))


def _base(file: Path, name: str, above: tuple[Path, ...]) -> Plan:
    try:
        found = _file_of(name, file.parent)
    except WeftError as error:
        raise WeftError(f"{file}: {error}") from None
    if found.resolve() in above:
        raise WeftError(f"{file}: circular base {name}.")
    return read_plan_file(found, above)


def _file_of(name: str, folder: Path) -> Path:
    if name.endswith((".yaml", ".yml")):
        return folder / name
    if name not in names():
        raise WeftError(unknown("plan", name, names(), "weft show plans") + " A plan can also be a .yaml file.")
    return FOLDER / f"{name}.yaml"


def _yaml(file: Path) -> dict[str, Any]:
    try:
        data = read_yaml(read_text(file, MOST_BYTES))
    except FileNotFoundError:
        raise WeftError(f"there is no plan file {file}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise WeftError(f"{file} cannot be read: {error}.") from None
    except yaml.YAMLError as error:
        raise WeftError(f"{file} is not YAML: {error}") from None
    if not isinstance(data, dict):
        raise WeftError(f"{file}: a plan is a mapping of sections, not {type(data).__name__}.")
    return data
