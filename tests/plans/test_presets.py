"""Plans by name and by file."""

from pathlib import Path

import pytest

from tests.contracts.tiny import TINY_TRANSLATORS
from weft.errors import WeftError
from weft.plans import names, plan
from weft.plans.catalogues import ENCODERS
from weft.plans.part import Part
from weft.plans.plan import Plan, parts_of
from weft.plans.presets import read_plan_file


def written(folder: Path, text: str, name: str = "mine.yaml") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def refusal(name: str) -> str:
    with pytest.raises(WeftError) as error:
        plan(name)
    return str(error.value)


def test_presets_by_name() -> None:
    assert "transformer-base" in names()
    assert plan("transformer-base") == Plan().with_settings(
        {"name": "transformer-base", "about": "The base model of Attention Is All You Need (arXiv:1706.03762)"}
    )


def test_an_unknown_preset() -> None:
    sentence = refusal("transfomer-base")
    assert sentence.startswith("there is no plan 'transfomer-base'. Did you mean 'transformer-base'? Similar: ")
    assert sentence.endswith(" A plan can also be a .yaml file.")


def test_a_whole_plan_from_a_file(tmp_path: Path) -> None:
    file = written(tmp_path, "width: 16\nencoder: {layers: 2, mixer: {name: attention, heads: 4}}\ndropout: 1e-1")
    assert plan(file) == Plan().with_settings(
        {"name": "mine", "width": 16, "encoder.layers": 2, "encoder.mixer.heads": 4, "dropout": 0.1}
    )


def test_a_base_with_settings_from_a_file(tmp_path: Path) -> None:
    found = plan(written(tmp_path, "base: transformer-tiny\nabout: Mine\nset: {dropout: 0.5, norm.epsilon: 1e-3}"))
    wanted = plan("transformer-tiny").with_settings(
        {"name": "mine", "about": "Mine", "dropout": 0.5, "norm.epsilon": 0.001}
    )
    assert found == wanted


def test_a_base_is_looked_for_beside_the_file_that_names_it(tmp_path: Path) -> None:
    written(tmp_path, "width: 16", "other.yaml")
    assert plan(written(tmp_path, "base: other.yaml")).width == 16


def test_a_base_alone(tmp_path: Path) -> None:
    assert plan(written(tmp_path, "base: transformer-tiny\nset:")).width == 128


def test_settings_without_a_base(tmp_path: Path) -> None:
    assert plan(written(tmp_path, "set: {width: 16}")).width == 16


def test_a_file_is_read_each_time(tmp_path: Path) -> None:
    file = written(tmp_path, "width: 16")
    assert plan(file).width == 16
    written(tmp_path, "width: 32")
    assert plan(file).width == 32


def test_yml_is_yaml(tmp_path: Path) -> None:
    assert plan(written(tmp_path, "width: 16", "mine.yml")).width == 16


def test_a_plan_from_a_file_is_checked(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, "norm: layr")).startswith(
        "plan 'mine' cannot be built:\n  encoder.norm, decoder.norm: "
    )


def test_a_written_plan_is_read_as_it_was(tmp_path: Path) -> None:
    mine = plan("transformer-tiny").with_settings({"encoder.norm": ["layer", "rms"], "rate": 1e-9, "about": "no: √d"})
    mine.write(tmp_path / "plan.yaml")
    assert read_plan_file(tmp_path / "plan.yaml") == mine


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("- width\n- 16", "{file}: a plan is a mapping of sections, not list."),
        ("", "{file}: a plan is a mapping of sections, not NoneType."),
        ("base: transformer-tiny\nset: [width]", "{file}: set is a mapping from settings to values, not ['width']."),
        ("base: transformer-tiny\nset: {width: wide}", "{file}:\nwidth: expected int, got 'wide'."),
        (
            "base: transformer-tiny\nsett: 1\nabot: 2",
            "{file}: there is no key of a preset 'abot'. Did you mean 'about'? Known: about, base, set.\n"
            "{file}: there is no key of a preset 'sett'. Did you mean 'set'? Known: about, base, set.",
        ),
        ("encoder: {layrs: 3}\nwidth: wide", "{file}:\nencoder.layrs: "),
        ("base: transfomer-base", "{file}: there is no plan 'transfomer-base'. Did you mean 'transformer-base'?"),
        ("base: 3", "{file}: there is no plan '3'. "),
        ("base: gone.yaml", "there is no plan file {folder}/gone.yaml."),
        ("base: mine.yaml", "{file}: circular base mine.yaml."),
        ("width: [", "{file} is not YAML: "),
        ("width: 2026-13-01", "{file} is not YAML: "),
    ],
)
def test_files_that_are_no_plan(tmp_path: Path, text: str, sentence: str) -> None:
    file = written(tmp_path, text)
    assert refusal(file).startswith(sentence.format(file=file, folder=tmp_path))


def test_two_files_that_are_each_others_base(tmp_path: Path) -> None:
    written(tmp_path, "base: mine.yaml", "other.yaml")
    assert "circular base " in refusal(written(tmp_path, "base: other.yaml"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert refusal(str(tmp_path / "gone.yaml")) == f"there is no plan file {tmp_path / 'gone.yaml'}."


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_bytes(b"\xff\xfe\x00")
    assert refusal(str(tmp_path / "mine.yaml")).startswith(f"{tmp_path / 'mine.yaml'} cannot be read: ")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").mkdir()
    assert refusal(str(tmp_path / "mine.yaml")).startswith(f"{tmp_path / 'mine.yaml'} cannot be read: ")


@pytest.mark.parametrize("size", ["", "-tiny"])
@pytest.mark.parametrize(
    ("name", "mixer", "cross", "stacks", "others"),
    [
        ("seq2seq-rnn", "lstm", "none", ("final-states", "from-encoder-state"), {}),
        ("bahdanau", "gru", "additive", ("plain", "bahdanau"), {"join": "none"}),
        ("luong", "lstm", "general", ("final-states", "input-feeding"), {}),
        ("gnmt", "lstm", "additive", ("plain", "gnmt"), {}),
        (
            "convs2s",
            "convolution",
            "dot",
            ("with-embeddings", "convs2s"),
            {"join": "scaled-add", "embedding": "plain", "position": "learned", "init": "gated"},
        ),
        ("bytenet", "bottleneck", "none", ("stretched", "bytenet"), {"join": "add", "norm": "layer", "wiring": "pre"}),
    ],
)
def test_a_family_has_the_parts_of_its_paper(
    name: str, mixer: str, cross: str, stacks: tuple[str, str], others: dict[str, str], size: str
) -> None:
    found = plan(name + size)
    assert {part.name for side in (found.encoder, found.decoder) for part in parts_of(side.mixer)} == {mixer}
    assert [found.decoder.cross, found.encoder.stack, found.decoder.stack] == [Part(cross), *map(Part, stacks)]
    assert found == found.with_settings(others)


@pytest.mark.parametrize("name", TINY_TRANSLATORS)
def test_a_small_plan_has_dropout_on_both_sides(name: str) -> None:
    found = plan(name)
    assert found.encoder.dropout == found.decoder.dropout >= 0.1


def test_bytenet_stretches_its_source_as_in_its_paper() -> None:
    assert ENCODERS.value(plan("bytenet").encoder.stack, "factor") == 1.2
