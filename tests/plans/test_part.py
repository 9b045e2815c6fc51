"""A part as plain data."""

from dataclasses import FrozenInstanceError

import pytest

from weft.errors import WeftError
from weft.plans.part import Part


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ("swiglu", Part("swiglu")),
        ({"name": "attention", "heads": 4}, Part("attention", {"heads": 4})),
        ({"name": "tied"}, Part("tied")),
        (Part("rms"), Part("rms")),
        (None, Part("none")),  # what YAML makes of null
        (False, Part("no")),  # what YAML makes of no
        (3, Part("3")),
    ],
)
def test_what_a_part_is_read_from(given: object, part: Part) -> None:
    assert Part.read(given, "norm") == part


@pytest.mark.parametrize("given", [{"heads": 4}, {"name": 3}, ["attention"], {}])
def test_what_is_no_part(given: object) -> None:
    with pytest.raises(WeftError) as error:
        Part.read(given, "encoder.mixer")
    assert str(error.value) == (
        f"encoder.mixer: a part is a name, or a mapping with a name and options, not {given!r}."
    )


@pytest.mark.parametrize("part", [Part("swiglu"), Part("attention", {"heads": 4, "dropout": 0.1})])
def test_there_and_back(part: Part) -> None:
    assert Part.read(part.to_dict(), "mixer") == part


def test_a_part_without_options_is_its_name() -> None:
    assert Part("swiglu").to_dict() == "swiglu"


def test_an_option_more() -> None:
    part = Part("attention", {"heads": 4})
    assert part.with_option("dropout", 0.1) == Part("attention", {"heads": 4, "dropout": 0.1})
    assert part.with_option("heads", 2) == Part("attention", {"heads": 2})
    assert part.options == {"heads": 4}


def test_a_part_in_words() -> None:
    assert str(Part("attention", {"heads": 4, "dropout": 0.1})) == "attention (heads: 4, dropout: 0.1)"
    assert str(Part("rms")) == "rms"


def test_a_part_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Part("rms").name = "layer"
