"""Results as files: `benchmarks/results/NAME.json`, from which `python -m benchmarks.tables` makes the tables in docs/.

A file holds the command, the date, the machine, the versions and the seeds beside the numbers themselves. Files with
`"transcribed": true` were copied from the docs of an earlier time, which name fewer facts and round the numbers.
"""

import argparse
import json
import shlex
import subprocess
import sys
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from weft.machine import facts

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("weft", "numpy", "tokenizers", "sacrebleu", "transformers", "ctranslate2", "sentencex")


def arguments(description: str | None, quick: str = "") -> argparse.ArgumentParser:
    """The options that all benchmarks share; `quick` says what --quick does, for those that have it."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON instead of a table")
    note = "; a --quick run writes a file only if this is given" if quick else ""
    parser.add_argument("--results", type=Path, help=f"folder of the result files (benchmarks/results{note})")
    if quick:
        parser.add_argument("--quick", action="store_true", help=quick)
    return parser


def record(given: argparse.Namespace, name: str, numbers: Any, table: str, seeds: tuple[int, ...] = (1,)) -> None:
    """Print what was found, and write it to NAME.json."""
    print(json.dumps(numbers, ensure_ascii=False) if given.json else table, flush=True)
    folder = given.results or (None if vars(given).get("quick") else RESULTS)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / f"{name}.json", numbers, seeds)


def write(file: Path, numbers: Any, seeds: tuple[int, ...]) -> None:
    module = sys.modules["__main__"].__spec__
    found = {
        "commit": commit(),
        "command": shlex.join(["python", "-m", module.name if module else "benchmarks", *sys.argv[1:]]),
        "date": date.today().isoformat(),
        "machine": facts(),
        "versions": {package: _version(package) for package in PACKAGES if _version(package)},
        "seeds": list(seeds),
        "numbers": numbers,
    }
    file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def commit() -> str:
    """What was measured; "+" where files differ from the commit."""
    found = subprocess.run(["git", "describe", "--always", "--dirty=+"], capture_output=True, text=True, cwd=RESULTS)
    return found.stdout.strip() or "unknown"


def read(name: str) -> Any:
    """The numbers of a result file."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["numbers"]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
