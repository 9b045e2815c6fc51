"""From pairs to a run folder, and what is refused on the way."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.training.test_workers import alone
from tests.training.tiny import Told, reversed_letters, tiny_plan, tiny_run, tiny_trainer
from weft.data.corpus import Corpus
from weft.errors import WeftError
from weft.folder import Folder
from weft.plans.plan import Plan
from weft.tasks.translator import languages_of
from weft.training.run import begin, train, trainer
from weft.weights import read_weights

PAIRS = reversed_letters(60)
VALID = reversed_letters(6, seed=2)


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(WeftError) as caught:
        action()
    return str(caught.value)


def is_empty(folder: Path) -> bool:
    return not folder.exists() or not any(folder.iterdir())


def test_begin_writes_plan_codec_languages_and_tokens(tmp_path: Path) -> None:
    folder = begin(tiny_plan(), PAIRS, VALID, tmp_path / "run", languages=("en", "de"))
    assert folder == Folder.find(tmp_path / "run")
    assert folder.plan() == tiny_plan()
    assert languages_of(folder) == ("en", "de")
    assert len(folder.codec()) == 264
    assert [len(Corpus(folder.path / "tokens" / name)) for name in ("train", "valid")] == [60, 6]


@pytest.mark.parametrize("settings", [["training.batch-size=32"], {"batch_size": 32}])
def test_batch_size_is_taken_as_tokens_with_a_remark(settings: Any, tmp_path: Path) -> None:
    told: list[str] = []
    with pytest.raises(WeftError, match="training needs --train"):
        train(tiny_plan(), out=tmp_path / "run", settings=settings, tell=told.append)
    assert told == ["batch_size is taken as batch_tokens: tokens per batch and side, not examples"]


def test_finished_run_loads_and_validates(tmp_path: Path) -> None:
    folder = tiny_run(tmp_path)
    job = trainer(folder)
    scores = job.train()
    assert set(scores) == {"loss", "perplexity", "bleu"}
    model = folder.model()
    assert not model.training
    with torch.no_grad():
        assert job.validate(model) == pytest.approx(scores)
    for kept in ("metrics.jsonl", "curves.png", "tensorboard", "checkpoints", "model.safetensors"):
        assert (folder.path / kept).exists()


def test_same_seed_gives_same_model(tmp_path: Path) -> None:
    def trained(name: str, seed: int) -> bytes:
        folder = tiny_run(tmp_path / name, steps=3, seed=seed, bpe_dropout=0.1)
        tiny_trainer(folder).train()
        return folder.weights().read_bytes()

    assert trained("first", 1) == trained("second", 1)
    assert trained("third", 2) != trained("first again", 1)


def test_same_seed_gives_same_model_across_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit, whatever Python hashes its strings with."""
    ends = []
    for hashes in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", hashes)
        (tmp_path / hashes).mkdir()
        run = alone(tmp_path / hashes / "run", {"steps": 6, "validate_every": 3, "bpe_dropout": 0.2, "dropout": 0.2})
        ends.append((run / "model.safetensors").read_bytes())
    assert ends[0] == ends[1]


def test_training_leaves_global_generators_alone(tmp_path: Path) -> None:
    """Python's and NumPy's own generators: draws come from generators of their own, seeded by the place in the data."""
    before = random.getstate(), np.random.get_state()[1].tolist()
    tiny_trainer(tiny_run(tmp_path, dropout=0.2, bpe_dropout=0.2)).train()
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_metrics_are_json_lines(tmp_path: Path) -> None:
    told = Told()
    folder = tiny_run(tmp_path, steps=20, validate_every=15)
    trainer(folder, [told]).train()
    rows = [json.loads(line) for line in (folder.path / "metrics.jsonl").read_text().splitlines()]
    assert [(row["step"], "valid" in row) for row in rows] == [
        *((1, False), (10, False), (15, False), (15, True), (20, False), (20, True))
    ]
    assert set(rows[0]) == {"step", "objective", "loss", "tokens", "gradient", "rate", "epoch", "seconds"}
    assert rows[1]["loss"] == pytest.approx(told.steps[10]["loss"], rel=1e-5)
    assert rows[3]["valid"] == told.validations[15]
    assert rows[1]["rate"] == 0.01


def test_folder_with_a_training_is_refused(tmp_path: Path) -> None:
    tiny_run(tmp_path)
    assert "already holds a run; continue it with --resume" in refusal(lambda: tiny_run(tmp_path))


def test_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    assert "is not an empty folder" in refusal(lambda: tiny_run(tmp_path))
    assert "is not an empty folder" in refusal(lambda: tiny_run(tmp_path / "thesis.tex"))
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_out_with_a_comma_is_refused(tmp_path: Path) -> None:
    assert "has a comma, which separates the models of an ensemble" in refusal(lambda: tiny_run(tmp_path / "a,b"))
    assert is_empty(tmp_path)


