"""What every catalogue entry must say of itself."""

import inspect

import pytest

from tests.contracts.tiny import PLACES
from weft.plans import catalogues
from weft.plans.catalogue import Catalogue
from weft.plans.rules import out_of_bounds

EVERY = [
    pytest.param(catalogue, name, id=f"{catalogue.slot}-{name}") for catalogue in catalogues.ALL for name in catalogue
]


def test_all_is_all() -> None:
    assert set(catalogues.ALL) == {thing for thing in vars(catalogues).values() if isinstance(thing, Catalogue)}


def test_every_slot_has_a_contract() -> None:
    assert {catalogue.slot for catalogue in catalogues.ALL} == {*PLACES, "schedule"}


@pytest.mark.parametrize(("catalogue", "name"), EVERY)
def test_it_says_what_it_is_in_one_line(catalogue: Catalogue, name: str) -> None:
    paragraphs = (inspect.getdoc(catalogue.makers[name]) or "").split("\n\n")
    assert catalogue.about(name)
    assert "\n" not in paragraphs[0].strip(), "the first paragraph is the line that help prints"


@pytest.mark.parametrize(("catalogue", "name"), EVERY)
def test_it_is_given_what_its_catalogue_says(catalogue: Catalogue, name: str) -> None:
    parameters = list(inspect.signature(catalogue.makers[name]).parameters)
    assert tuple(parameters[: len(catalogue.given)]) == catalogue.given


@pytest.mark.parametrize(("catalogue", "name"), EVERY)
def test_every_option_has_a_default(catalogue: Catalogue, name: str) -> None:
    assert [key for key, option in catalogue.options(name).items() if option.default is inspect.Parameter.empty] == []


@pytest.mark.parametrize(("catalogue", "name"), EVERY)
def test_every_number_that_a_plan_may_set_has_bounds(catalogue: Catalogue, name: str) -> None:
    numbers = {key for key, option in catalogue.options(name).items() if option.annotation in (int, int | None, float)}
    unbounded = {key for key in numbers if not list(out_of_bounds(key, -1))}
    assert unbounded <= {"features"}  # bounded by the width


@pytest.mark.parametrize("catalogue", catalogues.ALL, ids=lambda catalogue: catalogue.slot)
def test_options_that_name_parts_are_those_of_some_maker(catalogue: Catalogue) -> None:
    assert set(catalogue.inner) <= {option for name in catalogue for option in catalogue.options(name)}
