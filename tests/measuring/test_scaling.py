"""A very small measurement from end to end, and the messages for mistakes."""

import json
import re
from pathlib import Path

import pytest
import torch
from PIL import Image

from tests.commands.test_commands import weft
from weft.errors import WeftError
from weft.measuring.fit import Fit
from weft.measuring.report import tables
from weft.measuring.scaling import Cost, Declared, Growth, Measured, Token, _measured

TINY = ["--set", "vocabulary=300", "layers=1", "join=add"]
SIZES = ["--lengths", "64,4,8,16,4", "--widths", "8,16"]


def made(time: dict[str, float], of_square: float = 1.0) -> Cost:
    """Attention as it could have been measured."""
    fitted, memory = Fit(time, 0.08), Fit({"t·k": 48.0}, 0.0)
    points = [Measured(t, 64, 1.0, 1) for t in (16, 256)]
    counted = {"layer": {"t·k²": 24.0, "t²·k": 12 * of_square}, "step": {"t": 15e6, "t²": 15e3 * of_square}}
    growth = dict.fromkeys(("layer", "step"), Growth(points, fitted, memory))
    said = [Declared(256, 1, 1, 8, 1)]
    tokens = [Token(64, 1e-3, 1.0, 1000), Token(256, 2e-3, 1.0, 4000)]
    return Cost("made-up", 64, 4, "attention", "t²·k", "Transformer", counted, said, growth, tokens)


