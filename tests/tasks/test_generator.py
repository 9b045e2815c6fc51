"""The predictor of language models: what it writes, streams, rates and shows is what a naive loop finds."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.tasks.texts import BYTES, CHARACTERS, TEXT, generator
from weft.decoding import Sample
from weft.decoding.continuous import Continuation, Step
from weft.decoding.sampling import Sampling
from weft.defaults import TEMPERATURE
from weft.errors import WeftError
from weft.models.base import Generative
from weft.parts.call import Call
from weft.tasks.generator import Generator
from weft.tasks.writer import Writer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    return generator(tmp_path_factory.mktemp("generator") / "model")


def log_probs(model: Generative, ids: Sequence[int]) -> torch.Tensor:
    with torch.inference_mode():
        return model.head.log_probs(model.hidden({"tokens": torch.tensor([[*ids]])}, Call())[0])


def writer(tokens: Sequence[str], stop: Sequence[str] = (), last: str | None = None) -> tuple[list[str], Writer]:
    """What is shown as tokens come, each the characters of one; the last one finishes with this."""
    ids = [[CHARACTERS.ids[c] for c in token] for token in tokens]
    one = Continuation([1], 99, Sampling(0.0), (1,), None)
    made = Writer(CHARACTERS, one, stop)
    flat = [i for some in ids for i in some]
    shown = []
    for number, i in enumerate(flat, 1):
        shown.append(made.add(Step(one, i, -1.0, (), last if number == len(flat) else None)))
        if made.finish:
            break
    return shown, made


def test_greedy_is_the_naive_loop(model: Generator) -> None:
    ids = model.prompt("to be")
    for _ in range(8):
        ids.append(int(log_probs(model.models[0], ids)[-1].argmax()))
        if ids[-1] == CHARACTERS.special.end:
            break
    [[found]] = model.complete(["to be"], Sampling(0.0), max_tokens=8)
    assert [*found.ids] == ids[5:]
    assert found.text == CHARACTERS.decode(found.ids)
    clear = log_probs(model.models[0], ids)
    assert found.log_probs == pytest.approx([float(clear[4 + i, token]) for i, token in enumerate(found.ids)], abs=1e-4)
    assert [*found.tokens] == CHARACTERS.readable(found.ids)
    assert not found.has_slid


def test_generate_stream_and_complete_are_the_same_text(model: Generator) -> None:
    whole = model.generate("to be", max_tokens=12, seed=3)
    assert "".join(model.stream("to be", max_tokens=12, seed=3)) == whole
    assert model.complete(["to be"], Sampling(TEMPERATURE), max_tokens=12, seed=3)[0][0].text == whole
    assert model.generate(["to be", "that"], max_tokens=12, seed=3)[0] == whole


def test_a_prompt_is_continued_alike_in_any_company(model: Generator) -> None:
    prompts = ["to be", "that is the", "q", "to be"]
    together = model.complete(prompts, Sampling(1.0), max_tokens=10, seed=5)
    for prompt, [one] in zip(prompts, together):
        assert model.complete([prompt], Sampling(1.0), max_tokens=10, seed=5)[0][0].ids == one.ids


def test_n_continuations_differ_and_the_first_is_the_only_one(model: Generator) -> None:
    [found] = model.complete(["to be"], Sampling(1.0), n=4, max_tokens=10)
    assert len({one.ids for one in found}) > 1
    assert found[0].ids == model.complete(["to be"], Sampling(1.0), max_tokens=10)[0][0].ids
    assert model.complete(["to be"], Sampling(1.0), n=4, max_tokens=10)[0] == found
    other = model.complete(["to be"], Sampling(1.0), n=4, max_tokens=10, seed=2)[0]
    assert [one.ids for one in other] != [one.ids for one in found]


def test_alternatives(model: Generator) -> None:
    [[found]] = model.complete(["to be"], Sampling(0.0), max_tokens=3, alternatives=2)
    values, ids = log_probs(model.models[0], model.prompt("to be"))[-1].topk(2)
    assert [name for name, _ in found.alternatives[0]] == CHARACTERS.readable(ids.tolist())
    assert [value for _, value in found.alternatives[0]] == pytest.approx(values.tolist(), abs=1e-4)
    assert found.to_dict()["alternatives"][0][0]["token"] == CHARACTERS.readable([int(ids[0])])[0]


def test_beam_of_one_is_greedy(model: Generator) -> None:
    [one] = model.likeliest("to be", 1, 8)
    [[greedy]] = model.complete(["to be"], Sampling(0.0), max_tokens=8)
    assert (one.ids, one.text) == (greedy.ids, greedy.text)
    assert one.log_probs == pytest.approx(greedy.log_probs, abs=1e-4)
    found = model.likeliest("to be", 3, 8)
    assert len(found) == 3
    assert sum(found[0].log_probs) / len(found[0].ids) >= sum(found[1].log_probs) / len(found[1].ids)


# Stop strings.


@pytest.mark.parametrize(
    ("tokens", "stop", "shown"),
    [
        ("to be", ["or"], ["t", "", "o ", "b", "e"]),  # an o may be the beginning of "or"
        ("to or", ["or"], ["t", "", "o ", "", ""]),
        ("to bet", ["be"], ["t", "o", " ", "", ""]),
        ("ttto", ["tto"], ["", "", "t", ""]),  # found though a beginning failed before
        ("that", ["hat", "t"], [""]),
        ("to be", [], ["t", "o", " ", "b", "e"]),
    ],
)
def test_what_may_be_a_stop_string_is_held_back(tokens: str, stop: list[str], shown: list[str]) -> None:
    found, made = writer(list(tokens), stop)
    assert found == shown[: len(found)]
    cut = min((at for each in stop if (at := tokens.find(each)) >= 0), default=None)
    assert made.text == tokens[:cut]
    assert made.finish == ("stop" if cut is not None else None)


def test_what_was_held_back_is_shown_in_the_end() -> None:
    found, made = writer(list("to beo"), ["or"], last="length")
    assert "".join(found) == made.text == "to beo"
    assert made.finish == "length"


def test_a_stop_string_within_one_token() -> None:
    """A token may end the text before its own end: the first of all stop strings counts."""
    codec = BYTES
    one = Continuation([1], 9, Sampling(0.0), (1,), None)
    made = Writer(codec, one, ["e", "b"])
    shown = [made.add(Step(one, i, 0.0, (), None)) for i in codec.pieces_of(["to be"])[0]]
    assert "".join(shown) == made.text == "to "


def test_a_stop_string_ends_the_continuation(model: Generator) -> None:
    whole = model.generate("to be", max_tokens=12, seed=3)
    stop = whole[5:7]
    [[found]] = model.complete(["to be"], Sampling(TEMPERATURE), max_tokens=12, seed=3, stop=stop)
    assert found.text == whole[: whole.index(stop)]
    assert found.finish == "stop"
    assert "".join(model.stream("to be", max_tokens=12, seed=3, stop=[stop, "zzz"])) == found.text


def test_characters_in_several_tokens_come_whole(tmp_path: Path) -> None:
    one = Continuation([1], 9, Sampling(0.0), (1,), None)
    made = Writer(BYTES, one)
    shown = [made.add(Step(one, i, 0.0, (), None)) for i in BYTES.pieces_of(["ü👍"])[0]]
    assert shown == ["", "ü", "", "", "", "👍"]


KNOWN = (
    "Known: alternatives, frequency_penalty, logit_bias, max_tokens, min_p, n, off, presence_penalty, "
    "repetition_penalty, seed, stop, temperature, top_k, top_p."
)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"max_tokens": 0}, "max_tokens must be at least 1, got 0."),
        ({"max_tokens": "a"}, "max_tokens: expected int, got 'a'."),
        ({"max_tokens": None}, "max_tokens: expected int, got None."),
        ({"max_token": 5}, f"there is no option 'max_token'. Did you mean 'max_tokens'? {KNOWN}"),
        ({"seed": -1}, "seed must be at least 0, got -1."),
        ({"alternatives": -1}, "alternatives must be at least 0, got -1."),
        ({"stop": ""}, "a stop string must not be empty."),
        ({"stop": ["a", ""]}, "a stop string must not be empty."),
        ({"n": 0}, "n must be at least 1, got 0."),
    ],
)
def test_options_out_of_range(model: Generator, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(WeftError) as caught:
        model.complete(["to"], Sampling(), **options)
    assert str(caught.value) == sentence


# Prompts.


def test_prompts(tmp_path: Path, model: Generator) -> None:
    start = CHARACTERS.special.start
    assert model.prompt("to") == [CHARACTERS.ids["t"], CHARACTERS.ids["o"]]
    assert model.prompt("") == model.prompt([]) == [start]
    assert model.prompt([5, 4]) == [5, 4]
    assert generator(tmp_path / "model", starts=True).prompt("to")[0] == start
    for other in (5, None, b"to"):
        with pytest.raises(WeftError, match=r"expected a text or a list of token ids, got "):
            model.generate(other)  # type: ignore[arg-type]
    for wrong in ([len(CHARACTERS)], [-1], ["a"]):
        with pytest.raises(WeftError, match="token ids must be between 0 and"):
            model.prompt(wrong)  # type: ignore[arg-type]


def test_context(tmp_path: Path, model: Generator) -> None:
    """What was read at once in training, where there are positions or attention; else any."""
    assert model.context == 16
    short = {"batching.length": 8}
    assert generator(tmp_path / "learned", **short).context == 8  # positions 8 to 15 were never trained
    assert generator(tmp_path / "sinusoid", position="sinusoid", **short).context == 8
    free = generator(tmp_path / "lstm", mixer="lstm", position="none", **short)
    assert (free.context, free.limit) == (None, 9)


# Rating.


@pytest.mark.parametrize("stride", [None, 1, 3, 8, 16])
@pytest.mark.parametrize("length", [2, 16, 17, 18, 41])
def test_evaluate_is_the_naive_loop(model: Generator, stride: int | None, length: int) -> None:
    text = TEXT[:length]
    found = model.evaluate([(text,)], stride)
    ids = model.prompt(text)
    total = rated = 0.0
    ends = [*range(16, len(ids) - 1, stride or 16), len(ids) - 1]
    done = 0
    for end in ends:
        begin = max(0, end - 16)
        clear = log_probs(model.models[0], ids[begin:end])
        for at in range(done, end):
            total -= float(clear[at - begin, ids[at + 1]])
            rated += 1
        done = end
    assert rated == length - 1, "each token but the first is rated once"
    assert found["loss"] == pytest.approx(total / rated, rel=1e-4)
    assert found["perplexity"] == pytest.approx(math.exp(total / rated), rel=1e-4)
    assert found["bits_per_character"] == pytest.approx(total / math.log(2) / (length - 1), rel=1e-4)
    assert (found.examples, found.unit) == (1, "documents")


def test_windows_one_token_apart_see_all_that_they_can(model: Generator) -> None:
    ids = model.prompt(TEXT)
    each = [
        -float(log_probs(model.models[0], ids[max(0, at - 15) : at + 1])[-1, ids[at + 1]]) for at in range(len(ids) - 1)
    ]
    assert model.evaluate([(TEXT,)], 1)["loss"] == pytest.approx(sum(each) / len(each), rel=1e-4)


def test_documents_are_rated_apart(model: Generator) -> None:
    both = model.evaluate([("to be",), ("or not",)])
    one, other = model.evaluate([("to be",)]), model.evaluate([("or not",)])
    assert both["loss"] == pytest.approx((4 * one["loss"] + 5 * other["loss"]) / 9, rel=1e-5)
    assert both.examples == 2


def test_with_a_start_token_the_first_token_is_rated_too(tmp_path: Path) -> None:
    model = generator(tmp_path / "model", starts=True)
    ids = model.prompt("to be")
    clear = log_probs(model.models[0], ids)
    total = -sum(float(clear[i, ids[i + 1]]) for i in range(5))
    found = model.evaluate([("to be",)])
    assert found["loss"] == pytest.approx(total / 5, rel=1e-4)
    assert found["bits_per_character"] == pytest.approx(total / 5 / math.log(2), rel=1e-4)


def test_bits_are_per_byte_of_the_text_that_is_rated(tmp_path: Path) -> None:
    model = generator(tmp_path / "model", BYTES, starts=True)
    text = "üü to"
    tokens = len(BYTES.pieces_of([text])[0])
    found = model.evaluate([(text,)])
    nats = found["loss"] * tokens
    assert found["bits_per_byte"] == pytest.approx(nats / math.log(2) / len(text.encode()), rel=1e-6)
    assert found["bits_per_character"] == pytest.approx(nats / math.log(2) / len(text), rel=1e-6)


@pytest.mark.parametrize("stride", [0, 17])
def test_stride_out_of_range(model: Generator, stride: int) -> None:
    with pytest.raises(WeftError, match=f"stride must be between 1 and the context of 16 tokens, got {stride}"):
        model.evaluate([(TEXT,)], stride)


def test_nothing_to_score(model: Generator) -> None:
    with pytest.raises(WeftError, match="nothing to score"):
        model.evaluate([("t",)])


def test_log_probs_of_every_token(tmp_path: Path, model: Generator) -> None:
    ids = model.prompt("to be")
    assert torch.allclose(model.log_probs(ids), log_probs(model.models[0], ids), atol=1e-5)
    with pytest.raises(WeftError, match="17 tokens are too many: this model sees 16 at once"):
        model.log_probs([3] * 17)
    other = generator(tmp_path / "other", seed=2)
    both = Generator([*model.folders, *other.folders])
    mean = (model.log_probs(ids).exp() + other.log_probs(ids).exp()) / 2
    assert torch.allclose(both.log_probs(ids).exp(), mean, atol=1e-5)
    assert torch.allclose(both.log_probs(ids).exp().sum(1), torch.ones(len(ids)), atol=1e-5)


def test_attention_of_a_given_continuation(model: Generator) -> None:
    seen = model.attention("to be", ", or")
    assert seen.translation == ", or"
    ids = model.prompt("to be, or")
    assert seen.target == CHARACTERS.readable(ids[1:])
    clear = log_probs(model.models[0], ids[:-1])
    assert seen.log_probs == pytest.approx([float(clear[i, ids[i + 1]]) for i in range(len(ids) - 1)], abs=1e-4)
    assert seen.kinds == ["decoder"]
    assert torch.allclose(seen.of().sum(1), torch.ones(len(ids) - 1), atol=1e-5)
    assert not seen.of().triu(1).any(), "nothing looks ahead"
    with pytest.raises(WeftError, match="this model has no encoder-decoder attention"):
        seen.of("cross")
    with pytest.raises(WeftError, match="the text has 18 tokens; this model sees 16 at once"):
        model.attention(TEXT[:18], "")


def test_texts_may_be_given_alone(model: Generator) -> None:
    alone = model.evaluate(TEXT)
    assert alone.scores == model.evaluate([TEXT]).scores == model.evaluate([(TEXT,)]).scores
    assert alone.to_dict()["context"] == alone.to_dict()["stride"] == 16


def test_other_searches_are_not_sampling(model: Generator) -> None:
    with pytest.raises(WeftError, match=r"expected weft\.decoding\.sampling\.Sampling, got Sample"):
        model.complete(["to be"], Sample())  # type: ignore[arg-type]


def test_log_probs_of_unknown_ids(model: Generator) -> None:
    with pytest.raises(WeftError, match="token ids must be between 0 and"):
        model.log_probs([999])
