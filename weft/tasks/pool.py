"""Several processes that translate side by side, a share of the texts each.

A decoding step is many small products: two processes with one thread compute more of them than one process with two
threads, and sixteen far more than one with sixteen.
"""

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context

import torch

from weft.data.texts import Translation
from weft.decoding import Search
from weft.tasks import load
from weft.tasks.translator import Translator

_loaded = cache(load)  # each worker process loads its models once


class TranslatorPool:
    """A translator in several processes, which live as long as its `with` block."""

    def __init__(self, names: str, workers: int, device: str = "cpu"):
        self.names, self.workers, self.device = names, workers, device
        threads = max(1, torch.get_num_threads() // workers)
        # Not forked: a fork would not copy the threads of a process that has computed.
        self._pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (threads,))

    def __enter__(self) -> "TranslatorPool":
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:  # such as Ctrl-C: do not wait for the workers. In Python 3.14 this is kill_workers
            for worker in list((self._pool._processes or {}).values()):
                worker.kill()
        self._pool.shutdown(cancel_futures=True)

    def search(
        self,
        texts: Sequence[str],
        search: Search,
        *,
        split: bool = False,
        too_long: str = "split",
        first: int = 1,
        rated: int | None = None,
    ) -> Iterator[list[Translation]]:
        """For each text its translations, best first; see `Translator.search`."""
        share = -(-len(texts) // self.workers) or 1
        jobs = [
            self._pool.submit(_found, self.names, self.device, texts[i : i + share], search, split, too_long, first + i)
            for i in range(0, len(texts), share)
        ]
        for job in jobs:
            yield from job.result()


def _begin(threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent process
    torch.set_num_threads(threads)


def _found(
    names: str, device: str, texts: Sequence[str], search: Search, split: bool, too_long: str, first: int
) -> list[list[Translation]]:
    translator: Translator = _loaded(names, device, "translate")
    return list(translator.search(texts, search, split=split, too_long=too_long, first=first))