def cells(found: Cost) -> dict[str, list[list[str]]]:
    """Tables by how their titles begin."""
    return {re.split("[,:]", table.title)[0]: [list(row) for row in table.rows] for table in tables([found])}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("cost")
    files = ["--png", "cost.png", "--html", "cost.html", "--json"]
    done = weft("cost", "transformer-tiny", "seq2seq-rnn-tiny", *SIZES, *TINY, *files, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "transformer-tiny: a mixer layer\n" in done.stderr
    return folder, json.loads(done.stdout)


def test_every_workload_is_measured_at_every_size(measured: tuple[Path, dict]) -> None:
    attention, recurrence = measured[1]["plans"]
    assert list(attention["growth"]) == ["layer", "reference", "step"]
    assert list(recurrence["growth"]) == ["layer", "step"]
    for one in (attention, recurrence):
        for grown in one["growth"].values():
            sizes = [(point["length"], point["width"]) for point in grown["points"]]
            assert sizes == [(t, k) for k in (8, 16) for t in (4, 8, 16, 64)]
            assert all(point["seconds"] > 0 and point["bytes"] > 0 for point in grown["points"])
            assert grown["time"]["coefficients"]
        assert [token["length"] for token in one["decoding"]] == [4, 8, 16, 64]
    names = ("length", "sequential_steps", "path_length", "model_steps", "model_path")
    assert attention["declared"][-1] == dict(zip(names, (64, 1, 1, 2, 1)))
    assert recurrence["declared"][-1] == dict(zip(names, (64, 64, 64, 128, 128)))


def test_unfused_attention_holds_its_weights(measured: tuple[Path, dict]) -> None:
    """64² weights in each of 4 heads, 4 bytes each; the fused kernel never holds them all."""
    fused, unfused = (measured[1]["plans"][0]["growth"][name]["points"][-1]["bytes"] for name in ("layer", "reference"))
    assert unfused > fused + 4 * 64 * 64 * 4


def test_t_squared_is_fitted_only_where_operations_have_it(measured: tuple[Path, dict]) -> None:
    attention, recurrence = measured[1]["plans"]
    assert list(attention["growth"]["layer"]["time"]["coefficients"]) == ["t·k²", "1", "t", "t²·k"]
    for grown in recurrence["growth"].values():
        terms = [*grown["time"]["coefficients"], *grown["memory"]["coefficients"]]
        assert not [name for name in terms if "t²" in name]
        assert set(grown["crossing"].values()) == {None}


@pytest.mark.parametrize(
    ("square", "said", "drawn"),
    [(1e-9, "128", 128), (1e-8, "before 16", None), (1e-10, "beyond 256", None), (0.0, "beyond 256", None)],
)
def test_crossing_is_reported_within_the_measured_lengths(square: float, said: str, drawn: float | None) -> None:
    """2e-9 · t·k² and 1e-9 · t²·k cross at 2 k, and at 64 wide that is at 128 tokens."""
    one = made({"t·k²": 2e-9, "t²·k": square})
    assert cells(one)["The length from which terms in t² cost more than terms in t"] == [
        ["made-up", "64", "2·k = 128", said, "1,000", said]
    ]
    assert one.growth["layer"].crossing(64) == (drawn and pytest.approx(drawn))


def test_no_crossing_without_a_t_squared_term() -> None:
    assert (
        cells(made({"t·k²": 2e-9}))["The length from which terms in t² cost more than terms in t"][0][3]
        == "too few sizes"
    )
    alone = made({"t·k²": 2e-9}, of_square=0.0)
    assert cells(alone)["The length from which terms in t² cost more than terms in t"][0][2:] == ["no t² term"] * 4


def test_fits_are_reported_with_their_error() -> None:
    found = cells(made({"t·k²": 2e-9, "t²·k": 1e-9, "1": 0.0}))
    assert found["A mixer layer"][0][3:] == ["24·t·k² + 12·t²·k", "2 ns·t·k² + 1 ns·t²·k", "8 %"]
    assert found["A training step"][0][2:] == ["15,000,000·t + 15,000·t²", "2 ns·t·k² + 1 ns·t²·k", "8 %"]


def test_models_are_listed_below_the_lectures_row() -> None:
    """At 256 tokens and 64 wide t²·k is twice t·k²: 1 + 2/3 is the power of t, 2 - 2/3 that of k."""
    lectures, here = cells(made({"t·k²": 2e-9, "t²·k": 1e-9}))["A model of depth d"]
    assert lectures == ["Transformer", "", "t", "t²·k·d", "t·k·d", "t²·k·d", "t·k·d", "d", "1"]
    assert here == ["", "made-up", "256", "t^1.7·k^1.3", "t^1.0·k^1.0", "t^1.5", "t^1.0", "8", "1"]


def test_picture_size(measured: tuple[Path, dict]) -> None:
    with Image.open(measured[0] / "cost.png") as picture:
        assert picture.width > picture.height > 800


def test_page_is_self_contained(measured: tuple[Path, dict]) -> None:
    page = (measured[0] / "cost.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href)\s*=|https?://|@import|url\(", page), "nothing from elsewhere"
    told = json.loads(re.search(r'id="cost">(.*?)</script>', page, re.DOTALL)[1])
    assert told["plans"] == measured[1]["plans"]
    assert [table["head"][0] for table in told["tables"]] == ["plan"] * 4 + ["family"] + ["plan"] * 2
    assert len(page) < 200_000, "of which lit and d3 are half"


def test_out_of_memory_is_a_weft_error() -> None:
    def hungry() -> None:
        torch.empty(2**60)

    with pytest.raises(WeftError, match="not enough memory for 2,048 tokens at width 64"):
        _measured(hungry, 2048, 64)


def test_rows_are_named_as_typed(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("base: convs2s-tiny\n")
    done = weft("cost", "a.yaml", "b.yaml", "a.yaml", "--lengths", "4,9", "--widths", "8,16", *TINY, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [line.split()[0] for line in done.stdout.splitlines() if "w·t·k²" in line]
    assert rows == ["a.yaml", "b.yaml"]


def test_printed_tables() -> None:
    done = weft("cost", "convs2s-tiny", "--lengths", "4,9", "--widths", "8,16", *TINY)
    assert done.returncode == 0, done.stderr
    rows = [re.split(r" {2,}", line.strip()) for line in done.stdout.splitlines()]
    assert ["convs2s-tiny", "9", "1", "8 layers (the plan has 1)"] in rows
    layer = next(row for row in rows if "w·t·k²" in row)
    assert layer[:4] == ["convs2s-tiny", "convolution (kernel: 3)", "w·t·k²", "36·t·k²"]
    assert ["convs2s-tiny", "132", *["no t² term"] * 2, "1,074", "width 132 not measured"] in rows


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["transfomer-tiny"], "there is no plan or model 'transfomer-tiny'. Did you mean 'transformer-tiny'?"),
        (
            ["transformer-tiny", "--lengths", "16,many"],
            "--lengths: expected integers of at least 2, such as 16,64,256, got 'many'",
        ),
        (
            ["transformer-tiny", "--widths", "0"],
            "--widths: expected integers of at least 2, such as 16,64,256, got '0'",
        ),
        (["transformer-tiny", "--lengths", "16"], "--lengths: expected at least two, to see how costs grow, got 16."),
        (
            ["transformer-tiny", "--lengths", "8,99999999999"],
            "--lengths: expected at most 65,536 tokens, got 99999999999.",
        ),
        (["transformer-tiny", "--png", "x.png", "--html", "x.png"], "--png and --html must be different files"),
        (
            ["transformer-tiny", "--png", "no/cost.png"],
            "no/cost.png could not be written: the folder no does not exist.",
        ),
        (["transformer-tiny", "--png", "cost.jpg"], "cost.jpg cannot be written: a picture is .png, .svg or .pdf"),
        (["transformer-tiny", "--html", "."], ". could not be written: Is a directory."),
        (["transformer-tiny", "--widths", "30,32"], "4 heads do not divide a width of 30"),
        (["transformer-tiny", "--widths", "16"], "--widths: expected at least two, to see how costs grow, got 16."),
        (
            ["transformer-tiny", "convs2s-tiny", "--lengths", "16,300"],
            "plan 'convs2s-tiny' has learned positions up to 256: expected at least two --lengths within them, "
            "got 16, 300.",
        ),
    ],
)
def test_mistakes_are_reported_before_measuring(words: list[str], said: str) -> None:
    done = weft("cost", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "a mixer layer" not in done.stderr
