"""Ten million pairs, read, tokenised and dealt into batches in less than 2 GB of memory."""

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
TWO_GIGABYTES = 2_000_000  # kilobytes
CHILD = """
import sys
from itertools import islice
from pathlib import Path
from weft.plans.presets import plan
from weft.text.reading import read_pairs
from weft.training.run import begin, trainer

folder = Path(sys.argv[1])
recipe = plan("transformer-small").with_settings(["longest=100"])
pairs = read_pairs([folder / "pairs.tsv"], languages="en-de")
held_out = read_pairs([folder / "valid.tsv"], languages="en-de")
job = trainer(begin(recipe, pairs, held_out, folder / "run", ("en", "de")))
for batch in islice(job.batches.epoch(0), 20):
    assert batch.source.size(0) > 1
"""


def write_pairs(file: Path, count: int) -> None:
    """Lines like real ones: 20,000 words of several letters, frequent ones more often, 5 to 25 words on each side."""
    random = np.random.default_rng(1)
    words = ["".join(random.choice(list("abcdefghijklmnopqrstuvwxyz"), n)) for n in random.integers(2, 12, 20_000)]

    def sentence(length: int) -> str:
        return " ".join(words[int(i)] for i in random.zipf(1.3, length) % len(words))

    block = [f"{sentence(n)}\t{sentence(n)}\n" for n in random.integers(5, 25, 100_000).tolist()]
    with file.open("w", encoding="utf-8") as out:
        for _ in range(count // len(block)):
            out.writelines(block)
        out.writelines(block[: count % len(block)])


@pytest.mark.slow
def test_ten_million_pairs_stay_under_two_gigabytes(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.tsv", 10_000_000)
    write_pairs(tmp_path / "valid.tsv", 1000)
    subprocess.run([sys.executable, "-c", CHILD, str(tmp_path)], check=True, cwd=ROOT)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"peak memory {peak / 1e6:.2f} GB")
    assert peak < TWO_GIGABYTES
