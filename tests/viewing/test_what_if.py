"""What is changed holds in what is seen, in the search and in its tree, and is what the words say."""

import pytest
import torch

from weft.errors import WeftError
from weft.tasks.generator import Generator
from weft.tasks.translator import Translator
from weft.viewing.attention_heads import Head
from weft.viewing.what_if import WhatIf

TEXT = "red cat bird"
OFF = [Head("cross", 1, 1), Head("encoder", 2, 2)]


def replacing(toy: Translator, word: str) -> dict[int, str]:
    """The replacement of all tokens of the second word by one."""
    tokens = toy.attention(TEXT).source
    begins = [i for i, token in enumerate(tokens) if token.startswith("·")]
    first, end = begins[1], begins[2]
    return {first: word, **dict.fromkeys(range(first + 1, end), "")}


def test_a_replaced_word_is_read_instead(toy: Translator) -> None:
    seen, other = toy.attention(TEXT, what_if=WhatIf(replace=replacing(toy, "dog"))), toy.attention("red dog bird")
    assert (seen.source, seen.target) == (other.source, other.target)
    assert torch.equal(seen.cross, other.cross)
    assert seen.log_probs == other.log_probs
    tree = toy.search_tree(TEXT, WhatIf(replace=replacing(toy, "dog")))
    assert tree.steps == toy.search_tree("red dog bird").steps


def test_an_empty_text_removes_a_token(toy: Translator) -> None:
    assert toy.attention(TEXT, what_if=WhatIf(replace=replacing(toy, ""))).source == toy.attention("red bird").source


@pytest.mark.parametrize("changes", [{}, {"off": OFF}, {"temperature": 0.5}, {"replace": {0: "blue"}}])
def test_the_model_goes_on_from_a_forced_token(toy: Translator, changes: dict[str, object]) -> None:
    """What is found is the best of the tree of all that begins so, and it is rated as if it was given."""
    free = toy.attention(TEXT, what_if=WhatIf(**changes))  # type: ignore[arg-type]
    forced = WhatIf(**changes, force={2: "Q"})  # type: ignore[arg-type]
    seen = toy.attention(TEXT, what_if=forced)
    assert seen.target[:3] == [*free.target[:2], "Q"]
    given = toy.attention(TEXT, seen.ids, WhatIf(**changes))  # type: ignore[arg-type]
    assert given.log_probs == seen.log_probs
    tree = toy.search_tree(TEXT, forced)
    assert [len(step) for step in tree.steps[:3]] == [1, 1, 1]
    assert tree.ended[0].text == seen.translation
    assert tree.ended[0].log_prob == pytest.approx(sum(seen.log_probs), abs=1e-4)
    assert tree.ended[0].score == pytest.approx(seen.score, abs=1e-4)


def test_several_forced_tokens_and_a_word_of_many(toy: Translator) -> None:
    seen = toy.attention(TEXT, what_if=WhatIf(force={0: "ONE TWO", 9: "·"}))
    assert seen.translation.startswith("ONE TWO"), "a text that is no token is written whole"
    assert seen.target[9] == "·"
    assert toy.attention(TEXT, what_if=WhatIf(force={1: "∎"})).target[1:] == ["∎"]


def test_a_given_target_goes_on_from_its_forced_token(toy: Translator) -> None:
    seen = toy.attention(TEXT, "RED", WhatIf(force={1: "Z"}))
    assert seen.target[:2] == [toy.attention(TEXT, "RED").target[0], "Z"]


def test_heads_off_hold_in_the_tree(toy: Translator) -> None:
    off = WhatIf(off=OFF)
    tree, seen = toy.search_tree(TEXT, off), toy.attention(TEXT, what_if=off)
    assert tree.ended[0].text == seen.translation
    assert tree.ended[0].log_prob == pytest.approx(sum(seen.log_probs), abs=1e-4)
    assert tree.steps[0][0].log_prob != toy.search_tree(TEXT).steps[0][0].log_prob


@torch.inference_mode()
def test_temperature_divides_the_logits(toy: Translator) -> None:
    seen = toy.attention(TEXT, what_if=WhatIf(temperature=0.5))
    logits = toy.models[0].head.logits(seen.hidden)  # type: ignore[operator]
    wanted = (logits / 0.5).log_softmax(-1)[range(len(seen.ids)), seen.ids]
    torch.testing.assert_close(torch.tensor(seen.log_probs), wanted)
    assert toy.search_tree(TEXT, WhatIf(temperature=0.5)).ended[0].log_prob == pytest.approx(
        sum(seen.log_probs), abs=1e-4
    )


def test_nothing_is_changed_by_nothing(toy: Translator) -> None:
    assert WhatIf().watch() is None
    assert WhatIf(off=OFF) == WhatIf(off=[*OFF, OFF[0]]), "the same heads, and the same key of a cache"
    assert hash(WhatIf(replace={3: "a", 1: "b"})) == hash(WhatIf(replace={1: "b", 3: "a"}))


def test_a_language_model_under_changes(lm: Generator) -> None:
    free = lm.attention("The red")
    forced = lm.attention("The red", what_if=WhatIf(force={3: "z"}))
    begin = len(free.target) - len(free.ids)
    assert forced.target[: begin + 4] == [*free.target[: begin + 3], "z"]
    given = lm.attention("The red", forced.ids)
    assert given.log_probs == forced.log_probs
    text = "".join(lm.codec.characters(free.targets[:begin]))
    assert text == "The red"
    at = free.target.index("·red") if "·red" in free.target else 1
    other = lm.attention("The red", what_if=WhatIf(replace={at: "q"}))
    assert other.read["tokens"][: at + 1] == free.read["tokens"][: at + 1]
    assert other.target[at] != free.target[at]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"off": [Head("cross", 3, 1)]}, "layer 3 does not exist"),
        ({"replace": {99: "x"}}, "token 99 does not exist: tokens count from 0 to"),
        ({"replace": {-1: "x"}}, "token -1 does not exist"),
        ({"force": {99: "x"}}, "step 99 does not exist: steps count from 0 to"),
        ({"force": {-1: "x"}}, "step -1 does not exist"),
        ({"force": {0: ""}}, "the token forced at step 0 is empty"),
        ({"force": {0: "ONE TWO", 1: "x"}}, "step 1 is part of the word that is forced before it"),
    ],
)
def test_impossible_changes_are_named(toy: Translator, changes: dict[str, object], sentence: str) -> None:
    for look in (toy.attention, toy.search_tree):
        with pytest.raises(WeftError, match=sentence):
            look(TEXT, what_if=WhatIf(**changes))  # type: ignore[arg-type, operator]


def test_wrong_values_are_named(toy: Translator) -> None:
    for temperature in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(WeftError, match="temperature must be a finite number above 0"):
            WhatIf(temperature=temperature)
    with pytest.raises(WeftError, match="the text of a step by its number"):
        WhatIf(force={"1": "x"})  # type: ignore[dict-item]
    end = len(toy.attention(TEXT).source) - 1
    with pytest.raises(WeftError, match=f"token {end} is the end of the text"):
        toy.attention(TEXT, what_if=WhatIf(replace={end: "x"}))
    with pytest.raises(WeftError, match="the sentence is empty"):
        toy.attention(TEXT, what_if=WhatIf(replace=dict.fromkeys(range(end), "")))
    with pytest.raises(WeftError, match="this model allows 200"):
        toy.attention(TEXT, what_if=WhatIf(replace={0: "q" * 500}))
