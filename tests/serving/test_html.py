"""HTML in which every word is put into capitals, and sometimes moved: tags stay what and where they should."""

from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.serving.documents import Html, Sentence
from weft.serving.html import Running, parsed, placed
from weft.text.sentences import split_sentences
from weft.translator import Translation


def capitals(html: str, order: list[int] | None = None) -> str:
    """Translated word for word; in another order, if one is given."""
    document = Html(html)
    texts = []
    for text in document.texts:
        sentences, start = [], 0
        for piece, space in split_sentences(text):
            words = piece.split()
            at = order or list(range(len(words)))
            made = " ".join(words[i].upper() for i in at)
            one = Sentence((piece, space), start)
            if words:
                looks = [[[float(i == s) for s in range(len(words))] for i in at]]
                one = Sentence((piece, space), start, [Translation(made, 0.0, (), (), (), True)], looks)
            sentences.append(one)
            start += len(piece) + len(space)
        texts.append(sentences)
    return document.written(texts, 0)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("one two", "ONE TWO"),
        ("one <![ two > three <b>four</b>", "ONE <![ two > THREE <b>FOUR</b>"),
        ("<p>one<![if x]>two<![x[ three", "<p>ONE<![if x]>TWO&lt;![X[ THREE"),
        ("<p>one</p>\n<p>two</p>", "<p>ONE</p>\n<p>TWO</p>"),
        ('<A HREF="x?a=1&amp;b=2" >one</A >', '<A HREF="x?a=1&amp;b=2" >ONE</A >'),
        ("one <b>two</b> three.", "ONE <b>TWO</b> THREE."),
        ("one <b><i>two</i> three</b>.", "ONE <b><i>TWO</i> THREE</b>."),
        ("<b>One.</b> <i>Two.</i>", "<b>ONE.</b> <i>TWO.</i>"),
        ("One <b>two. Three</b> four.", "ONE <b>TWO. THREE</b> FOUR."),
        ("<p>\n  One two\n  <b>three</b>\tfour.\n  Five.\n</p>", "<p>\n  ONE TWO <b>THREE</b> FOUR.\n  FIVE.\n</p>"),
        ("<pre>one\n  two <b>three</b></pre>", "<pre>ONE\n  TWO <b>THREE</b></pre>"),
        ("<div><textarea>one\ntwo</textarea>three\nfour</div>", "<div><textarea>ONE\nTWO</textarea>THREE FOUR</div>"),
        ("a &lt; b &amp; c", "A &lt; B &amp; C"),
        ("one<br>two<br/>three", "ONE<br>TWO<br/>THREE"),
        ("<!-- one --><!DOCTYPE html>one", "<!-- one --><!DOCTYPE html>ONE"),
        ("one <!-- x --> two", "ONE <!-- x --> TWO"),
        ("<script>if (a < b) c()</script>one", "<script>if (a < b) c()</script>ONE"),
        ("<style>p > a {}</style >one", "<style>p > a {}</style >ONE"),
        ("one <code>two</code> three", "ONE <code>two</code> THREE"),
        ('<p translate="no">one <b>two</b></p>three', '<p translate="no">one <b>two</b></p>THREE'),
        (
            "<div translate=NO>one <p translate=yes>two</p> three</div>",
            "<div translate=NO>one <p translate=yes>TWO</p> three</div>",
        ),
        ("one <span translate=no>two</span> three", "ONE <span translate=no>two</span> THREE"),
        ("<li><code>one</code>, <code>two</code></li>three", "<li><code>one</code>, <code>two</code></li>THREE"),
        ("one <code>Go. Now.</code> two", "ONE <code>Go. Now.</code> TWO"),
        ("one <svg><g><path/></g></svg> two", "ONE <svg><g><path/></g></svg> TWO"),
        ("one <i translate=no><p>two</p></i> three", "ONE <i translate=no><p>two</p></i> THREE"),
        ("one <i translate=no>two <b translate=yes>x</b></i>", "ONE <i translate=no>two <b translate=yes>X</b></i>"),
        ("one <img translate=no> two", "ONE <img translate=no> TWO"),
        ("one <img/> two<wbr>three", "ONE <img/> <wbr>TWOTHREE"),
        ("Red cat. <code>42</code> <code>x</code>", "RED CAT. <code>42</code> <code>x</code>"),
        ("<img alt='one' title=two>three", "<img alt='one' title=two>THREE"),
        ("one </b> two", "ONE </b> TWO"),
        ("<b>one <i>two</b> three</i>", "<b>ONE <i>TWO</b> THREE</i>"),
        ("  one  ", "  ONE  "),
        ("one <", "ONE &lt;"),
        ("", ""),
    ],
)
def test_text_is_translated_and_tags_stay(html: str, expected: str) -> None:
    assert capitals(html) == expected


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
def test_an_element_goes_where_its_words_go(html: str, order: list[int], expected: str) -> None:
    assert capitals(html, order) == expected


def test_an_element_of_which_nothing_became_a_word_holds_the_word_that_looks_at_it_most() -> None:
    running = parsed("go <a>there</a>")[0]
    assert isinstance(running, Running)
    made = placed("go there", 0, running.within(0, 8), "KOMM HER", [[0.9, 0.1], [0.6, 0.4]])
    assert made == "KOMM <a>HER</a>"


def test_a_kept_element_of_which_nothing_became_a_word_takes_none_away() -> None:
    running = parsed("go <code>there</code>")[0]
    assert isinstance(running, Running)
    made = placed("go there", 0, running.within(0, 8), "KOMM HER", [[0.9, 0.1], [0.6, 0.4]])
    assert made == "KOMM <code>there</code> HER"


@pytest.mark.parametrize("inner", ["<b>" * 1500 + "one" + "</b>" * 1500, "</b>One <i>two. </i>" * 500])
def test_deep_and_many_tags_all_come_out(inner: str) -> None:
    made = capitals(f"a {inner} z")
    for tag in ("<b>", "</b>", "<i>", "</i>"):
        assert made.count(tag) == inner.count(tag)


TAGS = [
    "<b>",
    "</b>",
    "<a href='x'>",
    "</a>",
    "<p>",
    "</p>",
    "<br>",
    "<!-- c -->",
    "<i translate=no>",
    "</i>",
    "<code>",
]
TAGS += [
    "</code>",
    "<script>",
    "</script>",
    "&amp;",
    "&#65;",
    "&nope;",
    "<",
    "<?x>",
    "<![CDATA[",
    "</",
    "\n",
    " ",
    "Go. ",
]


@given(st.lists(st.sampled_from(TAGS) | st.text(st.characters(codec="utf-8"), max_size=6)).map("".join))
def test_nothing_is_lost_whatever_comes(html: str) -> None:
    parts = parsed(html)
    assert "".join(part if isinstance(part, str) else part.raw for part in parts) == html
    for part in parts:
        if isinstance(part, Running):
            for tag in part.tags:
                assert tag.raw in part.raw
                assert tag.raw in capitals(html)


@given(st.lists(st.sampled_from(["<b>", "</b>", "<i>", "</i>", "one ", "two ", "End. "])).map("".join))
def test_every_tag_comes_out_once(html: str) -> None:
    made = capitals(html)
    for tag in ("<b>", "</b>", "<i>", "</i>"):
        assert made.count(tag) == html.count(tag)
    plain = made
    for tag in ("<b>", "</b>", "<i>", "</i>"):
        plain, html = plain.replace(tag, ""), html.replace(tag, "")
    assert unescape(plain).split() == html.upper().split()
