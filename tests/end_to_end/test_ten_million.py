"""Ten million pairs, read, tokenised and dealt into batches in less than 2 GB of memory."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from benchmarks.reading import write_pairs

ROOT = Path(__file__).parents[2]
PAIRS = 10_000_000
CHILD = """
import resource
import sys
from itertools import islice
from pathlib import Path
from weft.plans.presets import plan
from weft.data.reading import read_pairs
from weft.training.run import begin, trainer

folder = Path(sys.argv[1])
recipe = plan("transformer-small").with_settings(["longest=100"])
pairs = read_pairs([folder / "pairs.tsv"], languages="en-de")
held_out = read_pairs([folder / "valid.tsv"], languages="en-de")
job = trainer(begin(recipe, pairs, held_out, folder / "run", languages=("en", "de")))
for batch in islice(job.batches.epoch(0), 20):
    assert len(batch.targets) > 1
corpus = job.batches.corpus
print(len(corpus) + sum(corpus.left_out.values()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_ten_million_pairs_stay_under_two_gigabytes(tmp_path: Path) -> None:
    """About 3 GB of files, which are not left behind, and a quarter of an hour on two cores."""
    with TemporaryDirectory(dir=tmp_path) as folder:
        write_pairs(Path(folder, "pairs.tsv"), PAIRS)
        write_pairs(Path(folder, "valid.tsv"), 1000, seed=2)
        command = [sys.executable, "-c", CHILD, folder]
        said = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
    counted, kilobytes = map(int, said.split())
    print(f"peak memory {kilobytes / 1e6:.2f} GB")
    assert counted == PAIRS
    assert kilobytes < 2_000_000
