"""What the demo reaches, and how long it takes: python -m benchmarks.demo"""

import re
import subprocess
import sys
import tempfile
import time
from typing import Any

from benchmarks.record import arguments, record
from benchmarks.tables import demo as table

SHARE = re.compile(r"^\s+(.+?)\s+(\d+\.\d+)%$", re.MULTILINE)  # of the dates in a form that are read exactly


def main() -> None:
    given = arguments(__doc__).parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "weft", "demo", "--out", out]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    *forms, (_, total) = SHARE.findall(said)
    numbers: dict[str, Any] = {
        "seconds": round(time.perf_counter() - began),
        "exact": float(total),
        "forms": {form: float(share) for form, share in forms},
    }
    record(given, "demo", numbers, table(numbers))


if __name__ == "__main__":
    main()
