"""Other names for settings and parts are read everywhere, and never written."""

from typing import Any

import pytest

from weft.plans.aliases import FORMER_SECTION, PARTS, SETTINGS
from weft.plans.catalogues import DECODERS, ENCODERS, JOINS
from weft.plans.part import Part
from weft.plans.plan import Plan

PLAN = Plan()


def value_of(plan: Plan, path: str) -> Any:
    """What a setting has, in the first section that knows it: value_of(plan, "layers") → 6."""
    *slot, name = path.split(".")
    for thing in (plan, plan.training, plan.encoder):
        if hasattr(thing, first := (*slot, name)[0]):
            found = getattr(thing, first)
            return found.options[name] if slot else found
    raise AssertionError(f"no section has {path}")


def all_words(thing: Any) -> set[str]:
    """Every key and every word of a plan as YAML has it."""
    if isinstance(thing, dict):
        return {*thing, *(word for value in thing.values() for word in all_words(value))}
    if isinstance(thing, list):
        return {word for value in thing for word in all_words(value)}
    return {thing} if isinstance(thing, str) else set()


@pytest.mark.parametrize(("alias", "current"), SETTINGS.items())
def test_an_alias_sets_the_current_setting(alias: str, current: str) -> None:
    value: Any = 0.25 if current in ("rate", "head.smoothing", "clip") else 3
    value = Part("adamw") if current == "optimiser" else value
    by_alias, by_name = (PLAN.with_settings({name: value}) for name in (alias, current))
    assert by_alias == by_name != PLAN
    assert value_of(by_alias, current) == value
    assert PLAN.with_settings([f"{alias.replace('_', '-')}={value}"]) == by_name, "with hyphens, as on a command line"
    assert Plan.from_dict({alias: value}, "plan.yaml") == by_name
    assert not {alias} - {current.split(".")[-1]} & all_words(by_alias.to_dict()), "what is written has current names"


@pytest.mark.parametrize(
    ("alias", "current"), [("encoder.num_layers", "encoder.layers"), ("training.lr", "training.rate")]
)
def test_an_alias_works_inside_a_section(alias: str, current: str) -> None:
    section, name = alias.split(".")
    expected = PLAN.with_settings({current: 2})
    assert PLAN.with_settings({alias: 2}) == expected
    assert Plan.from_dict({section: {name: 2}}, "plan.yaml") == expected


def test_a_setting_that_names_its_part_already_is_no_alias() -> None:
    expected = PLAN.with_settings({"warmup": 7})
    assert PLAN.with_settings({"schedule.warmup": 7}) == PLAN.with_settings({"training.schedule.warmup": 7}) == expected
    assert PLAN.with_settings({"head.label_smoothing": 0.3}) == PLAN.with_settings({"head.smoothing": 0.3})


FORMER = {"vocabulary": 300, "embedding": "plain", "position": "none", "head": "linear", "sharing": "separate"}


def test_the_former_section_of_embedding_position_and_head_still_loads() -> None:
    section = FORMER_SECTION.removesuffix(".")
    expected = PLAN.with_settings(FORMER)
    assert Plan.from_dict({section: FORMER}, "plan.yaml") == expected
    assert PLAN.with_settings({FORMER_SECTION + name: value for name, value in FORMER.items()}) == expected
    assert section not in expected.to_dict()


CATALOGUES = {"join": (JOINS,), "stack": (ENCODERS, DECODERS)}
FORMER_PARTS = [(slot, old, new) for slot, names in PARTS.items() for old, new in names.items()]


@pytest.mark.parametrize(("slot", "old", "new"), FORMER_PARTS)
def test_a_former_name_of_a_part_still_loads(slot: str, old: str, new: str) -> None:
    assert any(new in catalogue for catalogue in CATALOGUES[slot])
    assert not any(old in catalogue for catalogue in CATALOGUES[slot])
    for given in (old, {"name": old, "factor": 2.0}, [old, {"name": old}] if slot == "join" else old):
        written = all_words(Plan.from_dict({"decoder": {slot: given}}, "plan.yaml").to_dict())
        assert new in written
        assert old not in written
