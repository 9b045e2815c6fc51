"""Colours are told apart by everyone, on both papers and in grey print, and every preset has one."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from weft.plans.presets import names
from weft.viewing.palette import FAMILIES, PALETTE, colours, family

PAPER = {"light": "#fbfaf7", "dark": "#141517"}  # of the page
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = XYZ.sum(1)
SEEN = {  # of linear red, green, blue, by people without the cones for red or green (Machado et al. 2009)
    "all": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
Colour = np.ndarray


def linear(colour: str) -> Colour:
    value = np.array([*bytes.fromhex(colour[1:])]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(light: Colour) -> Colour:
    x, y, z = np.cbrt(XYZ @ light.clip(0, 1) / WHITE)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(XYZ[1] @ linear(each)) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


def nearest(some: list[str], seen: str) -> float:
    """The least difference (CIE 1976) of two of these colours."""
    found = [lab(SEEN[seen] @ linear(each)) for each in some]
    return min(float(np.linalg.norm(a - b)) for a, b in combinations(found, 2))


def greys(some: list[str]) -> float:
    found = sorted(lab(linear(each))[0] for each in some)
    return min(b - a for a, b in pairwise(found))


@pytest.mark.parametrize("paper", PAPER)
def test_colours_stand_out_from_the_paper(paper: str) -> None:
    for each in (*PALETTE["heads"][paper], *PALETTE["families"][paper].values()):
        assert contrast(each, PAPER[paper]) >= 3.0, each


@pytest.mark.parametrize("paper", PAPER)
@pytest.mark.parametrize("seen", SEEN)
def test_heads_and_families_are_told_apart(paper: str, seen: str) -> None:
    heads, families = PALETTE["heads"][paper], [*PALETTE["families"][paper].values()]
    assert nearest(heads[:4], seen) > 20
    assert nearest(heads, seen) > 12
    assert nearest(families, seen) > 9


@pytest.mark.parametrize("paper", PAPER)
def test_four_heads_are_told_apart_in_grey(paper: str) -> None:
    assert greys(PALETTE["heads"][paper][:4]) > 9


@pytest.mark.parametrize("paper", PAPER)
def test_a_ramp_becomes_steadily_darker_or_lighter(paper: str) -> None:
    lightness = [lab(linear(each))[0] for each in PALETTE["ramp"][paper]]
    assert lightness in (sorted(lightness), sorted(lightness, reverse=True))
    assert PALETTE["diverging"][paper][2:] == PALETTE["ramp"][paper], "0 and what is above it look like attention"


def test_both_papers_have_the_same_families() -> None:
    assert [*PALETTE["families"]["light"]] == [*PALETTE["families"]["dark"]]


def test_every_preset_has_the_colour_of_its_family() -> None:
    assert {name: family(name) for name in names() if family(name) is None} == {}
    assert {family(name) for name in names()} == {*FAMILIES}


def test_plans_of_one_family_are_tints_and_others_are_left_colours() -> None:
    first, second, other = colours(["gnmt", "gnmt-tiny", "mine.yaml"])
    assert first == FAMILIES["gnmt"]
    assert contrast(second, "#ffffff") < contrast(first, "#ffffff")
    assert other in {*FAMILIES.values()} - {first}
