"""The precision of the matrix products of a training: float32, or bfloat16 where the machine is faster with it.

In bfloat16 only products are computed: weights, moments, norms, softmax and sums of the loss stay in float32
(Micikevicius et al. 2017, arXiv:1710.03740; bfloat16 needs no scaling of the loss: Kalamkar et al. 2019,
arXiv:1905.12322).
"""

import time
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

import torch

from weft.folder import Folder
from weft.machine import may_use
from weft.training.checkpoint import random_state, restore_random_state

if TYPE_CHECKING:
    from weft.training.loop import Trainer

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
WORTH = 100  # steps: a shorter training is not worth a measurement
ROUNDS = 3  # of which the first is not counted
GAIN = 1.05  # what bfloat16 must gain to be chosen


def computing(device: torch.device, precision: str) -> torch.autocast:
    """The context in which products are computed in this precision."""
    return torch.autocast(device.type, PRECISIONS[precision], enabled=precision != "float32")


def supported(precision: str, device: torch.device) -> bool:
    """Whether a device computes in this precision."""
    if precision == "float32":
        return True
    return may_use(precision) if device.type == "cpu" else device.type != "cuda" or torch.cuda.is_bf16_supported()


def chosen_precision(trainer: "Trainer", folder: Folder, tell: Callable[[str], None]) -> str:
    """The precision of a training: as its plan says, as it began, or the faster one."""
    wanted = trainer.options.precision
    if wanted == "auto":
        wanted = folder.about().get("precision", "")
    if wanted not in PRECISIONS:
        wanted = "float32"
        if trainer.options.steps >= WORTH and supported("bfloat16", trainer.device):
            wanted, gain = _faster(trainer)
            tell(f"computing in {wanted}: with bfloat16 a step is {gain:.2f} times as fast as with float32")
    trainer.workers.wait()  # all have read the folder
    if trainer.workers.is_first:
        folder.note(precision=wanted)
    return wanted


def _faster(trainer: "Trainer") -> tuple[str, float]:
    """The faster precision for the first batches of a training, and the gain by bfloat16."""
    random = random_state()
    batches = list(islice(trainer.batches.epoch(0), trainer.options.accumulate))
    taken: dict[str, list[float]] = {name: [] for name in PRECISIONS}
    trainer.model.train()
    for _ in range(ROUNDS):
        for name in PRECISIONS:
            trainer.precision = name
            taken[name].append(_seconds(lambda: trainer.gradient(batches)))
    trainer.optimiser.zero_grad()
    restore_random_state(random)
    full, half = (min(times[1:]) for times in taken.values())
    return trainer.workers.gather(("bfloat16" if full > GAIN * half else "float32", full / half))[0]


def _seconds(step: Callable[[], object]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began
