"""A model on disk: found, described, loaded; and a sentence for whatever is wrong with it."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.tiny import are_equal, tiny_plan, tiny_run, weights_of
from weft import folder as folder_module
from weft.data.codecs.subwords import Subwords
from weft.errors import WeftError
from weft.folder import Folder, shipped
from weft.weights import load_weights, parameters, read_weights, save_weights, usable_device


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Described, with weights."""
    made = tiny_run(tmp_path / "model")
    save_weights(weights_of(made.plan().build()), made.path / "model.safetensors")
    return made


def test_a_folder_is_found_by_its_path(folder: Folder) -> None:
    assert Folder.find(folder.path) == Folder.find(str(folder.path)) == folder


def test_a_shipped_model_is_found_by_its_name(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_module, "SHIPPED", folder.path.parent)
    (folder.path.parent / "notes").mkdir()
    assert shipped() == ["model"]
    assert Folder.find("model").path == folder.path
    assert (Folder.find("model").name, Folder.find(folder.path.parent / "model").name) == ("model", "model")
    with pytest.raises(
        WeftError, match=r"there is no model 'modle'\. Did you mean 'model'\? .* can also be a run folder"
    ):
        Folder.find("modle")


def test_what_is_no_model_does_not_hide_a_shipped_one(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_module, "SHIPPED", folder.path.parent)
    desk = folder.path.parent / "desk"
    (desk / "model").mkdir(parents=True)
    monkeypatch.chdir(desk)
    assert Folder.find("model").path == folder.path
    Folder(desk / "model").describe(folder.plan(), folder.codec(), None)
    assert Folder.find("model").path == Path("model"), "one's own comes first"


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"")
    for path in (tmp_path, tmp_path / "holiday.jpg"):
        with pytest.raises(WeftError, match=f"{path} is not a model folder"):
            Folder.find(path)


@pytest.mark.parametrize("languages", [("en", "de"), None])
def test_a_folder_remembers_what_it_is(tmp_path: Path, languages: tuple[str, str] | None) -> None:
    tokeniser, plan = Subwords.train([], 260), tiny_plan(vocabulary=260)
    Folder(tmp_path / "new").describe(plan, tokeniser, languages)
    found = Folder.find(tmp_path / "new")
    assert found.plan() == plan
    assert found.codec().pieces.to_str() == tokeniser.pieces.to_str()
    assert found.languages() == languages


def test_its_languages_are_named_as_shortly_as_they_can_be(folder: Folder) -> None:
    folder.describe(folder.plan(), folder.codec(), ("en", "de-DE"))
    assert folder.languages() == ("en", "de")


@pytest.mark.parametrize("about", ["", "{}", "[]", '{"languages": "en-de"}', '{"languages": ["en"]}', None])
def test_languages_that_are_not_there_are_none(folder: Folder, about: str | None) -> None:
    (folder.path / "about.json").unlink()
    if about is not None:
        (folder.path / "about.json").write_text(about)
    assert folder.languages() is None


def test_what_is_noted_stands_beside_what_was_there(folder: Folder) -> None:
    folder.note(aligner={"layer": 1})
    assert folder.about() == {"languages": list(folder.languages() or ()) or None, "aligner": {"layer": 1}}


def test_a_model_comes_ready_to_be_used(folder: Folder) -> None:
    model = folder.model()
    assert not model.training
    assert are_equal(weights_of(model), read_weights(folder.path / "model.safetensors"))


def test_no_draft_is_left_behind(folder: Folder) -> None:
    assert [path.name for path in folder.path.iterdir() if path.name.startswith(".")] == []


def test_a_shared_matrix_is_stored_once(folder: Folder) -> None:
    stored = read_weights(folder.weights())
    assert "source.embedding.weight" in stored
    assert not {"target.embedding.weight", "head.words.weight"} & stored.keys()
    model = folder.model()
    assert model.source.embedding.weight is model.head.words.weight


def test_half_precision_on_disk_is_single_precision_in_use(folder: Folder) -> None:
    whole = read_weights(folder.weights())
    save_weights({name: value.half() for name, value in whole.items()}, folder.weights())
    for name, parameter in parameters(folder.model()).items():
        assert parameter.dtype == torch.float32
        assert parameter.equal(whole[name].half().float())


def test_without_a_finished_model_the_newest_checkpoint_counts(folder: Folder) -> None:
    (folder.path / "model.safetensors").unlink()
    for step in (90, 100):
        (folder.checkpoints / f"step-{step:08d}").mkdir(parents=True)
        save_weights({"step": torch.tensor(step)}, folder.checkpoints / f"step-{step:08d}" / "model.safetensors")
    assert read_weights(folder.weights())["step"].item() == 100


def test_a_folder_without_weights_says_so(folder: Folder) -> None:
    (folder.path / "model.safetensors").unlink()
    with pytest.raises(WeftError, match="has no weights yet"):
        folder.weights()


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data[:20], lambda data: b"", lambda data: b"x" * 99]
)
def test_damaged_weights_are_named(folder: Folder, damage: Any) -> None:
    folder.weights().write_bytes(damage(folder.weights().read_bytes()))
    with pytest.raises(WeftError, match=r"model\.safetensors is damaged or not a safetensors file"):
        folder.model()


def test_missing_weights_are_named(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"gone\.safetensors is missing"):
        read_weights(tmp_path / "gone.safetensors")


def test_weights_of_another_plan_are_refused_with_all_that_differs(folder: Folder) -> None:
    model = tiny_plan(width=16, position={"name": "learned", "limit": 9}, longest=9).build()
    with pytest.raises(WeftError) as caught:
        load_weights(model, folder.weights())
    first, *lines = str(caught.value).splitlines()
    assert first.startswith(f"{folder.weights()} does not fit the plan, in ")
    assert "  decoder.layers.0.cross.body.out.bias is (8,), and the plan wants (16,)" in lines
    wrong = int(first.split()[-2])
    assert wrong > 20 == len(lines)


def test_a_weight_too_many_and_one_too_few_are_named(folder: Folder) -> None:
    weights = read_weights(folder.weights())
    weights["extra"] = weights.pop("head.bias")
    save_weights(weights, folder.weights())
    with pytest.raises(WeftError, match=r"in 2 places:\n  extra is not part of this plan\n  head.bias is missing$"):
        folder.model()


def test_weights_that_cannot_be_written_leave_the_old_ones(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    before = folder.weights().read_bytes()

    def breaks_off(weights: object, file: Path) -> None:
        file.write_bytes(b"half of it")
        raise folder_module.SafetensorError("No space left on device")

    monkeypatch.setattr(folder_module, "save_file", breaks_off)
    with pytest.raises(WeftError, match=r"model\.safetensors could not be written: No space left on device"):
        save_weights({"a": torch.zeros(3)}, folder.weights())
    assert folder.weights().read_bytes() == before


def test_a_folder_that_is_not_there_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="could not be written"):
        save_weights({"a": torch.zeros(3)}, tmp_path / "nowhere" / "model.safetensors")


def test_there_is_always_a_cpu() -> None:
    assert usable_device("cpu") == torch.device("cpu")
    with pytest.raises(WeftError, match=r"there is no device 'cup'\. Did you mean 'cpu'"):
        usable_device("cup")
    with pytest.raises(WeftError, match="there is no device 'cuda:99' here: cpu always is"):
        usable_device("cuda:99")
