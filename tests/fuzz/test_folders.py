"""Model folders and checkpoints of strangers: a model comes of them or a sentence, and nothing outside is read."""

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.broken import lying, meddled, mutated, survived
from tests.toys import PAIRS
from tests.training.tiny import Told, tiny_run, tiny_trainer
from weft.commands import run
from weft.data.codecs import Subwords
from weft.data.corpus import Corpus
from weft.disk import SUMS, seal
from weft.errors import Interrupted, WeftError
from weft.folder import Folder
from weft.tasks import load
from weft.tasks.translator import languages_of

FILES = ("plan.yaml", "tokeniser.json", "about.json", "model.safetensors")


class Good:
    """A run of two steps that was stopped after the first, and the bytes of its files."""

    def __init__(self) -> None:
        self.room = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, self.room)
        self.run = tiny_run(self.room / "run", steps=2)
        with pytest.raises(Interrupted):
            tiny_trainer(self.run, Told(KeyboardInterrupt(), at=1)).train()
        self.checkpoint, self.corpus = self.run.checkpoints / "step-00000001", self.room / "tokens/valid"
        shutil.copy(self.checkpoint / "model.safetensors", self.run.average)
        shutil.copytree(self.run.path / "tokens", self.room / "tokens")
        self.job = tiny_trainer(self.run)
        self.files = _bytes(self.run.path, *FILES)
        self.saved = _bytes(self.checkpoint, "model.safetensors", "optimiser.safetensors", "state.json")
        self.tokens = _bytes(self.corpus, "corpus.json", "ends.bin", "ids.bin")

    def theirs(self, folder: Path) -> Path:
        """A copy of the model."""
        ignored = shutil.ignore_patterns("checkpoints", "tokens")
        return Path(shutil.copytree(self.run.path, folder / "theirs", ignore=ignored))


def _bytes(folder: Path, *names: str) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names}


@cache
def good() -> Good:
    """Not a fixture: atheris has none."""
    return Good()


@contextmanager
def spoiled(folder: Path, good: dict[str, bytes], data: st.DataObject) -> Iterator[None]:
    """One of these files is not what it was, until the end of the block."""
    name = data.draw(st.sampled_from(sorted(good)))
    ways = [mutated(good[name]), st.binary(max_size=100)]
    if name.endswith(".safetensors"):
        ways.append(lying(good[name]))
    if name.endswith(".json"):
        ways.append(meddled(json.loads(good[name])).map(lambda value: json.dumps(value).encode()))
    (folder / name).write_bytes(data.draw(st.one_of(ways)))
    if (folder / SUMS).exists():
        seal(folder, list(good))  # who lies about the files lies about their checksums
    try:
        yield
    finally:
        (folder / name).write_bytes(good[name])


@given(st.data())
def test_model_folders(data: st.DataObject) -> None:
    run = good().run
    with spoiled(run.path, good().files, data):
        survived(lambda: languages_of(run))
        survived(lambda: load(run.path))


@given(st.data())
def test_checkpoints(data: st.DataObject) -> None:
    with spoiled(good().checkpoint, good().saved, data):
        survived(good().job.resume)


@given(st.data())
def test_tokens(data: st.DataObject) -> None:
    with spoiled(good().corpus, good().tokens, data):
        survived(lambda: list(Corpus(good().corpus)))


@pytest.mark.parametrize("name", FILES)
def test_a_link_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    theirs = good().theirs(tmp_path)
    stolen = (theirs / name).rename(tmp_path / name)
    (theirs / name).symlink_to(stolen)
    if name == "about.json":
        assert languages_of(Folder.find(theirs)) is None
    else:
        with pytest.raises(WeftError, match=f"{name} is a link that leads out of its folder"):
            load(theirs)


@pytest.mark.parametrize("name", ["README.md", "metrics.jsonl", "tokens/valid/ids.bin"])
def test_the_target_of_a_link_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    theirs = good().theirs(tmp_path)
    shutil.copytree(good().room / "tokens", theirs / "tokens")
    (tmp_path / "secret").write_text("password: 1234")
    (theirs / name).unlink(missing_ok=True)
    (theirs / name).symlink_to(tmp_path / "secret")
    for command in ("show", "check"):
        with pytest.raises(SystemExit):
            run([command, str(theirs)])
    assert "1234" not in "".join(capsys.readouterr())
    assert Folder(theirs).card() is None


