"""weft check MODEL"""

import json
import math
from typing import TYPE_CHECKING, Annotated

import typer

from weft.commands.options import Device, Json

if TYPE_CHECKING:
    from weft.checking.model_under_test import Finding


def check(
    model: Annotated[str, typer.Argument(help="A run folder or the name of a shipped model.")],
    as_json: Json = False,
    device: Device = "cpu",
) -> None:
    """Check that a model computes what it should.

    Checked are cached decoding, batching, padding, beam search, capture, storage, the codec, resuming and exports: each
    computes the same thing in two ways and compares the results. The exit code is 1 if one fails.

    weft check en-de
    """
    from weft.checking.checks import check as findings
    from weft.folder import Folder

    rows, failed = [], 0
    for name, found in findings(Folder.find(model), device):
        failed += not (isinstance(found, str) or found.passed)
        rows.append({"check": name, **_plain(found)})
        if not as_json:
            print(_line(name, found), flush=True)
    if as_json:
        print(json.dumps({"passed": not failed, "checks": rows}))
    else:
        print(f"{failed} of {len(rows)} checks failed" if failed else "all checks passed")
    raise typer.Exit(1 if failed else 0)


def _line(name: str, found: "Finding | str") -> str:
    if isinstance(found, str):
        return f"{name:34} skipped   {found}"
    verdict = "pass" if found.passed else "FAIL"
    return f"{name:34} {verdict:8}  {found.difference:7.2g}  allowed {found.tolerance:<7.2g} {found.of}"


def _plain(found: "Finding | str") -> dict[str, object]:
    if isinstance(found, str):
        return {"skipped": found}
    difference = found.difference if math.isfinite(found.difference) else str(found.difference)  # JSON has no NaN
    return {"difference": difference, "tolerance": found.tolerance, "of": found.of, "passed": found.passed}
