"""A short training on generated batches, stopped and resumed, ends where it would have ended."""

import random
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from weft.checking.model_under_test import Finding, ModelUnderTest
from weft.checking.weights import other_bits
from weft.data.batches import Batches
from weft.data.corpus import Corpus
from weft.errors import Interrupted
from weft.evaluation.scores import LOSS
from weft.folder import Folder
from weft.models.base import Model
from weft.plans.catalogues import BATCHINGS
from weft.plans.part import Part
from weft.tasks import task_of
from weft.training import checkpoint
from weft.training.loop import Trainer
from weft.weights import read_weights

STEPS, STOP = 2, 1


def resumed(subject: ModelUnderTest) -> Finding | str:
    """Stopped after a step and resumed = never stopped, bit for bit, on the CPU."""
    task = task_of(subject.folder.plan())
    with TemporaryDirectory() as room, torch.random.fork_rng(devices=[]):
        longest, codecs = subject.longest, {"tokeniser": subject.tokeniser}
        rows = task.encode(_pairs(), codecs, longest)
        corpus = Corpus.write(Path(room, "tokens"), task.columns, rows, len(subject.tokeniser))
        if len(corpus) == 0:
            return f"a sentence may have {longest} tokens only"
        whole = _trainer(subject, corpus, longest, Path(room, "whole"))
        whole.train()
        first = _trainer(subject, corpus, longest, Path(room, "stopped"))
        first.observers = [_Stop()]
        try:
            first.train()
        except Interrupted:
            torch.manual_seed(2)  # whatever is drawn in between
        again = _trainer(subject, corpus, longest, Path(room, "stopped"))
        again.resume()
        again.train()
        return other_bits(_end(whole), _end(again))


def _pairs() -> list[tuple[str, str]]:
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefgh", k=draw.randint(1, 4))) for _ in range(20)]
    return [(" ".join(draw.choices(words, k=n)), " ".join(draw.choices(words, k=n))) for n in [1, 1, 2, 3, 4, 6] * 4]


def _trainer(subject: ModelUnderTest, corpus: Corpus, longest: int, out: Path) -> Trainer:
    out.mkdir(exist_ok=True)
    options = replace(
        subject.folder.plan().training,
        steps=STEPS,
        validate_every=STEPS,
        batch_tokens=64,
        accumulate=2,
        rate=1e-3,
        schedule=Part("constant"),
        patience=0,
        average_of=1,
        bpe_dropout=0.1,
        longest=longest,
    )
    torch.manual_seed(options.seed)
    task, codecs = task_of(subject.folder.plan()), {"tokeniser": subject.tokeniser}
    batches = Batches(
        corpus,
        BATCHINGS.build(options.batching),
        options.batch_tokens,
        options.seed,
        lambda rows, random: task.collate(rows, codecs, random),
        lambda rows, seed: task.augment(rows, codecs, options, seed),
    )
    return Trainer(deepcopy(subject.model).cpu(), options, batches, _no_scores, LOSS, Folder(out))


def _no_scores(model: Model) -> dict[str, float]:
    return {LOSS.name: 0.0}


class _Stop:
    """An observer who presses Ctrl-C."""

    def step(self, step: int, metrics: dict[str, float]) -> None:
        if step == STOP:
            raise KeyboardInterrupt

    def validation(self, step: int, scores: dict[str, float]) -> None:
        pass

    def close(self) -> None:
        pass


def _end(job: Trainer) -> dict[str, Tensor]:
    """Weights, moments and random state in the end."""
    last = checkpoint.path_of(job.folder.checkpoints, STEPS)
    return read_weights(last / "model.safetensors") | read_weights(last / "optimiser.safetensors")
