"""The same seed before every test, and no more threads than there are cores for them."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

SLOW_MACHINES = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# `make test` draws the same examples every time; `make torture` explores.
settings.register_profile("default", settings.get_profile("default"), derandomize=True, **SLOW_MACHINES)
settings.register_profile("torture", max_examples=20_000, derandomize=False, **SLOW_MACHINES)
settings.load_profile("default")
THREADS = 1 if "PYTEST_XDIST_WORKER" in os.environ else 2
TINY = {
    "parts",
    "models",
    "plans",
    "contracts",
    "serving",
    "engines",
}  # sizes at which a second thread only waits for the first


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of the user that all processes of this session share: what is known of the machine is copied, and what
    others keep there (fonts, browsers) is linked."""
    base = tmp_path_factory.getbasetemp()
    mine = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    theirs = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    (mine / "weft").mkdir(parents=True, exist_ok=True)
    with suppress(OSError):
        shutil.copy(theirs / "weft" / "machine.json", mine / "weft")
        for each in theirs.iterdir():
            with suppress(FileExistsError):
                (mine / each.name).symlink_to(each)
    os.environ["XDG_CACHE_HOME"] = str(mine)
    return mine


@pytest.fixture(autouse=True)
def fixed_seed() -> None:
    torch.manual_seed(1)


@pytest.fixture(autouse=True)
def threads(request: pytest.FixtureRequest) -> None:
    torch.set_num_threads(1 if request.path.parent.name in TINY else THREADS)
