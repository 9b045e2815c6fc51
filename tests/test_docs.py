"""What the README and the docs show is run: every Python snippet, and every `weft` command, on small files."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from tests.toys import SMALL, write_files
from weft import commands
from weft.plans.plan import Training
from weft.plans.presets import plan

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TOY = [f"{key}={value}" for key, value in SMALL.items() if key not in ("width", "layers")]
OF_ANY_PLAN = [setting for setting in TOY if "." not in setting]  # heads and the like are a Transformer's


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("weft.machine.cache_file", lambda: tmp_path / "machine.json")
    names: dict[str, object] = {}  # a page is read from top to bottom
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one folder, in the order of the page; trainings are made very small, and pipes are taken apart."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("weft.machine.cache_file", lambda: tmp_path / "machine.json")
    for line in (line for block in blocks(page, "sh") for line in block.splitlines()):
        *said, command = line.split(" | ")
        words = shlex.split(command.split(" > ")[0], comments=True)
        if words[:1] != ["weft"]:
            continue
        if said:
            Path("said.txt").write_text(shlex.split(said[0])[1] + "\n", encoding="utf-8")
            words.insert(3, "said.txt")
        if words[1] == "train":
            small = TOY if words[2].startswith("transformer") and "mixer=lstm" not in words else OF_ANY_PLAN
            small = small if "--from" not in words else ["steps=2", "validate_every=1", "batch_tokens=512"]
            words += ["--set", *small]
        with pytest.raises(SystemExit) as end:
            commands.run(words[1:])
        assert not end.value.code, f"{line}\n{capsys.readouterr().err}"


def test_every_training_option_is_in_the_reference_with_its_default() -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    table = page.partition("## Training options")[2].partition("\n## ")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \|", table, re.MULTILINE))
    assert told == {name: str(value) for name, value in vars(Training()).items()}


@pytest.mark.parametrize("verb", commands.VERBS)
def test_every_option_is_in_the_reference(verb: str) -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    rows = " ".join(re.findall(rf"^\| `weft {verb}\b.*$", page, re.MULTILINE))
    command = get_command(commands.app).commands[verb]  # type: ignore[attr-defined]
    options = {name for option in command.params for name in option.opts if name.startswith("--")}
    assert options - {"--help"} <= {*re.findall(r"--[\w-]+", rows)}


def test_the_plan_of_the_reference_is_one(tmp_path: Path) -> None:
    (shown,) = blocks(ROOT / "docs" / "reference.md", "yaml")
    (tmp_path / "ours.yaml").write_text(shown, encoding="utf-8")
    assert plan(str(tmp_path / "ours.yaml")).width == 192


def test_links_lead_somewhere() -> None:
    pages = [*PAGES, ROOT / "CONTRIBUTING.md"]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page.name}: {target}"
