"""The libraries in the page are the ones that vendor.json names, byte for byte, and each has its licence."""

import hashlib
import json
import re

import pytest

from weft.viewing.page import DRAWING

VENDOR = DRAWING / "vendor"
FILES = json.loads((VENDOR / "vendor.json").read_text(encoding="utf-8"))["files"]


@pytest.mark.parametrize("entry", FILES, ids=[entry["file"] for entry in FILES])
def test_a_library_is_what_was_checked(entry: dict[str, str]) -> None:
    assert hashlib.sha256((VENDOR / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]
    assert "Permission to use" in (text := (VENDOR / entry["licence_file"]).read_text()) or "Redistribution" in text


def test_no_library_is_unnamed_and_none_loads_another() -> None:
    scripts = {file.name: file.read_text(encoding="utf-8") for file in VENDOR.glob("*.js")}
    assert set(scripts) == {entry["file"] for entry in FILES}
    for name, script in scripts.items():
        assert not re.search(r"\bfrom\s*[\"']|\bimport\s*[\"'(]", script), name
