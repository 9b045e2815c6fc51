"""Heads are ranked by what is lost without them: as with one sentence at a time; maps made by hand are told right."""

import json
from pathlib import Path

import pytest
import torch

import weft
from tests.toys import PAIRS, toy_run
from weft.errors import WeftError
from weft.models.base import IGNORED, Batch
from weft.tasks.language_model import next_tokens
from weft.viewing.attention_heads import Head
from weft.viewing.head_scores import HeadScores, head_scores, looked, means
from weft.viewing.what_if import WhatIf


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> weft.Translator:
    return weft.load(str(toy_run(tmp_path_factory.mktemp("toy") / "run").path))


@pytest.fixture(scope="module")
def ranked(toy: weft.Translator) -> HeadScores:
    return toy.head_scores(PAIRS[200:208])


def test_a_head_that_is_off_loses_what_attention_without_it_loses(toy: weft.Translator) -> None:
    pair = PAIRS[3]
    found = toy.head_scores([pair, pair])
    whole = toy.attention(*pair).score
    assert found.loss == pytest.approx(-whole, abs=1e-5)
    assert len(found.heads) == sum(sum(each) for each in toy.heads.values())
    for one in found.heads:
        without = toy.attention(*pair, WhatIf(off=[Head(one.kind, one.layer, one.head)])).score
        assert one.loss == pytest.approx(whole - without, abs=1e-5)


@torch.inference_mode()
def test_a_language_model_is_ranked_alike() -> None:
    model = weft.load("shakespeare")
    text = "ROMEO: But soft, what light"
    ids = model.prompt(text)
    _, scores = head_scores(model.models[0], model.heads, [next_tokens([ids, ids], model.codec.special)])
    best = scores[0]
    whole = model.attention(text, "").score
    assert best.loss == pytest.approx(
        whole - model.attention(text, "", WhatIf(off=[Head("decoder", best.layer, best.head)])).score, abs=1e-5
    )


def test_texts_of_a_language_model_are_cut_into_what_it_sees() -> None:
    found = weft.load("shakespeare").head_scores(["O " * 300], first=3)
    assert found.of == "3 passages"
    assert {one.kind for one in found.heads} == {"decoder"}
    assert found.aligned is None


def test_padding_changes_nothing(toy: weft.Translator) -> None:
    """Beside a longer sentence, in one batch."""
    short, long = ("red cat", "RED CAT"), ("red cat dog one two three", "RED CAT DOG ONE TWO THREE")
    alone, beside, both = (toy.head_scores(some) for some in ([short] * 2, [long] * 2, [short, long]))
    sizes = [len(toy.codec.encode(pair[1])) for pair in (short, long)]
    rises = [{(h.kind, h.layer, h.head): h for h in some.heads} for some in (alone, beside, both)]
    for place, one in rises[2].items():
        mean = sum(size * each[place].loss for size, each in zip(sizes, rises)) / sum(sizes)
        assert one.loss == pytest.approx(mean, abs=1e-5)
        queries = [len(toy.codec.encode(pair[one.kind != "encoder"])) for pair in (short, long)]
        entropy = sum(size * each[place].entropy for size, each in zip(queries, rises)) / sum(queries)
        assert one.entropy == pytest.approx(entropy, abs=1e-5)


def test_best_first_with_intervals(ranked: HeadScores) -> None:
    losses = [one.loss for one in ranked.heads]
    assert losses == sorted(losses, reverse=True)
    assert all(one.low <= one.loss <= one.high for one in ranked.heads)


def test_an_interval_is_narrower_with_more_examples(toy: weft.Translator, ranked: HeadScores) -> None:
    widths = [sum(one.high - one.low for one in some.heads) for some in (ranked, toy.head_scores(PAIRS[200:208] * 8))]
    assert widths[1] < widths[0] / 2


def batch(*lengths: int) -> Batch:
    """Rows of sources and targets of these lengths, padded."""
    ids = torch.tensor([[5] * n + [0] * (max(lengths) - n) for n in lengths])
    return Batch({"source": ids, "target": ids}, ids.masked_fill(ids == 0, IGNORED))


def told(kind: str, weights: torch.Tensor, *lengths: int) -> dict[str, float]:
    return {name: value[0] for name, value in means(looked(kind, weights, batch(*lengths))).items()}


