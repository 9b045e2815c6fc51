"""A catalogue: names, options, defaults, and sentences for what is wrong."""

import pytest

from weft.errors import WeftError
from weft.plans.catalogue import Catalogue
from weft.plans.part import Part


def blue(*, depth: int = 3) -> str:
    return f"blue {depth}"


COLOURS: Catalogue[str] = Catalogue("colour", (), {"red": lambda: "red", "blue": blue})


def wall(
    width: int, *, height: float = 2.5, doors: int = 1, hue: str = "red", floor: int | None = None, ivy: bool = False
) -> str:
    """Bricks and mortar.

    More about walls.
    """
    return f"{width} by {height}, {doors} doors, {COLOURS.build(hue)}, {floor}"


def fence(width: int) -> str:
    """Planks"""
    return f"{width} planks"


WALLS: Catalogue[str] = Catalogue("wall", ("width",), {"wall": wall, "fence": fence}, inner={"hue": COLOURS})


def problems(name: str, **options: object) -> list[str]:
    return WALLS.problems(Part(name, options), "house.wall")


def test_a_catalogue_lists_its_names() -> None:
    assert list(WALLS) == ["wall", "fence"]


def test_one_line_about_a_part() -> None:
    assert WALLS.about("wall") == "Bricks and mortar"
    assert WALLS.about("fence") == "Planks"


def test_a_part_without_docstring_has_no_description() -> None:
    assert COLOURS.about("red") == ""


def test_options_are_what_is_not_given() -> None:
    assert list(WALLS.options("wall")) == ["height", "doors", "hue", "floor", "ivy"]
    assert list(WALLS.options("fence")) == []


def test_build() -> None:
    assert WALLS.build(Part("wall", {"doors": 2}), 4) == "4 by 2.5, 2 doors, red, None"


def test_the_value_of_an_option_is_what_the_plan_says_else_the_default() -> None:
    assert WALLS.value(Part("wall", {"doors": 2}), "doors") == 2
    assert WALLS.value(Part("wall"), "doors") == 1
    assert WALLS.value(Part("wall"), "windows") is None
    assert WALLS.value(Part("tent"), "doors") is None


def test_nothing_wrong() -> None:
    assert problems("wall", height=3, doors=2, hue="blue", floor=None, ivy=True) == []


def test_an_unknown_part() -> None:
    assert problems("wal") == ["house.wall: there is no wall 'wal'. Did you mean 'wall'? Known: fence, wall."]


def test_an_unknown_option() -> None:
    assert problems("wall", door=2) == [
        "house.wall: there is no option of wall 'wall' named 'door'. Did you mean 'doors'? "
        "Known: doors, floor, height, hue, ivy."
    ]


def test_an_option_of_a_part_that_has_none() -> None:
    assert problems("fence", doors=2) == ["house.wall: wall 'fence' has no options."]


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("doors", "two", "int"),
        ("doors", 2.5, "int"),
        ("doors", True, "int"),
        ("doors", None, "int"),
        ("height", "high", "float"),
        ("floor", "first", "int"),
        ("ivy", "some", "bool"),
        ("ivy", 1, "bool"),
        ("ivy", None, "bool"),
    ],
)
def test_an_option_of_the_wrong_type(option: str, value: object, expected: str) -> None:
    assert problems("wall", **{option: value}) == [f"house.wall.{option}: expected {expected}, got {value!r}."]


def test_an_unknown_part_within_a_part() -> None:
    assert problems("wall", hue="bleu") == [
        "house.wall.hue: there is no colour 'bleu'. Did you mean 'blue'? Known: blue, red."
    ]


def test_part_within_a_part_may_have_options() -> None:
    part = Part("wall", {"hue": {"name": "blue", "depth": 5}})
    assert WALLS.build(part, 4) == "4 by 2.5, 1 doors, blue 5, None"
    assert problems("wall", hue={"name": "blue", "depth": "deep"}) == [
        "house.wall.hue.depth: expected int, got 'deep'."
    ]
    assert problems("wall", hue=["blue"]) == [
        "house.wall.hue: a part is a name, or a mapping with a name and options, not ['blue']."
    ]


def test_several_problems_at_once() -> None:
    assert len(problems("wall", door=2, height="high", hue="bleu")) == 3


def test_build_refuses_with_all_of_them() -> None:
    with pytest.raises(WeftError, match=r"wall: there is no option .*'door'.*\nwall\.height: expected float"):
        WALLS.build(Part("wall", {"door": 2, "height": "high"}), 4)


def test_build_wants_what_is_given() -> None:
    with pytest.raises(AssertionError, match=r"wall is given \('width',\)"):
        WALLS.build(Part("wall"))
