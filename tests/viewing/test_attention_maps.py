"""What is seen is what the model computes, costs nothing where nobody looks, and changes no translation."""

import csv
import json
import math
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import torch

import weft
from tests.checking.test_checks import model_folder
from tests.contracts.tiny import tiny_plan
from tests.toys import toy_run
from weft.parts import attention as part
from weft.parts.context_attention import Additive, ContextAttention
from weft.viewing import pictures
from weft.viewing.attention_heads import KINDS, Head
from weft.viewing.attention_maps import AttentionMaps
from weft.viewing.what_if import WhatIf


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> weft.Translator:
    return weft.load(str(toy_run(tmp_path_factory.mktemp("toy") / "run").path))


@pytest.fixture(scope="module")
def seen(toy: weft.Translator) -> AttentionMaps:
    return toy.attention("red cat <b>")


def test_recording_attention_does_not_change_the_translation(toy: weft.Translator) -> None:
    texts = ["red cat", "blue dog one", "three"]
    assert [toy.attention(text).translation for text in texts] == toy.translate(texts)


def test_weights_are_computed_only_when_watched(toy: weft.Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    naive = part.attention_weights
    monkeypatch.setattr(part, "attention_weights", lambda *given: calls.append(1) or naive(*given))
    toy.translate(["red cat"])
    assert not calls
    toy.attention("red cat")
    assert len(calls) == 6, "three attentions in each of two layers, in one pass"


def test_log_probs_are_those_of_the_search(toy: weft.Translator) -> None:
    from weft.decoding import Beam

    found = next(toy.search(["red cat"], Beam()))[0]
    seen = toy.attention("red cat")
    assert seen.log_probs == pytest.approx(found.log_probs, abs=1e-5)
    assert seen.score == pytest.approx(found.score, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_of_a_head_follow_the_formula(seen: AttentionMaps, kind: str) -> None:
    queries, keys = seen.axes[kind]
    for query in range(len(queries)):
        numbers = seen.numbers(kind, 2, 1, query)
        width = numbers.query.size(0)
        dots = torch.tensor([sum(q * k for q, k in zip(numbers.query.tolist(), key)) for key in numbers.keys.tolist()])
        torch.testing.assert_close(numbers.scores, dots)
        torch.testing.assert_close(numbers.scaled, dots / math.sqrt(width))
        odds = numbers.scaled.exp() * numbers.visible
        torch.testing.assert_close(numbers.weights, odds / odds.sum())
        assert torch.equal(numbers.weights, seen.of(kind, 2, 1)[query])
        torch.testing.assert_close(numbers.output, (numbers.weights[:, None] * numbers.values).sum(0))
        assert len(numbers.scores) == len(keys)
        if kind == "decoder":
            assert numbers.visible.tolist() == [key <= query for key in range(len(keys))]
        else:
            assert numbers.visible.all()


@pytest.mark.parametrize("family", ["bahdanau", "luong", "gnmt", "convs2s"])
def test_attention_before_2017_has_its_own_score_function(tmp_path: Path, family: str) -> None:
    """From query and keys as the formula says, with no scale before the softmax, in whole and step by step."""
    small = tiny_plan("preset", f"{family}-tiny").with_settings({"width": 32})
    model = weft.Translator([model_folder(tmp_path, small)])
    seen = model.attention("a red dog", "dog")
    (score, *_) = (part.score for part in model.models[0].modules() if isinstance(part, ContextAttention))
    layers = range(1, len(seen.cross) + 1)
    for layer, query in product(layers, range(len(seen.target))):
        numbers = seen.numbers("cross", layer, 1, query)
        assert numbers.scaled is None
        if isinstance(score, Additive):
            wanted = (numbers.query + numbers.keys).tanh() @ score.out.weight[0]
        else:
            wanted = numbers.keys @ numbers.query
        torch.testing.assert_close(numbers.scores, wanted)
        torch.testing.assert_close(numbers.weights, numbers.scores.softmax(-1))
        torch.testing.assert_close(numbers.output, numbers.weights @ numbers.values)


def test_the_output_of_a_head_is_what_the_model_uses(toy: weft.Translator) -> None:
    """From the fast kernel itself: the heads' outputs as they arrive before W^O."""
    from weft.data.codecs.subwords import END
    from weft.parts.call import Call
    from weft.viewing.attention_maps import Recorder

    class Outputs(Recorder):
        def change(self, place: str, name: str, value: torch.Tensor) -> torch.Tensor:
            self.seen[place, name] = value
            return value

    watch = Outputs()
    with torch.inference_mode():
        toy.models[0].encode(torch.tensor([toy.tokeniser.encode("red cat")]), Call(watch=watch))
    heads = watch.seen["encoder.1.mix", "heads"]  # (B, T, H, K)
    numbers = toy.attention("red cat").numbers("encoder", 2, 2, 1)
    torch.testing.assert_close(numbers.output, heads[0, 1, 1])
    assert toy.tokeniser.encode("red cat")[-1] == END


def test_attention_by_ids_is_the_same_again(toy: weft.Translator, seen: AttentionMaps) -> None:
    again = toy.attention(seen.text, seen.ids)
    assert (again.target, again.log_probs) == (seen.target, seen.log_probs)
    assert torch.equal(again.cross, seen.cross)


def test_errors_name_the_missing_token_layer_or_kind(seen: AttentionMaps) -> None:
    with pytest.raises(weft.WeftError, match="token 99 does not exist: tokens count from 0"):
        seen.numbers("cross", 1, 1, 99)
    with pytest.raises(weft.WeftError, match="layer 9 does not exist: this model has layers 1 to 2"):
        seen.of("cross", 9)
    with pytest.raises(weft.WeftError, match="Did you mean 'encoder'"):
        seen.of("encodr")


def test_invalid_sentences_raise_errors(toy: weft.Translator) -> None:
    for text, target in (("  ", None), ("red", " ")):
        with pytest.raises(weft.WeftError, match="is empty"):
            toy.attention(text, target)
    with pytest.raises(weft.WeftError, match=r"the (source|target) has \d+ tokens; this model allows 200"):
        toy.attention("red", "q" * 500)
    with pytest.raises(weft.WeftError, match="head 3 does not exist: this model has heads 1 to 2"):
        toy.attention("red", what_if=WhatIf(off=[Head("cross", 1, 3)]))


def test_decoder_keys_are_the_target_shifted_right(seen: AttentionMaps) -> None:
    queries, keys = seen.axes["decoder"]
    assert queries == seen.target
    assert keys == ["∅", *seen.target[:-1]]


def test_raw_numbers(seen: AttentionMaps, tmp_path: Path) -> None:
    seen.save_json(tmp_path / "all.json")
    data = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert data["source"] == seen.source
    assert data["attention"].keys() == KINDS.keys()
    torch.testing.assert_close(torch.tensor(data["attention"]["encoder"]["maps"]), seen.encoder)
    seen.save_json(tmp_path / "one.json", kind="cross", layer=2, head=1)
    one = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))["attention"]
    assert one.keys() == {"cross"}
    torch.testing.assert_close(torch.tensor(one["cross"]["maps"]), seen.cross[1:2, :1])


