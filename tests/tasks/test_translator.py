"""A trained model at work, from Python."""

import re
from pathlib import Path

import pytest
import torch

import weft
from tests.toys import toy_run
from weft.decoding import Beam, Greedy


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> weft.Translator:
    return weft.load(str(toy_run(tmp_path_factory.mktemp("toy") / "run", longest=24).path))


def test_an_empty_text_has_an_empty_translation(toy: weft.Translator) -> None:
    assert toy.translate(["", "red cat", "   "])[::2] == ["", ""]


def test_the_order_of_texts_is_kept(toy: weft.Translator) -> None:
    texts = ["red", "red cat dog", "blue", "", "one two three", "cat"]
    assert toy.translate(texts) == [toy.translate([text])[0] for text in texts]


def test_a_single_string_is_a_mistake(toy: weft.Translator) -> None:
    with pytest.raises(weft.WeftError, match="takes a list of texts"):
        toy.translate("red cat")  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [None, 3, ["red"]])
def test_what_is_not_a_text_is_named(toy: weft.Translator, text: object) -> None:
    with pytest.raises(weft.WeftError, match=f"line 2: expected a text, got {re.escape(repr(text))}"):
        toy.translate(["red", text])  # type: ignore[list-item]
    with pytest.raises(weft.WeftError, match=f"the sentence: expected a text, got {re.escape(repr(text))}"):
        toy.attention(text)  # type: ignore[arg-type]


def test_a_model_is_loaded_by_its_path(toy: weft.Translator) -> None:
    assert weft.load(toy.folders[0].path).folders == toy.folders


def test_the_repr_of_a_translator_loads_it(toy: weft.Translator) -> None:
    assert eval(repr(toy), {"weft": weft}).folders == toy.folders


def test_a_beam_of_width_0_is_refused(toy: weft.Translator) -> None:
    with pytest.raises(weft.WeftError, match="beam width must be at least 1, got 0"):
        toy.translate(["a"], beam=0)


def test_attention_of_an_empty_text_is_refused(toy: weft.Translator) -> None:
    for text, target, which in (("", None, "sentence"), ("red", "", "target")):
        with pytest.raises(weft.WeftError, match=rf"^the {which} is empty\.$"):
            toy.attention(text, target)


def test_split_translates_sentence_by_sentence_and_keeps_white_space(toy: weft.Translator) -> None:
    whole = toy.translate(["Red cat.  Blue dog.\nOne bird."], split=True)[0]
    red, blue, one = toy.translate(["Red cat.", "Blue dog.", "One bird."])
    assert whole == f"{red}  {blue}\n{one}"


def test_a_long_text_is_split_or_refused_but_never_cut(toy: weft.Translator) -> None:
    text = "Red cat red cat red cat. " * 4
    assert len(toy.tokeniser.encode(text)) > toy.limit == 24
    found = next(toy.search([text], Greedy()))[0]
    assert found.text.count(toy.translate(["Red cat red cat red cat."], beam=1)[0]) == 4
    with pytest.raises(weft.WeftError, match=r"line 1 has \d+ tokens, and this model allows 24"):
        next(toy.search([text], Greedy(), too_long="error"))
    with pytest.raises(weft.WeftError, match=r"line 1 has a sentence of \d+ tokens"):
        next(toy.search(["Red cat. " + "red " * 60], Greedy(), split=True, too_long="error"))


def test_a_word_longer_than_the_model_allows_is_cut_within(toy: weft.Translator) -> None:
    word = "".join(chr(0x4E00 + i) for i in range(30))
    pieces = toy.cut(word, "line 1", split=False)
    assert len(pieces) > 1
    assert "".join(piece + space for piece, space in pieces) == word
    whole, beside = toy.translate([word, "red cat"])
    assert whole == "".join(toy.translate([piece for piece, _ in pieces]))
    assert beside == toy.translate(["red cat"])[0]


def test_a_model_too_small_for_a_character_says_so(toy: weft.Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toy, "limit", 2)
    with pytest.raises(weft.WeftError, match="line 1 has a character, '字', of more tokens than the 2 that"):
        toy.translate(["字"])


def test_n_best_of_a_split_text_joins_the_pieces_rank_by_rank(toy: weft.Translator) -> None:
    found = next(toy.search(["Red cat. Blue dog."], Beam(3), split=True))
    red, blue = toy.search(["Red cat.", "Blue dog."], Beam(3))
    assert [one.text for one in found] == [f"{a.text} {b.text}" for a, b in zip(red, blue)]


def test_attention_of_every_layer_and_head(toy: weft.Translator) -> None:
    seen = toy.attention("red cat")
    T, S = len(seen.target), len(seen.source)
    assert seen.cross.shape == (2, 2, T, S)
    assert seen.encoder.shape == (2, 2, S, S)
    assert seen.decoder.shape == (2, 2, T, T)
    for maps in (seen.cross, seen.encoder, seen.decoder):
        torch.testing.assert_close(maps.sum(-1), torch.ones(maps.shape[:-1]))
    assert (seen.decoder.triu(1) == 0).all()
    torch.testing.assert_close(seen.of("cross", layer=2, head=1), seen.cross[1, 0])
    torch.testing.assert_close(seen.of("cross"), seen.cross.mean((0, 1)))


def test_attention_for_a_given_translation(toy: weft.Translator) -> None:
    seen = toy.attention("red cat", "RED CAT")
    assert "".join(seen.target) == "·RED·CAT∎"
    assert seen.translation == "RED CAT"


@pytest.mark.parametrize(
    ("text", "term", "translation", "token"),
    [
        ("Can you lend me some money?", "money", "Kannst du mir etwas Geld leihen?", "·Geld"),
        ("The squirrel sleeps.", "squirrel", "Das Eichhörnchen schläft.", "·E"),
        ("I want to go to New York.", "New York", "Ich möchte nach New York gehen.", "·New"),
        ("I have a lot of work to do.", "work", "Ich habe viel zu tun.", None),
    ],
)
def test_beginnings_finds_the_word_that_a_term_became(
    text: str, term: str, translation: str, token: str | None
) -> None:
    german = weft.load("en-de")
    ids, start = german.tokeniser.encode(translation), text.index(term)
    [place] = german.beginnings(text, ids, [(start, start + len(term))])
    assert token == (None if place is None else german.tokeniser.readable(ids)[place])


def test_an_ensemble_needs_one_vocabulary(toy: weft.Translator, tmp_path: Path) -> None:
    other = toy_run(tmp_path / "other", vocabulary=290)
    with pytest.raises(weft.WeftError, match="have different vocabularies"):
        weft.load(f"{toy.folders[0].path},{other.path}")


def test_every_public_name_is_there() -> None:
    assert all(hasattr(weft, name) for name in weft.__all__)
    assert dir(weft) == sorted(weft.__all__)
    with pytest.raises(AttributeError):
        _ = weft.nothing  # type: ignore[attr-defined]