def test_a_head_that_looks_at_the_previous_token() -> None:
    weights = torch.zeros(2, 1, 5, 5)
    weights[:, :, range(1, 5), range(4)] = 1.0
    weights[:, :, 0, 0] = 1.0
    found = told("decoder", weights, 5, 3)
    assert (found["previous"], found["entropy"], found["offset"]) == (1.0, 0.0, -1)
    assert found["distance"] == found["position"] == pytest.approx(6 / 8)  # all but the first of each row
    assert found["same"] == pytest.approx(2 / 8)
    assert found["first"] == pytest.approx(4 / 8)
    assert "next" not in found
    assert "end" not in found


def test_a_head_that_looks_everywhere() -> None:
    weights = torch.zeros(2, 1, 4, 4)
    weights[0] = 1 / 4
    weights[1, :, :, :2] = 1 / 2
    found = told("encoder", weights, 4, 2)
    four, two = torch.tensor([4.0, 2.0]).log().tolist()
    assert found["entropy"] == pytest.approx((4 * four + 2 * two) / 6)
    assert found["end"] == found["first"] == pytest.approx((4 / 4 + 2 / 2) / 6)
    assert found["next"] == pytest.approx((3 / 4 + 1 / 2) / 4)


def test_a_diagonal_between_two_texts_has_no_distance() -> None:
    found = told("cross", torch.eye(4).expand(1, 1, 4, 4), 4)
    assert (found["distance"], found["first"], found["end"]) == (0.0, 1 / 4, 1 / 4)
    assert "position" not in found


def test_alignment_is_compared_with_links_of_a_file(toy: weft.Translator, tmp_path: Path) -> None:
    gold = tmp_path / "gold.txt"
    gold.write_text("0-0 1-1 2-2\n" * 4)
    found = toy.head_scores(PAIRS[:4], alignments=gold)
    assert found.aligned == "gold.txt"
    assert all((one.alignment is not None) == (one.kind == "cross") for one in found.heads)
    assert all(0 <= one.alignment <= 1 for one in found.heads if one.alignment is not None)
    gold.write_text("0-0 1:1\n")
    with pytest.raises(
        WeftError, match=r"gold\.txt, line 1: a link is written 0-1 \(source and target word\), got '1:1'"
    ):
        toy.head_scores(PAIRS[:4], alignments=gold)
    gold.write_text("0-0\n")
    with pytest.raises(WeftError, match="has 1 lines for at least 4 pairs"):
        toy.head_scores(PAIRS[:4], alignments=gold)


def test_sentences_alone_are_translated_first(toy: weft.Translator) -> None:
    texts = [source for source, _ in PAIRS[:4]]
    assert toy.head_scores(texts).heads == toy.head_scores([*zip(texts, toy.translate(texts, beam=1))]).heads


def test_too_few_are_refused(toy: weft.Translator) -> None:
    for given, first in ((PAIRS[:1], 9), (PAIRS[:9], 1)):
        with pytest.raises(WeftError, match="at least 2"):
            toy.head_scores(given, first=first)


def test_the_file_is_plain_and_names_the_weights(toy: weft.Translator, ranked: HeadScores, tmp_path: Path) -> None:
    ranked.save_json(tmp_path / "heads.json")
    told = json.loads((tmp_path / "heads.json").read_text())
    assert told["by"].startswith(
        "the rise of the loss (nats per token) with this head alone switched off, over 8 pairs"
    )
    assert toy.folders[0].path.joinpath("SHA256SUMS").read_text().startswith(told["hash"])
    assert len(told["hash"]) == 12
    assert [one["loss"] for one in told["heads"]] == [round(one.loss, 4) for one in ranked.heads]


@pytest.mark.parametrize("name", ["en-de", "shakespeare"])
def test_shipped_rankings_are_of_the_shipped_weights(name: str) -> None:
    model = weft.load(name)
    told = json.loads((model.folders[0].path / "heads.json").read_text())
    assert told["hash"] == model.hash
    places = {(one["kind"], one["layer"], one["head"]) for one in told["heads"]}
    assert len(places) == len(told["heads"]) == sum(sum(each) for each in model.heads.values())


def test_a_picture_of_the_ranking(ranked: HeadScores, tmp_path: Path) -> None:
    ranked.save_grid(tmp_path / "heads.svg", "weft attend run --heads dev.tsv --grid heads.svg")
    drawn = (tmp_path / "heads.svg").read_text()
    assert f"{ranked.heads[0].loss:.3f}" in drawn
    assert "weft attend run --heads" in drawn
