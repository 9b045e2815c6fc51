"""Pictures are written, as large as their tokens need, and their labels are readable."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from matplotlib.font_manager import FontEntry
from PIL import Image

from weft.evaluation.scores import BLEU
from weft.viewing import fonts
from weft.viewing.curves import draw_curves
from weft.viewing.pictures import draw_alignment, label


def test_labels_show_words_continuations_and_the_end() -> None:
    assert [label(token) for token in ("·cat", "s", ".", "∎", "·", "·$5")] == [
        *("cat", "-s", ".", "(end)", "(space)", r"\$5")
    ]


def test_a_longer_sentence_has_a_larger_picture(tmp_path: Path) -> None:
    for name, n in (("short", 4), ("long", 30)):
        file = tmp_path / f"{name}.png"
        draw_alignment([[1 / n] * n] * n, ["·word"] * n, ["·Wort"] * n, "word " * n, "a model", file)
    with Image.open(tmp_path / "short.png") as short, Image.open(tmp_path / "long.png") as long:
        assert long.width > short.width
        assert long.height > short.height


def test_the_same_weight_has_the_same_colour_in_every_picture(tmp_path: Path) -> None:
    """Whatever the largest weight of the picture is: the middle of the first cell."""
    colours = []
    for rest in (0.2, 0.8):
        file = tmp_path / f"{rest}.png"
        draw_alignment([[0.2, rest], [rest, 0.2]], ["·a", "·b"], ["·c", "·d"], "a b", "a model", file)
        with Image.open(file) as picture:
            colours.append({colour for _, colour in picture.convert("RGB").getcolors(2**24)})
    assert (208, 225, 242) in colours[0] & colours[1]


def test_curves_are_drawn_from_rows_of_metrics(tmp_path: Path) -> None:
    rows = [{"step": 10, "loss": 3.0}, {"step": 10, "valid": {"loss": 2.5, "bleu": 7.0}}, {"step": 20, "loss": 2.0}]
    draw_curves(rows, BLEU, tmp_path / "curves.png")
    with Image.open(tmp_path / "curves.png") as picture:
        assert picture.width > picture.height


def test_fallback_fonts_for_missing_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three fonts: the usual one, one with boxes for everything, one that has what is missing."""
    has = {"usual": "abc", "boxes": "abc猫犬", "cjk": "猫"}
    entries = [FontEntry(fname="boxes", name="Last Resort High-Efficiency"), FontEntry(fname="cjk", name="CJK")]
    monkeypatch.setattr(fonts, "get_font", lambda file: SimpleNamespace(get_charmap=lambda: set(map(ord, has[file]))))
    monkeypatch.setattr(fonts, "fontManager", SimpleNamespace(ttflist=entries, findfont=lambda _: "usual"))
    assert fonts.fonts_for("a b") == (["DejaVu Sans"], "")
    assert fonts.fonts_for("a 猫犬 b犬") == (["DejaVu Sans", "CJK"], "犬")
