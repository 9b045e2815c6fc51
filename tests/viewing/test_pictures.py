"""Pictures are written, as large as their tokens need, and their labels are readable."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from matplotlib.font_manager import FontEntry
from PIL import Image

from weft.errors import WeftError
from weft.evaluation.scores import BLEU, LOSS
from weft.viewing import fonts
from weft.viewing.curves import draw_curves, score_limits, smoothed
from weft.viewing.palette import HEADS, RAMP
from weft.viewing.pictures import draw_grid, draw_lines, draw_map, label, labels


def test_labels_show_words_continuations_and_the_end() -> None:
    assert [label(token) for token in ("·cat", "s", ".", "∎", "·", "·$5")] == [
        *("cat", "-s", ".", "(end)", "(space)", r"\$5")
    ]


def test_characters_have_no_hyphens() -> None:
    assert labels(["·t", "o", "·", "-", "e"]) == ["t", "o", "(space)", "-", "e"]
    assert labels(["·to", "e"]) == ["to", "-e"]


def test_a_longer_sentence_has_a_larger_picture(tmp_path: Path) -> None:
    for name, n in (("short", 4), ("long", 30)):
        file = tmp_path / f"{name}.png"
        draw_map([[1 / n] * n] * n, ["·word"] * n, ["·Wort"] * n, "word " * n, "a model", file)
    with Image.open(tmp_path / "short.png") as short, Image.open(tmp_path / "long.png") as long:
        assert long.width > short.width
        assert long.height > short.height


def test_the_same_weight_has_the_same_colour_in_every_picture(tmp_path: Path) -> None:
    """Whatever the largest weight of the picture is: the middle of the first cell."""
    colours = []
    for rest in (0.2, 0.8):
        file = tmp_path / f"{rest}.png"
        draw_map([[0.2, rest], [rest, 0.2]], ["·a", "·b"], ["·c", "·d"], "a b", "a model", file)
        with Image.open(file) as picture:
            colours.append({colour for _, colour in picture.convert("RGB").getcolors(2**24)})
    assert colours[0] & colours[1] > {(205, 219, 239)}


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


def test_0_and_1_have_the_colours_of_the_page(tmp_path: Path) -> None:
    draw_map([[0.0, 1.0], [1.0, 0.0]], ["·a", "·b"], ["·c", "·d"], "a b", "a model", tmp_path / "a.png")
    draw_grid([[[[0.0, 1.0], [1.0, 0.0]]]], 1, ["·a", "·b"], ["·c", "·d"], "a b", "a model", tmp_path / "b.png")
    for name in ("a.png", "b.png"):
        with Image.open(tmp_path / name) as picture:
            counted = {colour: count for count, colour in picture.convert("RGB").getcolors(2**24)}
        assert min(counted[rgb(RAMP[0])], counted[rgb(RAMP[-1])]) > 500


KEYS, QUERIES = ["·The", "·cost", "·$5"], ["·Die", "·Kosten", "∎"]
MAP = [[0.9, 0.1, 0.0], [0.02, 0.8, 0.18], [0.3, 0.3, 0.4]]
DRAWN = {
    "map": lambda file: draw_map(MAP, KEYS, QUERIES, "The cost: $5", "a model", file),
    "grid": lambda file: draw_grid([[MAP, MAP]], 1, QUERIES, KEYS, "The cost: $5", "a model", file),
    "lines": lambda file: draw_lines({"head 1": MAP, "head 2": MAP}, QUERIES, KEYS, "The cost: $5", "a model", file),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_the_suffix_is_the_format(kind: str, tmp_path: Path) -> None:
    for suffix, beginning in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG")):
        file = tmp_path / f"a{suffix}"
        DRAWN[kind](file)
        assert file.read_bytes().startswith(beginning)
    with pytest.raises(WeftError, match=r"a\.jpeg cannot be written: a picture is \.png, \.svg or \.pdf"):
        DRAWN[kind](tmp_path / "a.jpeg")
    assert not (tmp_path / "a.jpeg").exists()


@pytest.mark.parametrize("kind", DRAWN)
def test_text_stays_text(kind: str, tmp_path: Path) -> None:
    DRAWN[kind](tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text()
    assert all(f">{word}</text>" in drawn for word in ("Kosten", "(end)", "$5", "The cost: $5", "a model"))
    DRAWN[kind](tmp_path / "a.pdf")
    drawn_pdf = (tmp_path / "a.pdf").read_bytes()
    assert b"/FontFile2" in drawn_pdf
    assert b"/Type3" not in drawn_pdf, "outlines without letters"


def test_the_same_numbers_are_the_same_bytes(tmp_path: Path) -> None:
    for suffix in (".png", ".svg", ".pdf"):
        for name in ("a", "b"):
            DRAWN["lines"](tmp_path / f"{name}{suffix}")
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_lines_are_as_strong_as_weights_and_heads_run_side_by_side(tmp_path: Path) -> None:
    DRAWN["lines"](tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text()
    curves = re.findall(r'd="M ([\d.]+) ([\d.]+) \nC [^"]*" clip-path[^>]*? style="fill: none; ([^"]*)"', drawn)
    styles = [style for _, _, style in curves]
    for colour in HEADS[:2]:
        mine = [style for style in styles if f"stroke: {colour}" in style]
        assert len(mine) == 7, "weights of 0.02 and 0 are no lines"
        widths = [float(found[1]) for style in mine if (found := re.search(r"stroke-width: ([\d.]+)", style))]
        assert widths[0] == max(widths)
        assert widths[1] == min(widths)
    assert len({y for _, y, _ in curves}) == 6, "each token has a place for each head"


ROWS = [{"step": 10, "loss": 3.0}, {"step": 10, "valid": {"loss": 2.5, "bleu": 7.0}}, {"step": 20, "loss": 2.0}]


def test_curves_are_drawn_from_rows_of_metrics(tmp_path: Path) -> None:
    for rows in (ROWS, [], ROWS[:1], ROWS[1:2]):
        draw_curves(rows, BLEU, tmp_path / "curves.png")
        with Image.open(tmp_path / "curves.png") as picture:
            assert picture.width > picture.height
            assert picture.info["dpi"][0] == pytest.approx(160, abs=0.1)


def test_a_single_value_of_a_curve_is_a_dot(tmp_path: Path) -> None:
    rows = [{"step": step, "loss": 2.0, "rate": 1e-3, "tokens": 9, "seconds": float(step)} for step in (1, 5, 9)]
    for some, dots in ((rows, 0), (rows[:2], 2)):
        draw_curves(some, LOSS, tmp_path / "a.svg")
        panel = (tmp_path / "a.svg").read_text(encoding="utf-8").partition('id="axes_4"')[2]
        assert len(re.findall(r"<g clip-path", panel)) == dots  # the speed, and its mean


def test_curves_tell_the_best_checkpoint_and_the_time(tmp_path: Path) -> None:
    more = {"tokens": 100, "rate": 0.001}
    rows = [
        *({"step": n, "loss": 1.0, "seconds": n / 2, **more} for n in range(10, 310, 10)),
        *(
            {"step": n, "valid": {"loss": 2 - n / 100, "bleu": bleu}}
            for n, bleu in ((100, 20.0), (200, 30.0), (300, 25.0))
        ),
    ]
    draw_curves(rows, BLEU, tmp_path / "a.svg")
    draw_curves(rows, LOSS, tmp_path / "b.svg")
    assert "best: 30.0, step 200" in (tmp_path / "a.svg").read_text()
    assert "best: -1.000, step 300" in (drawn := (tmp_path / "b.svg").read_text())
    assert "Tokens per second; 2 minutes in all" in drawn


def test_smoothing_has_no_bias_and_does_not_lag() -> None:
    """At the beginning it is the first value; after a jump it takes about 2 % of the run."""
    steps = range(10, 5010, 10)
    assert dict(smoothed([(step, 4.0) for step in steps])) == pytest.approx(dict.fromkeys(steps, 4.0))
    jump = dict(smoothed([(step, 5.0 if step < 1000 else 1.0) for step in steps]))
    assert jump[990] == pytest.approx(5.0)
    assert jump[1000 + 100] < 1.6
    assert jump[1000 + 200] < 1.1


def test_an_axis_of_scores_shows_noise_as_noise() -> None:
    assert score_limits([0.005, 0.023], BLEU) == (0.0, 1.0)
    assert score_limits([10.0, 30.0], BLEU) == (0.0, pytest.approx(32.4))
    low, high = score_limits([1.427, 1.430, 1.425], LOSS)
    assert high - low >= 0.1 * 1.43
    assert score_limits([], LOSS)[1] > 0


def test_fallback_fonts_for_missing_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three fonts: the usual one, one with boxes for everything, one that has what is missing."""
    has = {"usual": "abc", "boxes": "abc猫犬", "cjk": "猫"}
    entries = [FontEntry(fname="boxes", name="Last Resort High-Efficiency"), FontEntry(fname="cjk", name="CJK")]
    monkeypatch.setattr(fonts, "get_font", lambda file: SimpleNamespace(get_charmap=lambda: set(map(ord, has[file]))))
    monkeypatch.setattr(fonts, "fontManager", SimpleNamespace(ttflist=entries, findfont=lambda _: "usual"))
    assert fonts.fonts_for("a b") == (["DejaVu Sans"], "")
    assert fonts.fonts_for("a 猫犬 b犬") == (["DejaVu Sans", "CJK"], "犬")