def test_a_run_with_damaged_metrics_and_card_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = good().theirs(tmp_path)
    (theirs / "README.md").write_bytes(b"\xff")
    (theirs / "metrics.jsonl").write_text('5\n{"valid": 3, "step": 1}\n{"valid": {"loss": "x"}, "step": 2}\n')
    with pytest.raises(SystemExit, match="0"):
        run(["show", str(theirs)])
    assert "latest validation: step 2" in capsys.readouterr().out


@pytest.mark.parametrize("spoil", [os.mkfifo, lambda file: os.truncate(file, 10**12)])
def test_a_checksum_file_that_is_a_pipe_or_huge_is_refused(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    theirs = good().theirs(tmp_path)
    if spoil is not os.mkfifo:
        (theirs / "SHA256SUMS").touch()
    spoil(theirs / "SHA256SUMS")
    with pytest.raises(WeftError, match="its SHA256SUMS cannot be read"):
        Folder.find(theirs).model()


def test_about_json_that_is_a_pipe_is_not_read(tmp_path: Path) -> None:
    theirs = good().theirs(tmp_path)
    (theirs / "about.json").unlink()
    os.mkfifo(theirs / "about.json")
    assert languages_of(Folder.find(theirs)) is None


def test_a_plan_leads_to_no_other_file(tmp_path: Path) -> None:
    theirs = good().theirs(tmp_path)
    (tmp_path / "secret.yaml").write_text("password: 1234")
    (theirs / "plan.yaml").write_text("base: ../secret.yaml")
    with pytest.raises(WeftError, match="the plan of a model must be complete") as caught:
        Folder.find(theirs).plan()
    assert "1234" not in str(caught.value)


def test_a_plan_larger_than_its_weights_gets_no_memory(tmp_path: Path) -> None:
    """Terabytes, by a few figures: refused by what the file of weights has, before any of it is allocated."""
    theirs = good().theirs(tmp_path)
    good().run.plan().with_settings({"width": 2**16, "feed_forward.hidden": 2**20, "layers": 9}).write(
        theirs / "plan.yaml"
    )
    with pytest.raises(WeftError, match="does not fit the plan"):
        Folder.find(theirs).model()


@pytest.mark.parametrize(
    "lie",
    [
        {"mixer": {"name": "convolution", "dilation": 20_000_000}},
        {"encoder.stack": {"name": "stretched", "factor": 1e8}},
        {"longest": 10**9},
    ],
)
def test_a_plan_that_claims_what_costs_no_weights_is_refused(tmp_path: Path, lie: dict[str, object]) -> None:
    theirs = good().theirs(tmp_path)
    good().run.plan().with_settings(lie).write(theirs / "plan.yaml")
    with pytest.raises(WeftError, match=r"cannot be built:\n.*: expected at most \d+"):
        Folder.find(theirs).model()


@pytest.mark.parametrize("claimed", [2**63 - 1, 10**12, 200_000_000])
def test_a_header_that_lies_gets_no_memory(tmp_path: Path, claimed: int) -> None:
    theirs = good().theirs(tmp_path)
    header = json.dumps({"a": {"dtype": "F32", "shape": [claimed // 4], "data_offsets": [0, claimed]}}).encode()
    for length in (len(header), claimed):
        (theirs / "model.safetensors").write_bytes(length.to_bytes(8, "little") + header + b"\0" * 64)
        with pytest.raises(WeftError, match="is damaged or not a safetensors file"):
            Folder.find(theirs).model()


@pytest.mark.parametrize("vocabulary", [260, 266])
def test_a_codec_of_another_size_than_the_model_is_refused(tmp_path: Path, vocabulary: int) -> None:
    """More ids than the model has embeddings would be an IndexError, fewer a model that writes what no one can read."""
    theirs = good().theirs(tmp_path)
    texts = [text for pair in PAIRS for text in pair]
    Subwords.train(texts, vocabulary).save(theirs / "tokeniser.json")
    with pytest.raises(WeftError, match=rf"tokeniser\.json has {vocabulary} tokens, but its model has 264"):
        load(theirs)
