"""CTranslate2 finds what torch finds: the same translations in the same order, with the same scores."""

from collections.abc import Sequence

import pytest
import torch

import weft
from weft.data.texts import Translation
from weft.decoding import Beam, Constrained, Greedy, Phrase, Sample, Search, best_first, numbers
from weft.engines.ctranslate2 import CTranslate2
from weft.engines.loading import Quick
from weft.folder import Folder
from weft.samples.sentences import EXAMPLES
from weft.tasks import load
from weft.tasks.translator import Translator
from weft.viewing.attention_heads import Head, Without

TEXTS = [*EXAMPLES["en"], "a", "What? " * 9, "The end. the end </s> 😀", "", "Two lines.\nOf text."]


def same(ours: Sequence[Translation], theirs: Sequence[Translation]) -> None:
    assert [one.ids for one in ours] == [one.ids for one in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert (one.text, one.tokens, one.finished) == (other.text, other.tokens, other.finished)
        assert other.score == pytest.approx(one.score, abs=1e-3)
        assert other.log_probs == pytest.approx(one.log_probs, abs=1e-3)


@pytest.mark.parametrize("search", [Greedy(), Greedy(0.0), Beam(5), Beam(3, 0.4), Beam(4, -0.5)], ids=str)
def test_it_finds_what_torch_finds(search: Search, shipped: Translator, prepared: CTranslate2) -> None:
    quick = Quick("none: torch is not needed", prepared)
    asked = numbers(search)
    assert asked
    assert prepared.takes(*asked)
    for ours, theirs in zip(shipped.search(TEXTS, search), quick.search(TEXTS, asked), strict=True):
        same(ours, theirs)


def test_log_probabilities_are_computed_for_as_many_as_are_asked_for(
    shipped: Translator, prepared: CTranslate2
) -> None:
    sources = shipped.encode_all(EXAMPLES["en"])
    for rated in (0, 1, 3):
        for some in prepared.search(sources, 3, 1.0, rated):
            assert some
            assert [bool(one.log_probs) for one in some] == [True] * rated + [False] * (3 - rated)
            assert [one.score for one in some] == sorted((one.score for one in some), reverse=True)


def test_its_workers_do_not_change_what_it_finds(shipped: Translator, prepared: CTranslate2) -> None:
    sources = shipped.encode_all(EXAMPLES["en"])
    apart = CTranslate2(prepared.folder, prepared.codec, "float32", prepared.limit, prepared.longest, workers=3)
    for some, others in zip(prepared.search(sources, 2, 1.0), apart.search(sources, 2, 1.0)):
        assert some
        assert others
        same(some, others)


def test_what_reaches_the_limit_is_left_to_torch(toy: Folder, maker: object) -> None:
    """A toy of four steps never ends a sentence; the limit of a batch is not that of each of its sources."""
    translator: Translator = weft.load(toy.path, engine="ctranslate2")
    alone: Translator = load(toy.path)
    texts = ["red cat", "one two three four five six seven eight"]
    assert translator.engine
    assert translator.engine.search(translator.encode_all(texts), 2, 1.0) == [None, None]
    for ours, theirs in zip(alone.search(texts, Beam(2)), translator.search(texts, Beam(2)), strict=True):
        assert not ours[0].finished
        same(ours, theirs)


def test_a_translation_that_is_longer_than_its_own_limit_is_left_to_torch(
    shipped: Translator, prepared: CTranslate2, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch goes on for its longest source."""
    short, long = shipped.encode_all(["Good morning!", "If I had more time, I would read more books."])
    monkeypatch.setattr(CTranslate2, "_limit", lambda self, source: 3 if source == short else 40)
    monkeypatch.setattr("weft.engines.ctranslate2.threads", lambda: 1)  # one batch
    found = prepared.search([short, long], 1, 1.0)
    assert found[0] is None
    assert found[1]


@pytest.mark.parametrize(
    ("width", "alpha", "takes"), [(1, 0.0, True), (5, 0.0, False), (5, 1.0, True), (4000, 1, False)]
)
def test_searches_that_it_does_otherwise_are_not_taken(
    width: int, alpha: float, takes: bool, prepared: CTranslate2
) -> None:
    assert prepared.takes(width, alpha) == takes  # the vocabulary has 8,000 subwords


class Never:
    """An engine that must not be asked."""

    name = "nothing"

    def takes(self, width: int, length_penalty: float) -> bool:
        return True

    def search(self, *_: object) -> list[list[Translation] | None]:
        raise AssertionError


OTHERS = [
    Sample(draws=2),
    Constrained((Phrase((400, 401)),), width=2),
    Without(Beam(2), (Head("cross", 1, 1),)),
]


@pytest.mark.parametrize("search", OTHERS, ids=lambda search: type(search).__name__)
def test_other_searches_are_torchs(search: Search, shipped: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    assert numbers(search) is None
    before = list(shipped.search(["Good morning!"], search))
    monkeypatch.setattr(shipped, "engine", Never())
    assert list(shipped.search(["Good morning!"], search)) == before
    with pytest.raises(AssertionError):
        list(shipped.search(["Good morning!"], Beam(2)))


@pytest.mark.parametrize("search", [Greedy(0.3), Beam(4, 0.2)], ids=str)
def test_a_search_is_known_by_its_numbers(search: Search) -> None:
    found = numbers(search)
    assert found
    assert best_first(*found) == search


def test_torch_computes_in_the_order_of_the_texts_what_an_engine_leaves(
    shipped: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Every2nd(Never):
        def search(self, sources: Sequence[Sequence[int]], *_: object) -> list[list[Translation] | None]:
            one = Translation("engine", 0.0, (2,), ("∎",), (), True)
            return [[one] if i % 2 else None for i in range(len(sources))]

    texts = ["Good morning!", "Hello.", "Thank you.", "Yes."]
    ours = shipped.translate(texts, beam=1)
    monkeypatch.setattr(shipped, "engine", Every2nd())
    assert shipped.translate(texts, beam=1) == [ours[0], "engine", ours[2], "engine"]
    notes = shipped.evaluate([(text, text) for text in texts], Greedy()).notes
    assert notes[0] == "translated by nothing; perplexity by torch in float32"


def test_it_has_as_many_threads_as_torch() -> None:
    from weft.engines.ctranslate2 import threads

    assert threads() == torch.get_num_threads()
