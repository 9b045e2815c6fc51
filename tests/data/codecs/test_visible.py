"""Tokens as a person reads them."""

from hypothesis import given
from hypothesis import strategies as st

from weft.data.codecs import Subwords
from weft.data.codecs.visible import merged

BYTES = Subwords.train(["a"], Subwords.least)


def test_a_character_in_several_tokens_is_shown_by_the_first() -> None:
    assert merged(["·", "<D9>", "<85>", "a"]) == ["·", "م", "‥", "a"]
    assert merged(["a<D9>", "<85>b"]) == ["aم", "b"], "one begins at the end of a token"
    assert merged(["<F0>", "<9F>", "<90><88>!"]) == ["🐈", "‥", "!"]
    assert merged(["<D9>", "a"]) == ["<D9>", "a"], "half a character stays its byte"
    assert merged(["<br>", "<0A>", ""]) == ["<br>", "<0A>", ""], "what only looks like a byte"
    assert merged([]) == []


@given(st.text())
def test_a_text_in_bytes_is_readable(text: str) -> None:
    """Whatever it is: as many tokens as there are, and together the text."""
    ids = BYTES.pieces_of([text])[0]
    shown = BYTES.in_text(ids)
    assert len(shown) == len(ids)
    own = "".join(token for token, name in zip(shown, BYTES.readable(ids)) if token != "‥" or name == "‥")
    assert own == text.replace(" ", "·")
