"""HTML in which every word is put into capitals and some are moved: tags go with their words."""

from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.serving.capitals import capitals
from weft.serving.html_reading import Running, parsed
from weft.serving.html_writing import placed


@pytest.mark.parametrize(
    ("html", "order", "expected"),
    [
        ("<b>yesterday</b> he came", [1, 2, 0], "HE CAME <b>YESTERDAY</b>"),
        ("click <a href=x>here</a> now", [2, 0, 1], "NOW CLICK <a href=x>HERE</a>"),
        ("<i>a</i> <b>c d</b> e", [1, 0, 2, 3], "<b>C</b> <i>A</i> D E"),  # c … d lies around a: the later begins
        ("he saw <a>her</a>, now", [2, 0, 1, 3], "<a>HER</a>, HE SAW NOW"),  # the comma was not in the link
        ("at <time>noon</time> in Rome", [2, 3, 0, 1], "IN ROME AT <time>NOON</time>"),
        ("he <img src=x> came", [1, 0], "<img src=x> CAME HE"),
        ("he saw <code>her</code> now", [3, 2, 0, 1], "NOW <code>her</code> HE SAW"),
        ("<b>he (<kbd>x</kbd>), she</b> came", [1, 0, 2, 3], "<b>(<kbd>x</kbd>), HE SHE</b> CAME"),
        ("<code>A</code> saw <code>A b</code>", [2, 3, 1, 0], "<code>A b</code> SAW <code>A</code>"),
    ],
)
def test_an_element_follows_its_words(html: str, order: list[int], expected: str) -> None:
    assert capitals(html, order) == expected


def test_an_unaligned_element_contains_the_word_with_most_weight() -> None:
    running = parsed("go <a>there</a>")[0]
    assert isinstance(running, Running)
    made = placed("go there", 0, running.within(0, 8), "KOMM HER", [[0.9, 0.1], [0.6, 0.4]])
    assert made == "KOMM <a>HER</a>"


def test_an_unaligned_kept_element_removes_no_word() -> None:
    running = parsed("go <code>there</code>")[0]
    assert isinstance(running, Running)
    made = placed("go there", 0, running.within(0, 8), "KOMM HER", [[0.9, 0.1], [0.6, 0.4]])
    assert made == "KOMM <code>there</code> HER"


@given(st.lists(st.sampled_from(["<b>", "</b>", "<i>", "</i>", "one ", "two ", "End. "])).map("".join))
def test_every_tag_is_written_once(html: str) -> None:
    made = capitals(html)
    for tag in ("<b>", "</b>", "<i>", "</i>"):
        assert made.count(tag) == html.count(tag)
    plain = made
    for tag in ("<b>", "</b>", "<i>", "</i>"):
        plain, html = plain.replace(tag, ""), html.replace(tag, "")
    assert unescape(plain).split() == html.upper().split()
