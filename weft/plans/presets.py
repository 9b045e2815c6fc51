"""Named plans: short YAML files, each a base plan with a few slots replaced, each citing its paper.

    about: one line
    base: transformer-base        # optional; without it the defaults of Plan
    set: {width: 128, encoder.layers: 4}
"""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from weft.errors import WeftError, unknown
from weft.plans.check import check
from weft.plans.plan import Plan

FOLDER = Path(__file__).parent / "presets"


def names() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


def plan(name: str) -> Plan:
    """A plan by the name of a preset, or from a YAML file (a whole plan, or a base with settings); checked."""
    found = _read(name)
    check(found)
    return found


@cache
def _read(name: str) -> Plan:
    if name.endswith((".yaml", ".yml")):
        return read_plan_file(Path(name))
    if name not in names():
        raise WeftError(unknown("plan", name, names()) + " A plan can also be a .yaml file.")
    return read_plan_file(FOLDER / f"{name}.yaml")


def read_plan_file(file: Path) -> Plan:
    """A whole plan, or a base with settings."""
    data = _yaml(file)
    if "base" not in data and "set" not in data:
        return Plan.from_plain({"name": file.stem, **data}, str(file))
    if strange := data.keys() - {"about", "base", "set"}:
        raise WeftError(f"{file}: {unknown('key of a preset', str(min(strange, key=str)), ['about', 'base', 'set'])}")
    base = _read(data["base"]) if "base" in data else Plan()
    try:
        return base.with_settings({"name": file.stem, "about": data.get("about", ""), **data.get("set", {})})
    except WeftError as error:
        raise WeftError(f"{file}:\n{error}") from None


def _yaml(file: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise WeftError(f"there is no plan file {file}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise WeftError(f"{file} cannot be read: {error}.") from None
    except yaml.YAMLError as error:
        raise WeftError(f"{file} is not YAML: {error}") from None
    if not isinstance(data, dict):
        raise WeftError(f"{file}: a plan is a mapping of sections, not {type(data).__name__}.")
    return data
