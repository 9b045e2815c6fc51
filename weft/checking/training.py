"""Check that a short training on made-up rows ends with the same weights when it is stopped and resumed."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
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
from weft.training import checkpoint
from weft.training.loop import Trainer
from weft.weights import read_weights

STEPS, STOP = 2, 1
ROWS, LONGEST = 24, 16  # tokens
BLOCK = 8  # tokens, where batches are made of blocks


def resumed(subject: ModelUnderTest) -> Finding:
    """Stopped after a step and resumed = never stopped, bit for bit, on the CPU."""
    task, codecs, random = subject.task, subject.codecs, np.random.default_rng(1)
    with TemporaryDirectory() as room, torch.random.fork_rng(devices=[]):
        longest = min(LONGEST, subject.predictor.limit)
        rows = [task.made_up(int(length), codecs, random) for length in random.integers(1, longest + 1, ROWS)]
        corpus = Corpus.write(Path(room, "tokens"), task.columns, [(rows, {})], len(subject.codec))
        whole = _trainer(subject, corpus, Path(room, "whole"))
        whole.train()
        first = _trainer(subject, corpus, Path(room, "stopped"))
        first.observers = [_Stop()]
        try:
            first.train()
        except Interrupted:
            torch.manual_seed(2)  # other random numbers are drawn in between
        again = _trainer(subject, corpus, Path(room, "stopped"))
        again.resume()
        again.train()
        return other_bits(_end(whole), _end(again))


def _trainer(subject: ModelUnderTest, corpus: Corpus, out: Path) -> Trainer:
    out.mkdir(exist_ok=True)
    options, codecs = subject.folder.plan().training, subject.codecs
    length = BATCHINGS.value(options.batching, "length")
    options = replace(
        options,
        steps=STEPS,
        validate_every=STEPS,
        batch_tokens=64,
        accumulate=2,
        rate=1e-3,
        schedule=Part("constant"),
        patience=0,
        average_of=1,
        bpe_dropout=0.1,
        batching=options.batching.with_option("length", min(BLOCK, length)) if length else options.batching,
    )
    torch.manual_seed(options.seed)
    batches = Batches(
        corpus,
        BATCHINGS.build(options.batching),
        options.batch_tokens,
        options.seed,
        lambda rows, random: subject.task.collate(rows, codecs, random),
        lambda rows, seed: subject.task.augment(rows, codecs, options, seed),
    )
    return Trainer(deepcopy(subject.model).cpu(), options, batches, _no_scores, LOSS, Folder(out))


def _no_scores(model: Model) -> dict[str, float]:
    return {LOSS.name: 0.0}


class _Stop:
    """An observer that interrupts the training."""

    def step(self, step: int, metrics: dict[str, float]) -> None:
        if step == STOP:
            raise KeyboardInterrupt

    def validation(self, step: int, scores: dict[str, float]) -> None:
        pass

    def close(self) -> None:
        pass


def _end(job: Trainer) -> dict[str, Tensor]:
    """Weights, moments and random state at the end."""
    last = checkpoint.path_of(job.folder.checkpoints, STEPS)
    return read_weights(last / "model.safetensors") | read_weights(last / "optimiser.safetensors")
