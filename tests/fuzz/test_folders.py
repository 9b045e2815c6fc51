"""Model folders and checkpoints of strangers: a model comes of them or a sentence, and nothing outside is read."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.broken import lying, meddled, mutated, survived
from tests.training.tiny import Told, tiny_run, tiny_trainer
from weft.errors import Interrupted, WeftError
from weft.folder import Folder
from weft.text.corpus import Corpus

ROOM = Path(tempfile.mkdtemp())
RUN = tiny_run(ROOM / "run", steps=2)
with pytest.raises(Interrupted):
    tiny_trainer(RUN, Told(KeyboardInterrupt(), at=1)).train()
NEWEST = RUN.checkpoints / "step-00000001"
shutil.copy(NEWEST / "model.safetensors", RUN.average)
shutil.copytree(RUN.path / "tokens", ROOM / "tokens")
(NEWEST / "SHA256SUMS").unlink()  # who lies about the files lies about their checksums
JOB = tiny_trainer(RUN)
FILES = {
    name: (RUN.path / name).read_bytes() for name in ("plan.yaml", "tokeniser.json", "about.json", "model.safetensors")
}
SAVED = {name: (NEWEST / name).read_bytes() for name in ("model.safetensors", "optimiser.safetensors", "state.json")}
TOKENS = {name: (ROOM / "tokens/valid" / name).read_bytes() for name in ("corpus.json", "ends.bin", "ids.bin")}


def teardown_module() -> None:
    shutil.rmtree(ROOM)


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
    try:
        yield
    finally:
        (folder / name).write_bytes(good[name])


@given(st.data())
def test_model_folders(data: st.DataObject) -> None:
    with spoiled(RUN.path, FILES, data):
        survived(RUN.languages)
        survived(lambda: Folder.find(RUN.path).model())


@given(st.data())
def test_checkpoints(data: st.DataObject) -> None:
    with spoiled(NEWEST, SAVED, data):
        survived(JOB.resume)


@given(st.data())
def test_tokens(data: st.DataObject) -> None:
    with spoiled(ROOM / "tokens/valid", TOKENS, data):
        survived(lambda: list(Corpus(ROOM / "tokens/valid")))


@pytest.mark.parametrize("name", FILES)
def test_a_link_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    shutil.copytree(RUN.path, tmp_path / "theirs", ignore=shutil.ignore_patterns("checkpoints", "tokens"))
    stolen = (tmp_path / "theirs" / name).rename(tmp_path / name)
    (tmp_path / "theirs" / name).symlink_to(stolen)
    theirs = Folder.find(tmp_path / "theirs")
    if name == "about.json":
        assert theirs.languages() is None
    else:
        with pytest.raises(WeftError, match=f"{name} is a link that leads out of its folder"):
            theirs.model()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    shutil.copytree(RUN.path, tmp_path / "theirs", ignore=shutil.ignore_patterns("checkpoints", "tokens"))
    (tmp_path / "theirs" / "about.json").unlink()
    os.mkfifo(tmp_path / "theirs" / "about.json")
    assert Folder.find(tmp_path / "theirs").languages() is None


def test_a_plan_leads_to_no_other_file(tmp_path: Path) -> None:
    shutil.copytree(RUN.path, tmp_path / "theirs", ignore=shutil.ignore_patterns("checkpoints", "tokens"))
    (tmp_path / "secret.yaml").write_text("password: 1234")
    (tmp_path / "theirs" / "plan.yaml").write_text("base: ../secret.yaml")
    with pytest.raises(WeftError, match="the plan of a model is a whole one") as caught:
        Folder.find(tmp_path / "theirs").plan()
    assert "1234" not in str(caught.value)


def test_a_plan_that_claims_much_gets_no_memory(tmp_path: Path) -> None:
    """Terabytes, by a few figures: refused by what the file of weights has, before any of it is allocated."""
    shutil.copytree(RUN.path, tmp_path / "theirs", ignore=shutil.ignore_patterns("checkpoints", "tokens"))
    RUN.plan().with_settings({"width": 2**16, "feed_forward.hidden": 2**20, "layers": 9}).write(
        tmp_path / "theirs/plan.yaml"
    )
    with pytest.raises(WeftError, match="does not fit the plan"):
        Folder.find(tmp_path / "theirs").model()


@pytest.mark.parametrize("claimed", [2**63 - 1, 10**12, 200_000_000])
def test_a_header_that_lies_gets_no_memory(tmp_path: Path, claimed: int) -> None:
    shutil.copytree(RUN.path, tmp_path / "theirs", ignore=shutil.ignore_patterns("checkpoints", "tokens"))
    header = json.dumps({"a": {"dtype": "F32", "shape": [claimed // 4], "data_offsets": [0, claimed]}}).encode()
    for length in (len(header), claimed):
        (tmp_path / "theirs/model.safetensors").write_bytes(length.to_bytes(8, "little") + header + b"\0" * 64)
        with pytest.raises(WeftError, match="is damaged or not a safetensors file"):
            Folder.find(tmp_path / "theirs").model()