@pytest.mark.parametrize(
    ("train", "valid", "sentence"),
    [
        ([("a b c d", "")] * 9, VALID, "no training pairs left (skipped: 9 with an empty side)."),
        ([("a b c d a b c d", "a")] * 9, VALID, "no training pairs left (skipped: 9 longer than 6 tokens)."),
        (PAIRS, [("", "a"), ("a", " ")], "no validation pairs left (skipped: 2 with an empty side)."),
        (PAIRS, [], "no validation pairs left."),
    ],
)
def test_corpus_without_pairs_is_refused(
    tmp_path: Path, train: list[tuple[str, str]], valid: list[tuple[str, str]], sentence: str
) -> None:
    settings = {"longest": 6, "vocabulary": 261}
    assert refusal(lambda: begin(tiny_plan(**settings), train, valid, tmp_path / "run")) == sentence
    assert is_empty(tmp_path / "run"), "so that the same command can be given again"


def test_too_large_vocabulary_is_refused(tmp_path: Path) -> None:
    words = refusal(lambda: begin(tiny_plan(vocabulary=5000), PAIRS, VALID, tmp_path / "run"))
    assert words == "this text yields only 264 subwords, got vocabulary=5000; set vocabulary=264."
    assert is_empty(tmp_path / "run")


@pytest.mark.parametrize("error", [WeftError("the data cannot be used as they are"), KeyboardInterrupt()])
def test_failed_begin_leaves_nothing_behind(tmp_path: Path, error: BaseException) -> None:
    def bad_at_the_end() -> Iterator[tuple[str, str]]:
        yield from VALID
        raise error

    with pytest.raises(type(error)):
        begin(tiny_plan(), PAIRS, bad_at_the_end(), tmp_path)
    assert is_empty(tmp_path)
    begin(tiny_plan(), PAIRS, VALID, tmp_path)


def test_start_from_takes_codec_languages_and_weights(tmp_path: Path) -> None:
    base = begin(tiny_plan(), PAIRS, VALID, tmp_path / "base", languages=("xx", "yy"))
    tiny_trainer(base).train()
    other = [("d d a", "a d d"), ("c b", "b c")]
    tuned = begin(tiny_plan(vocabulary=300), other, other, tmp_path / "tuned", start_from=base)
    assert tuned.codec().pieces.to_str() == base.codec().pieces.to_str()
    assert languages_of(tuned) == ("xx", "yy")
    assert tuned.plan().vocabulary == 264
    lent = read_weights(base.weights())
    assert all(torch.equal(lent[name], value) for name, value in trainer(tuned).model.named_parameters())


def test_start_from_another_shape_is_refused(tmp_path: Path) -> None:
    base = tiny_run(tmp_path / "base", steps=1)
    tiny_trainer(base).train()
    wider = tiny_plan(width=16)
    words = refusal(lambda: begin(wider, PAIRS, VALID, tmp_path / "wider", start_from=base))
    assert words.startswith(
        f"{base.path} was trained with the plan 'transformer-tiny', and 'transformer-tiny' with "
        "these settings has a different shape. "
    )
    assert words.endswith(f"Its own plan fits: weft train {base.path} --from {base.path} …")
    assert is_empty(tmp_path / "wider")


def test_sentences_beyond_the_positions_are_left_out(tmp_path: Path) -> None:
    plan = tiny_plan(position={"name": "learned", "limit": 8}, longest=8, bpe_dropout=0.9, steps=3)
    folder = begin(plan, PAIRS, [("a b c", "c b a"), ("a b c d " * 5, "a")], tmp_path)
    assert Corpus(folder.path / "tokens" / "valid").left_out == {"longer than 8 tokens": 1}
    tiny_trainer(folder).train()  # and BPE dropout makes none too long to train on


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("ids.bin", None, "its tokens are gone"),
        ("ids.bin", bytes(8), "is damaged: its ids.bin does not match its checksum"),
        ("corpus.json", b"{", "is damaged: its corpus.json does not match its checksum"),
        ("SHA256SUMS", None, "is damaged: its SHA256SUMS is missing"),
    ],
)
def test_missing_or_damaged_tokens_are_named(tmp_path: Path, name: str, data: bytes | None, reason: str) -> None:
    """And what to do instead."""
    folder, file = tiny_run(tmp_path), tmp_path / "tokens" / "train" / name
    file.unlink() if data is None else file.write_bytes(data)
    words = refusal(lambda: trainer(folder))
    assert words.startswith(f"{tmp_path} cannot be resumed: ")
    assert reason in words
    assert words.endswith(f"weft train {tmp_path} --from {tmp_path} --train … --valid … --out NEW")


def test_unknown_device_is_refused(tmp_path: Path) -> None:
    folder = tiny_run(tmp_path)
    assert "there is no device 'warp'" in refusal(lambda: trainer(folder, device="warp"))


def test_too_large_model_gives_a_memory_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_run(tmp_path)
    monkeypatch.setattr(Plan, "build", lambda *_, **__: torch.empty(2**50))
    assert refusal(lambda: trainer(folder)).startswith(
        "not enough memory for this model: you tried to allocate 4503599627370496 bytes."
    )
