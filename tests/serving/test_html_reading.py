"""HTML in which every word is put into capitals: what is text, what is kept, and nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.serving.capitals import capitals
from weft.serving.html_reading import Running, parsed


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


@pytest.mark.parametrize("inner", ["<b>" * 1500 + "one" + "</b>" * 1500, "</b>One <i>two. </i>" * 500])
def test_deeply_nested_and_many_tags_are_kept(inner: str) -> None:
    made = capitals(f"a {inner} z")
    for tag in ("<b>", "</b>", "<i>", "</i>"):
        assert made.count(tag) == inner.count(tag)


TAGS = ["<b>", "</b>", "<a href='x'>", "</a>", "<p>", "</p>", "<br>", "<i translate=no>", "</i>", "<code>", "</code>"]
TAGS += ["<!-- c -->", "<script>", "</script>", "<?x>", "<![CDATA[", "<", "</"]
TAGS += ["&amp;", "&#65;", "&nope;", "\n", " ", "Go. "]


@given(st.lists(st.sampled_from(TAGS) | st.text(st.characters(codec="utf-8"), max_size=6)).map("".join))
def test_any_input_is_reassembled_byte_for_byte(html: str) -> None:
    parts = parsed(html)
    assert "".join(part if isinstance(part, str) else part.raw for part in parts) == html
    for part in parts:
        if isinstance(part, Running):
            for tag in part.tags:
                assert tag.raw in part.raw
                assert tag.raw in capitals(html)
