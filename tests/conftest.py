"""The same seed before every test, and no more threads than there are cores for them."""

import os

import pytest
import torch

torch.set_num_threads(1 if "PYTEST_XDIST_WORKER" in os.environ else 2)


@pytest.fixture(autouse=True)
def fixed_seed() -> None:
    torch.manual_seed(1)
