"""A very small measurement from end to end, and mistakes in words."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from tests.commands.test_commands import weft

TINY = ["--set", "vocabulary=300", "layers=1", "join=add"]
SIZES = ["--lengths", "8,4,8", "--widths", "8,16"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("cost")
    files = ["--png", "cost.png", "--html", "cost.html", "--json"]
    done = weft("cost", "transformer-tiny", "seq2seq-rnn-tiny", *SIZES, *TINY, *files, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "transformer-tiny: a mixer layer\n" in done.stderr
    return folder, json.loads(done.stdout)


def test_everything_is_measured_at_every_size(measured: tuple[Path, dict]) -> None:
    attention, recurrence = measured[1]["plans"]
    assert list(attention["growth"]) == ["layer", "clear", "step"]
    assert list(recurrence["growth"]) == ["layer", "step"]
    for one in (attention, recurrence):
        for grown in one["growth"].values():
            sizes = [(point["length"], point["width"]) for point in grown["points"]]
            assert sizes == [(4, 8), (8, 8), (4, 16), (8, 16)]
            assert all(point["seconds"] > 0 and point["bytes"] > 0 for point in grown["points"])
            assert grown["time"]["coefficients"]
        assert [token["length"] for token in one["decoding"]] == [4, 8]
    assert attention["declared"][-1] == {"length": 8, "sequential_steps": 1, "path_length": 1}
    assert recurrence["declared"][-1] == {"length": 8, "sequential_steps": 8, "path_length": 8}


def test_the_picture_is_wide(measured: tuple[Path, dict]) -> None:
    with Image.open(measured[0] / "cost.png") as picture:
        assert picture.width > picture.height > 800


def test_the_page_holds_everything_it_needs(measured: tuple[Path, dict]) -> None:
    page = (measured[0] / "cost.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href)\s*=|https?://|@import|url\(", page), "nothing from elsewhere"
    told = json.loads(re.search(r'id="cost">(.*?)</script>', page, re.DOTALL)[1])
    assert told["plans"] == measured[1]["plans"]
    assert [table["head"][0] for table in told["tables"]] == ["plan"] * 5
    assert len(page) < 100_000


def test_the_tables_in_words() -> None:
    done = weft("cost", "convs2s-tiny", "--lengths", "4,9", "--widths", "8", *TINY)
    assert done.returncode == 0, done.stderr
    rows = [re.split(r" {2,}", line.strip()) for line in done.stdout.splitlines()]
    assert ["convs2s-tiny", "9", "1", "8 layers, and it has 1"] in rows
    layer = next(row for row in rows if "w·t·k²" in row)
    assert layer[:4] == ["convs2s-tiny", "convolution (kernel: 3)", "w·t·k²", "36·t·k²"]
    assert next(row for row in rows if "never" in row)[:3] == ["convs2s-tiny", "128", "never"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["transfomer-tiny"], "there is no plan or model 'transfomer-tiny'. Did you mean 'transformer-tiny'?"),
        (
            ["transformer-tiny", "--lengths", "16,many"],
            "--lengths: numbers from 2 on are wanted, such as 16,64,256, not 'many'",
        ),
        (["transformer-tiny", "--widths", "0"], "--widths: numbers from 2 on are wanted, such as 16,64,256, not '0'."),
        (["transformer-tiny", "--png", "no/cost.png"], "there is no folder no to write cost.png to."),
        (["transformer-tiny", "--widths", "30"], "4 heads do not divide a width of 30"),
        (
            ["transformer-tiny", "convs2s-tiny", "--lengths", "16,300"],
            "plan 'convs2s-tiny' has learned positions up to 256, and 300 tokens are asked for; "
            "choose --lengths up to 256, or --set position.limit=300.",
        ),
    ],
)
def test_mistakes_are_told_before_anything_is_measured(words: list[str], said: str) -> None:
    done = weft("cost", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "a mixer layer" not in done.stderr
