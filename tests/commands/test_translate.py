"""What `weft translate` loads before it answers: a heavy package that someone imports on the way would be noticed here,
where a clock would notice only the weather of the machine."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from weft import commands

try:
    commands.run(["translate", "en-de"])
finally:
    print(*sys.modules)
"""
NOT_NEEDED = {
    *("ctranslate2", "defusedxml", "matplotlib", "pandas", "polib", "rich", "sacrebleu", "sympy", "tensorboard"),
    *("transformers", "torch._dynamo", "torch._inductor", "torch.distributed.fsdp", "torch.distributed.tensor"),
    *("weft.engines.ctranslate2", "weft.exports", "weft.training", "weft.viewing.pictures"),
}


def test_nothing_heavy_is_loaded(tmp_path: Path) -> None:
    """Where no engine was made: tests/engines has the other case."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input="How are you?\n",
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    )
    translation, loaded = done.stdout.splitlines()
    assert translation == "Wie geht es dir?"
    assert {"torch", "weft.tasks.translator"} <= {*loaded.split()}
    assert not NOT_NEEDED & {*loaded.split()}
