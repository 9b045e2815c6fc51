"""A model on disk: found, described, loaded; and a sentence for whatever is wrong with it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.training.tiny import are_equal, tiny_plan, tiny_run, weights_of
from weft import folder as folder_module
from weft import weights as weights_module
from weft.data.codecs.subwords import Subwords
from weft.errors import WeftError
from weft.folder import Folder, shipped
from weft.tasks.translation import Translation
from weft.tasks.translator import languages_of
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


def test_a_folder_without_a_model_does_not_hide_a_shipped_model(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "SHIPPED", folder.path.parent)
    desk = folder.path.parent / "desk"
    (desk / "model").mkdir(parents=True)
    monkeypatch.chdir(desk)
    assert Folder.find("model").path == folder.path
    Folder(desk / "model").describe(folder.plan(), {"tokeniser": folder.codec()}, languages=None)
    assert Folder.find("model").path == Path("model"), "one's own comes first"


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"")
    for path in (tmp_path, tmp_path / "holiday.jpg"):
        with pytest.raises(WeftError, match=f"{path} is not a model folder"):
            Folder.find(path)


@pytest.mark.parametrize("languages", [("en", "de"), None])
def test_a_folder_remembers_what_it_is(tmp_path: Path, languages: tuple[str, str] | None) -> None:
    tokeniser, plan = Subwords.train([], 260), tiny_plan(vocabulary=260)
    Folder(tmp_path / "new").describe(plan, {"tokeniser": tokeniser}, languages=languages)
    found = Folder.find(tmp_path / "new")
    assert found.plan() == plan
    assert isinstance(codec := found.codec(), Subwords)
    assert codec.pieces.to_str() == tokeniser.pieces.to_str()
    assert languages_of(found) == languages


def test_languages_are_noted_without_regions_that_tell_nothing(folder: Folder) -> None:
    facts = Translation().facts(SimpleNamespace(languages=("en", "de-DE")), None)  # type: ignore[arg-type]
    folder.describe(folder.plan(), {"tokeniser": folder.codec()}, **facts)
    assert languages_of(folder) == ("en", "de")


@pytest.mark.parametrize("about", ["", "{}", "[]", '{"languages": "en-de"}', '{"languages": ["en"]}', None])
def test_languages_missing_or_damaged_are_none(folder: Folder, about: str | None) -> None:
    (folder.path / "about.json").unlink()
    if about is not None:
        (folder.path / "about.json").write_text(about)
    assert languages_of(folder) is None


def test_note_keeps_earlier_facts(folder: Folder) -> None:
    folder.note(aligner={"layer": 1})
    assert folder.about() == {"languages": list(languages_of(folder) or ()) or None, "aligner": {"layer": 1}}


def test_a_loaded_model_has_the_stored_weights_and_is_in_eval_mode(folder: Folder) -> None:
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


def test_without_a_finished_model_the_newest_checkpoint_is_loaded(folder: Folder) -> None:
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
    assert "  decoder.layers.0.cross.body.out.bias is (8,), but the plan needs (16,)" in lines
    wrong = int(first.split()[-2])
    assert wrong > 20 == len(lines)


def test_an_extra_weight_and_a_missing_one_are_named(folder: Folder) -> None:
    weights = read_weights(folder.weights())
    weights["extra"] = weights.pop("head.bias")
    save_weights(weights, folder.weights())
    with pytest.raises(WeftError, match=r"in 2 places:\n  extra is not part of this plan\n  head.bias is missing$"):
        folder.model()


def test_weights_that_cannot_be_written_leave_the_old_ones(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    before = folder.weights().read_bytes()

    def breaks_off(weights: object, file: Path) -> None:
        file.write_bytes(b"half of it")
        raise weights_module.SafetensorError("No space left on device")

    monkeypatch.setattr(weights_module, "save_file", breaks_off)
    with pytest.raises(WeftError, match=r"model\.safetensors could not be written: No space left on device"):
        save_weights({"a": torch.zeros(3)}, folder.weights())
    assert folder.weights().read_bytes() == before


def test_a_folder_that_is_not_there_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="could not be written"):
        save_weights({"a": torch.zeros(3)}, tmp_path / "nowhere" / "model.safetensors")


def test_usable_device_accepts_cpu_and_refuses_unknown_devices() -> None:
    assert usable_device("cpu") == torch.device("cpu")
    with pytest.raises(WeftError, match=r"there is no device 'cup'\. Did you mean 'cpu'"):
        usable_device("cup")
    with pytest.raises(WeftError, match="device 'cuda:99' is not available on this machine"):
        usable_device("cuda:99")
