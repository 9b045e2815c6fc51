"""One palette: the style sheet of the page has the colours of palette.json."""

import re

from weft.viewing.page import DRAWING
from weft.viewing.palette import PALETTE

VARIABLES = {"ramp": "heat-{}", "diverging": "diverging-{}", "heads": "head-{}"}


def test_the_page_has_the_colours_of_the_palette() -> None:
    sheet = (DRAWING / "base.css").read_text(encoding="utf-8")
    found = {name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((\S+), (\S+)\)", sheet)}
    for key, variable in VARIABLES.items():
        pairs = list(zip(PALETTE[key]["light"], PALETTE[key]["dark"], strict=True))
        first = 1 if key == "heads" else 0
        assert pairs == [found[variable.format(n)] for n in range(first, first + len(pairs))]