def test_a_page_is_self_contained(seen: AttentionMaps, tmp_path: Path) -> None:
    seen.save_html(tmp_path / "seen.html", kind="encoder", layer=2)
    page = (tmp_path / "seen.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href)\s*=|https?://|@import|url\(", page), "nothing from elsewhere"
    data = re.search(r'id="attention">(.*?)</script>', page, re.DOTALL)
    assert data
    told = json.loads(data[1])
    assert (told["text"], told["kind"], told["layer"]) == ("red cat <b>", "encoder", 2)
    assert torch.tensor(told["attention"]["cross"]["maps"]).sub(seen.cross).abs().max() < 1e-5
    assert "<title>red cat &lt;b&gt;</title>" in page


def test_a_notebook_reports_a_model_without_attention(seen: AttentionMaps) -> None:
    none = torch.zeros(0, 0, 0, 0)
    shown = replace(seen, maps=dict.fromkeys(KINDS, none), model="a<b")._repr_html_()
    assert shown.endswith("a&lt;b has no attention.</p>")


def test_a_notebook_shows_a_frame(seen: AttentionMaps) -> None:
    shown = seen._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert '"' not in shown.split('srcdoc="')[1].split('" style=')[0], "the page ends where the attribute does"


def test_captions_name_layers_and_heads(seen: AttentionMaps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(pictures, "draw_map", lambda *given: said.append(given[4]))
    seen = replace(seen, hash="")
    for which in ({}, {"layer": 2}, {"head": 1}, {"layer": 2, "head": 1}):
        seen.save_map(tmp_path / "one.png", **which)
    replace(seen, maps={"cross": seen.cross[:, :1]}).save_map(tmp_path / "one.png")
    replace(seen, maps={"cross": seen.cross[:1, :1]}).save_map(tmp_path / "one.png")
    assert [caption.removeprefix(f"{seen.model}: encoder-decoder attention") for caption in said] == [
        ", mean of 2 layers and 2 heads",
        ", layer 2, mean of 2 heads",
        ", head 1, mean of 2 layers",
        ", layer 2, head 1",
        ", mean of 2 layers",
        "",
    ]


def test_captions_name_weights_command_and_heads_off(
    toy: weft.Translator, seen: AttentionMaps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    for draw in ("draw_map", "draw_grid", "draw_lines"):
        monkeypatch.setattr(pictures, draw, lambda *given: said.append(given[-2]))
    without = toy.attention("red cat", what_if=WhatIf(off=[Head("cross", 2, 1)]))
    for save in (seen.save_map, seen.save_grid, seen.save_lines, without.save_map):
        save(tmp_path / "one.png", command="weft attend run 'red cat'")
    assert len(toy.hash) == 12
    for caption in said:
        assert caption.endswith(f", weights {toy.hash}\nweft attend run 'red cat'")
    assert "without cross head 2.1" in said[3]
    assert "without" not in said[0]


def test_lines_of_a_layer_are_those_of_its_heads(
    seen: AttentionMaps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[dict[str, object]] = []
    monkeypatch.setattr(pictures, "draw_lines", lambda curves, *_: drawn.append(curves))
    seen.save_lines(tmp_path / "a.png", layer=2)
    seen.save_lines(tmp_path / "a.png", layer=2, head=1)
    seen.save_lines(tmp_path / "a.png")
    seen.save_lines(tmp_path / "a.png", layer=2, query=1)
    assert drawn[0] == {f"head {n}": seen.of(layer=2, head=n).tolist() for n in (1, 2)}
    assert [*drawn[1].values()] == [seen.of(layer=2, head=1).tolist()]
    assert [*drawn[2].values()] == [seen.of().tolist()], "many layers: their mean"


def test_a_table_has_the_tokens_and_the_weights(seen: AttentionMaps, tmp_path: Path) -> None:
    seen.save_csv(tmp_path / "a.csv", layer=1, head=2)
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    queries, keys = seen.axes["cross"]
    assert head == ["", *keys]
    assert [row[0] for row in rows] == queries
    weights = torch.tensor([[float(value) for value in row[1:]] for row in rows])
    assert weights.sub(seen.of(layer=1, head=2)).abs().max() < 1e-5


@pytest.mark.parametrize("query", [1, 3])
def test_a_table_has_each_step_of_one_query(seen: AttentionMaps, tmp_path: Path, query: int) -> None:
    seen.save_csv(tmp_path / "a.csv", layer=1, head=2, query=query)
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    own = seen.numbers("cross", 1, 2, query - 1)
    assert [row[0] for row in rows] == ["(query)", *seen.axes["cross"][1], "(output)"]
    for name, numbers in (("score", own.scores), ("weight", own.weights), ("k1", own.keys[:, 0])):
        assert [float(row[head.index(name)]) for row in rows[1:-1]] == pytest.approx(numbers.tolist())
    assert [float(value) for value in rows[0][4:] if value] == pytest.approx(own.query.tolist())
    assert [float(value) for value in rows[-1][4:] if value] == pytest.approx(own.output.tolist())


def test_pictures_are_written(seen: AttentionMaps, tmp_path: Path) -> None:
    for kind in KINDS:
        seen.save_map(tmp_path / "one.png", kind=kind)
        seen.save_grid(tmp_path / "grid.png", kind=kind, layer=2)
        assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> weft.Translator:
    """Layers that are unlike: the first of the encoder does not look, the second across looks with one head."""
    encoder = ["lstm", {"name": "attention", "heads": 4}]
    settings = {"encoder.mixer": encoder, "decoder.mixer": HEADS, "cross": [HEADS, "additive"]}
    chosen = tiny_plan("preset", "transformer-tiny").with_settings({"width": 16, "layers": 2, **settings})
    return weft.Translator([model_folder(tmp_path_factory.mktemp("mixed") / "model", chosen)])


HEADS = {"name": "attention", "heads": 2}


def test_layers_with_different_numbers_of_heads(mixed: weft.Translator) -> None:
    seen = mixed.attention("red cat", "RED")
    assert mixed.heads == {"encoder": (0, 4), "decoder": (2, 2), "cross": (2, 1)}
    assert seen.encoder.shape[:2] == (2, 4)
    assert not seen.encoder[0].any()
    for kind in KINDS:
        assert seen.of(kind).sum(-1).tolist() == pytest.approx([1.0] * len(seen.axes[kind][0]))
    torch.testing.assert_close(seen.of("cross"), (seen.cross[0].sum(0) + seen.cross[1, 0]) / 3)
    assert seen.numbers("encoder", 2, 4, 0).weights.tolist() == pytest.approx(seen.encoder[1, 3, 0].tolist())
    assert mixed.choose_aligner([("red cat", "RED CAT")]).layer in (1, 2)


def test_a_missing_head_of_one_layer_raises_an_error(mixed: weft.Translator) -> None:
    seen = mixed.attention("red cat", "RED")
    with pytest.raises(weft.WeftError, match="layer 1 of this model has no encoder self-attention"):
        seen.numbers("encoder", 1, 1, 0)
    with pytest.raises(weft.WeftError, match="head 2 does not exist: this layer has 1 head"):
        mixed.attention("red cat", "RED", what_if=WhatIf(off=[Head("cross", 2, 2)]))
    off = mixed.attention("red cat", "RED", what_if=WhatIf(off=[Head("encoder", 2, 1)]))
    assert off.log_probs != seen.log_probs
