"""All searches on a real, small, untrained Transformer: cached = recomputed, batched = single, together = alone."""

import math

import pytest
import torch
from torch import Tensor

from tests.decoding.fakes import searched
from weft.data.batches import pad
from weft.data.codecs.subwords import END, START
from weft.decoding import Beam, Greedy, Hypothesis, Sample, Search, search_all
from weft.models.encoder_decoder import EncoderDecoder
from weft.parts.call import Call
from weft.plans import plan

SMALL = {"width": 16, "layers": 2, "mixer.heads": 2, "cross.heads": 2, "feed_forward.hidden": 24, "vocabulary": 260}
SOURCES = [[7, 8, 9, END], [5, END], [100, 7, 42, 17, 9, 11, END], [6, 6, 6, END]]
SEARCHES = [Greedy(), Beam(1), Beam(4), Beam(3, length_penalty=0.0), Sample(temperature=2.0)]


def small(seed: int = 1, **settings: object) -> EncoderDecoder:
    """Its words differ in how likely they are and END is the likeliest, so that sentences end, one after the other."""
    torch.manual_seed(seed)
    model = plan("transformer-tiny").with_settings({**SMALL, **settings}).build().eval()
    with torch.no_grad():
        model.head.bias.normal_()
        model.head.bias[END] = 3.0
    return model


FAMILIES = ["seq2seq-rnn", "bahdanau", "luong", "gnmt", "convs2s", "bytenet"]


def small_of(family: str) -> EncoderDecoder:
    """The same of another family: 16 wide, three layers where it may have them."""
    torch.manual_seed(1)
    found = plan(f"{family}-tiny")
    layers = min(found.decoder.layers, 3)
    model = found.with_settings({"width": 16, "layers": layers, "vocabulary": 260}).build().eval()
    with torch.no_grad():
        model.head.bias.normal_()
        model.head.bias[END] = 3.0
    return model


MODEL = small()


@torch.no_grad()
def recomputed(model: EncoderDecoder, source: list[int], ids: tuple[int, ...]) -> Tensor:
    """Log-probabilities of a hypothesis, all positions at once and nothing remembered."""
    memory = model.encode(torch.tensor([source]))
    hidden = model.decode(torch.tensor([[START, *ids[:-1]]]), memory)
    return model.head.log_probs(hidden)[0].gather(1, torch.tensor(ids)[:, None])[:, 0]


def same(left: list[Hypothesis], right: list[Hypothesis]) -> bool:
    return [h.ids for h in left] == [h.ids for h in right] and all(
        a.log_probs == pytest.approx(b.log_probs, abs=1e-5) and a.score == pytest.approx(b.score, abs=1e-5)
        for a, b in zip(left, right)
    )


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("settings", [{}, {"position": "learned"}, {"wiring": "pre", "feed_forward": "swiglu"}])
def test_step_by_step_is_all_at_once(search: Search, settings: dict[str, str]) -> None:
    model = small(**settings)
    for source, found in zip(SOURCES, searched(search, [model], pad(SOURCES))):
        assert found
        for hypothesis in found:
            expected = recomputed(model, source, hypothesis.ids)
            assert hypothesis.log_probs == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize("search", [Greedy(), Beam(4), Sample(temperature=2.0)])
@pytest.mark.parametrize("family", FAMILIES)
def test_step_by_step_is_all_at_once_in_every_family(search: Search, family: str) -> None:
    model = small_of(family)
    for source, found in zip(SOURCES, searched(search, [model], pad(SOURCES))):
        for hypothesis in found:
            expected = recomputed(model, source, hypothesis.ids)
            assert hypothesis.log_probs == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_ensemble_of_two_families_averages_probabilities(family: str) -> None:
    models = [MODEL, small_of(family)]
    for source, found in zip(SOURCES, searched(Beam(3), models, pad(SOURCES))):
        for hypothesis in found:
            each = torch.stack([recomputed(model, source, hypothesis.ids).exp() for model in models])
            assert [math.exp(p) for p in hypothesis.log_probs] == pytest.approx(each.mean(0).tolist(), abs=1e-5)


def test_sentences_end_at_different_lengths() -> None:
    """Else the tests of this file would say little."""
    lengths = {len(found[0].ids) for found in searched(Greedy(), [MODEL], pad(SOURCES))}
    assert len(lengths) > 1


