"""What every catalogue entry must say of itself."""

import ast
import inspect
import math
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any

import pytest

from tests.contracts.tiny import PLACES, D, part, tiny_plan
from weft.parts.mixer import Mixer
from weft.parts.options import Number, Option, Rate
from weft.plans import catalogues, rules
from weft.plans.catalogue import Catalogue
from weft.plans.part import Part
from weft.plans.rules import NONE, SIDE_SLOTS
from weft.plans.size import outline

EVERY = [
    pytest.param(catalogue, name, id=f"{catalogue.slot}-{name}") for catalogue in catalogues.ALL for name in catalogue
]


def test_all_is_all() -> None:
    assert set(catalogues.ALL) == {thing for thing in vars(catalogues).values() if isinstance(thing, Catalogue)}


def test_every_slot_has_a_contract() -> None:
    assert {catalogue.slot for catalogue in catalogues.ALL} == {*PLACES, "optimiser", "schedule", "batching"}


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
def test_every_option_says_what_it_means(catalogue: Catalogue, name: str) -> None:
    assert [key for key in catalogue.options(name) if not catalogue.declared(name, key).about] == []


@pytest.mark.parametrize(("catalogue", "name"), EVERY)
def test_the_same_option_of_two_parts_has_the_same_bounds(catalogue: Catalogue, name: str) -> None:
    for key in catalogue.options(name):
        others = [each.declared(part, key) for each in catalogues.ALL for part in each if key in each.options(part)]
        assert set(others) == {catalogue.declared(name, key)}


def wrong_values(option: Option) -> Iterator[tuple[object, str]]:
    """Values just beyond the bounds of an option, with what a sentence about them says."""
    if isinstance(option, Rate):
        yield from ((value, "a rate, 0 ≤ p < 1") for value in (-0.1, 1.0, math.nan))
    if option.words:
        yield "sideways", " or ".join(option.words)
    if isinstance(option, Number) and option.least is None:
        yield 0, "more than 0"
    if isinstance(option, Number) and option.least not in (None, -math.inf):
        yield option.least - 1, f"at least {option.least}"
    if isinstance(option, Number) and option.most < math.inf:
        yield option.most + 1, f"at most {option.most}"


@pytest.mark.parametrize(("catalogue", "name"), EVERY)
def test_values_out_of_bounds_are_refused(catalogue: Catalogue, name: str) -> None:
    for key in catalogue.options(name):
        for value, expected in wrong_values(catalogue.declared(name, key)):
            assert catalogue.problems(Part(name, {key: value}), "here") == [
                f"here.{key}: expected {expected}, got {value!r}."
            ]


@pytest.mark.parametrize(("catalogue", "name"), EVERY)
def test_every_number_that_a_plan_may_set_has_bounds(catalogue: Catalogue, name: str) -> None:
    unbounded = {key for key in catalogue.options(name) if not catalogue.problems(Part(name, {key: -1}), "here")}
    assert unbounded <= {"features"}  # bounded by the width


@pytest.mark.parametrize("catalogue", catalogues.ALL, ids=lambda catalogue: catalogue.slot)
def test_options_that_name_parts_are_those_of_some_maker(catalogue: Catalogue) -> None:
    assert set(catalogue.inner) <= {option for name in catalogue for option in catalogue.options(name)}


# What parts declare of themselves

GIVEN: dict[str, Any] = {"width": D, "is_causal": True}
PARTS = (catalogues.MIXERS, catalogues.CROSSES, catalogues.FEED_FORWARDS, catalogues.NORMS, catalogues.POSITIONS)
EVERY_PART = [pytest.param(catalogue, name, id=f"{catalogue.slot}-{name}") for catalogue in PARTS for name in catalogue]


def derived(catalogue: Catalogue, name: str) -> list[str]:
    """The options whose value a maker works out if a plan does not set them."""
    return [option for option, known in catalogue.options(name).items() if known.default is None]


def made(catalogue: Catalogue, name: str) -> Any:
    return part(catalogue, name, *(GIVEN[given] for given in catalogue.given))


@pytest.mark.parametrize(("catalogue", "name"), EVERY_PART)
def test_a_maker_is_annotated_with_the_class_it_makes(catalogue: Catalogue, name: str) -> None:
    """Rules ask the class, before anything is built."""
    assert isinstance(made(catalogue, name), catalogue.makes(name) or NoneType)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_maker_of_stacks_is_annotated_with_the_class_it_makes(side: str) -> None:
    catalogue = {"encoder": catalogues.ENCODERS, "decoder": catalogues.DECODERS}[side]
    for name in catalogue:
        assert type(getattr(outline(tiny_plan(f"{side}.stack", name)), side)) is catalogue.makes(name)


@pytest.mark.parametrize(("catalogue", "name"), [case for case in EVERY_PART if derived(*case.values)])
def test_a_part_has_what_its_maker_derives(catalogue: Catalogue, name: str) -> None:
    """An option with the default None is an attribute of the part, and means the same when it is set."""
    first = made(catalogue, name)
    options = {option: getattr(first, option) for option in derived(catalogue, name)}
    assert None not in options.values()
    again = catalogue.build(Part(name, options), *(GIVEN[given] for given in catalogue.given))
    assert {option: getattr(again, option) for option in options} == options
    assert [p.shape for p in again.parameters()] == [p.shape for p in first.parameters()]


def test_only_these_parts_derive_options() -> None:
    """Others would need a line in `plans.resolved`, which knows what to give them."""
    for catalogue in set(catalogues.ALL) - set(PARTS):
        assert not [name for name in catalogue if derived(catalogue, name)]


@pytest.mark.parametrize(
    "catalogue", [catalogues.MIXERS, catalogues.CROSSES, catalogues.FEED_FORWARDS], ids=lambda c: c.slot
)
def test_a_body_describes_itself(catalogue: Catalogue) -> None:
    for name in catalogue:
        body = made(catalogue, name)
        if body is not None:
            block, own = body.block(), set(body.parameters())
            assert block.name
            assert block.parameters == sum(p.numel() for p in own), name
            assert body.role
            assert own.issuperset([*body.last_weights(), *body.gated_weights()])


def test_what_one_side_gives_the_other_uses() -> None:
    """By the same words."""
    gives = {extra for name in catalogues.ENCODERS for extra in catalogues.ENCODERS.makes(name).gives}
    takers = [catalogues.DECODERS.makes(name) for name in catalogues.DECODERS]
    takers += [catalogues.CROSSES.makes(name) or Mixer for name in catalogues.CROSSES]
    assert gives == {extra for taker in takers for extra in (*taker.needs, *taker.uses)}


def test_slots_that_a_decoder_is_without_have_a_part_that_does_nothing() -> None:
    for name in catalogues.DECODERS:
        declared = catalogues.DECODERS.makes(name)
        for slot in (*declared.without, *declared.without_at_bottom):
            assert NONE in SIDE_SLOTS[slot]
        assert declared.crosses in (None, "each layer", "once")


def test_rules_name_no_stack() -> None:
    """They read what stacks declare."""
    words = {
        node.value for node in ast.walk(ast.parse(Path(rules.__file__).read_text())) if isinstance(node, ast.Constant)
    }
    assert not words & {*catalogues.ENCODERS, *catalogues.DECODERS}
