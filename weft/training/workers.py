"""Several processes that train one model: each takes its rows of every batch, and gradients are summed.

Every worker composes the same batches, so it knows the number of tokens of the whole batch: the gradient is that of the
mean over all of them, however the rows are divided. With the same number of workers a run can be repeated bit for bit;
with more or fewer it is the same up to rounding and dropout.

Workers are started by torchrun, on one machine or on many, or by `spawn_workers` on this one.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import distributed

from weft.errors import WeftError
from weft.training.parallel import LocalModel, ReplicatedModel

PATIENCE = timedelta(hours=2)  # how long workers wait for one of them: only the first reads a large corpus
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Workers:
    """The processes that train together, of which this is one."""

    rank: int = 0
    size: int = 1
    wrap: type[LocalModel] = LocalModel  # how a model is shared among them

    @property
    def is_first(self) -> bool:
        """Whether this is the worker that reads, writes and prints."""
        return self.rank == 0

    def total(self, *mine: float) -> list[float]:
        """Sum each number over all workers."""
        if self.size == 1:
            return list(mine)
        numbers = torch.tensor(mine, dtype=torch.float64)
        if distributed.get_backend() == "nccl":
            numbers = numbers.cuda()
        distributed.all_reduce(numbers)
        return numbers.tolist()

    def gather(self, mine: Thing) -> list[Thing]:
        """Return what each worker has, in the order of ranks, on all of them."""
        if self.size == 1:
            return [mine]
        everyone: list[Any] = [None] * self.size
        distributed.all_gather_object(everyone, mine)
        return everyone

    def wait(self) -> None:
        """Wait until all workers have arrived here."""
        self.total(0.0)

    @contextmanager
    def friendly_worker_errors(self) -> Iterator[None]:
        """Turn the loss of a worker into an error for the user."""
        try:
            yield
        except RuntimeError as error:
            if self.size == 1 or not (isinstance(error, distributed.DistError) or "gloo" in str(error)):
                raise
            raise WeftError(
                "lost contact with another worker: its process, its machine or the network is gone. "
                "Continue from the last checkpoint with --resume, with any number of workers."
            ) from error


ALONE = Workers()


@contextmanager
def init_workers(device: str, wrap: type[LocalModel] = ReplicatedModel) -> Iterator[Workers]:
    """Join the workers that were started together with this process; without any it is alone."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield ALONE
        return
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group("nccl" if device == "cuda" else "gloo", timeout=PATIENCE)
    team = Workers(distributed.get_rank(), size, wrap)
    try:
        with team.friendly_worker_errors():
            yield team
    finally:
        distributed.destroy_process_group()


@contextmanager
def spawn_workers(count: int) -> Iterator[None]:
    """Start this command `count` - 1 more times as workers, and divide the cores among all."""
    if count == 1 or "WORLD_SIZE" in os.environ:
        yield
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    threads = max(1, torch.get_num_threads() // count)
    os.environ |= {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ |= {"RANK": "0", "LOCAL_RANK": "0", "OMP_NUM_THREADS": str(threads)}
    torch.set_num_threads(threads)
    others = [_start(rank) for rank in range(1, count)]
    try:
        yield
    finally:
        for other in others:
            other.wait()


def _start(rank: int) -> "subprocess.Popen[bytes]":
    place = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    command = [sys.executable, *sys.orig_argv[1:]]
    # In its own process group: Ctrl-C reaches the first worker, and through it the others.
    return subprocess.Popen(
        command, env=os.environ | place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
