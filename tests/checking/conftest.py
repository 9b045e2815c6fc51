"""At these sizes a second thread only waits for the first."""

import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread(threads: None) -> None:
    torch.set_num_threads(1)