@pytest.mark.parametrize("search", [Greedy(), Beam(1), Beam(4), Beam(3, length_penalty=0.0)])
def test_a_batch_finds_what_each_sentence_finds_alone(search: Search) -> None:
    together = searched(search, [MODEL], pad(SOURCES))
    for source, found in zip(SOURCES, together):
        (alone,) = searched(search, [MODEL], pad([source]))
        assert same(found, alone)


@pytest.mark.parametrize("search", [Greedy(), Beam(3)])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_batch_finds_what_each_sentence_finds_alone_in_every_family(family: str, search: Search) -> None:
    """States leave the batch with their sentence; the shortest source is its end alone."""
    model, sources = small_of(family), [*SOURCES, [END]]
    with torch.no_grad():
        model.head.bias[END] = 1.0  # most go on to the longest that their source allows, each its own
    together = searched(search, [model], pad(sources))
    assert len({len(found[0].ids) for found in together}) > 1
    for source, found in zip(sources, together):
        (alone,) = searched(search, [model], pad([source]))
        assert same(found, alone)


def test_beam_of_one_is_greedy() -> None:
    for beam, greedy in zip(searched(Beam(1), [MODEL], pad(SOURCES)), searched(Greedy(), [MODEL], pad(SOURCES))):
        assert same(beam, greedy)


@pytest.mark.parametrize("search", SEARCHES)
def test_ensemble_of_equal_models_is_the_model(search: Search) -> None:
    for twice, once in zip(searched(search, [MODEL, MODEL], pad(SOURCES)), searched(search, [MODEL], pad(SOURCES))):
        assert same(twice, once)


@pytest.mark.parametrize("search", [Greedy(), Beam(3)])
def test_ensemble_averages_probabilities(search: Search) -> None:
    models = [MODEL, small(seed=2, width=8)]
    for source, found in zip(SOURCES, searched(search, models, pad(SOURCES))):
        for hypothesis in found:
            each = torch.stack([recomputed(model, source, hypothesis.ids).exp() for model in models])
            assert [math.exp(p) for p in hypothesis.log_probs] == pytest.approx(each.mean(0).tolist(), abs=1e-5)


class Lookers:
    """Keeps the attention that the decoder's last layer pays to the source, at each step."""

    def __init__(self) -> None:
        self.steps: list[Tensor] = []

    def see(self, place: str, name: str, value: Tensor) -> None:
        if (place, name) == ("decoder.1.cross", "weights"):
            self.steps.append(value)  # (rows, H, 1, S)

    def change(self, place: str, name: str, value: Tensor) -> Tensor:
        return value


@pytest.mark.parametrize("search", [Greedy(), Beam(4)])
def test_watched_attention_follows_the_hypotheses(search: Search) -> None:
    watch = Lookers()
    for source, found in zip(SOURCES, searched(search, [MODEL], pad(SOURCES), watch)):
        for hypothesis in found:
            on_the_way = [watch.steps[step][row, :, 0] for step, row in enumerate(hypothesis.rows)]  # (H, S) each
            again = Lookers()
            with torch.no_grad():
                memory = MODEL.encode(torch.tensor([source]))
                MODEL.decode(torch.tensor([[START, *hypothesis.ids[:-1]]]), memory, Call(watch=again))
            for step, seen in enumerate(on_the_way):
                torch.testing.assert_close(seen[:, : len(source)], again.steps[0][0, :, step], atol=1e-5, rtol=0)
                assert not seen[:, len(source) :].any(), "nothing looks at padding"


@pytest.mark.parametrize("search", SEARCHES)
def test_no_sources_give_no_hypotheses(search: Search) -> None:
    assert searched(search, [MODEL], torch.zeros(0, 5, dtype=torch.long)) == []


def test_empty_source_is_translated() -> None:
    for search in SEARCHES:
        (found,) = searched(search, [MODEL], pad([[END]]))
        assert len(found[0].ids) <= 22


def test_search_all_keeps_the_order_of_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.decoding.many.POSITIONS", 40)  # batches of a few sentences
    for source, found in zip(SOURCES * 3, search_all(Beam(2), [MODEL], SOURCES * 3, START, END), strict=True):
        (alone,) = searched(Beam(2), [MODEL], pad([source]))
        assert same(found, alone)
    assert search_all(Beam(2), [MODEL], [], START, END) == []
