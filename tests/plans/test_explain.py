from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from weft.plans import presets
from weft.plans.catalogues import ALL
from weft.plans.explain import explained
from weft.plans.part import Part
from weft.plans.plan import Plan
from weft.plans.resolved import resolved


def every_field(section: Any) -> list[Any]:
    inside = [getattr(section, field.name) for field in fields(section)]
    nested = [value for value in inside if is_dataclass(value) and not isinstance(value, Part)]
    return [*fields(section), *(field for value in nested for field in every_field(value))]


def test_every_setting_is_explained() -> None:
    assert [field.name for field in every_field(Plan()) if not field.metadata["option"].about] == []


def test_every_part_is_explained() -> None:
    assert [name for catalogue in ALL for name in catalogue if not catalogue.about(name)] == []


@pytest.mark.parametrize("name", presets.names())
def test_explained_plan_is_the_same_plan_in_full(name: str, tmp_path: Path) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(explained(presets.plan(name), 120), encoding="utf-8")
    assert presets.plan(str(file)) == resolved(presets.plan(name))


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("name", presets.names())
def test_explained_plan_fits_and_explains_every_line(name: str, columns: int) -> None:
    lines = explained(presets.plan(name), columns).splitlines()
    assert max(map(len, lines)) <= max(columns, 80)
    bare = [line for line in lines if "#" not in line]
    about = next(number for number, line in enumerate(lines) if line.startswith("about:"))
    assert lines[about - 1].startswith("# ")
    assert bare == lines[about : about + len(bare)], "only this text has its explanation above it"


def test_list_of_parts_explains_each_part() -> None:
    plan = Plan().with_settings(
        {"encoder.norm": ["layer", {"name": "rms", "epsilon": 0.1}], "encoder.mixer": ["gru", "lstm"]}
    )
    said = explained(plan, 80)
    assert "  norm:                 # normalisation; these take turns from layer to layer\n" in said
    assert "  - name: rms " in said
    assert "    epsilon: 0.1 " in said
