"""The curves as one self-contained HTML file."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from weft.measuring.report import Table
from weft.viewing.page import document


def page(found: Mapping[str, Any], tables: Sequence[Table]) -> str:
    """`found` is what --json prints."""
    data = {**found, "tables": [asdict(table) for table in tables]}
    return document("What plans cost", "cost", data, ("dom.js", "cost.js"), ("base.css", "standalone.css", "cost.css"))
