"""The curves as one self-contained HTML file."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from weft.measuring.report import Table
from weft.viewing.page import ELEMENTS, document
from weft.viewing.palette import colours


def page(found: Mapping[str, Any], tables: Sequence[Table]) -> str:
    """`found` is what --json prints."""
    lines = colours([plan["plan"] for plan in found["plans"]])
    data = {**found, "tables": [asdict(table) for table in tables], "colours": lines}
    scripts = (*ELEMENTS, "vendor/d3.js", "curve.js", "cost.js")
    return document("What plans cost", "cost", data, scripts, ("base.css", "standalone.css", "cost.css"))
