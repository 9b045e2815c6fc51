"""What the page is told of each token that is written is what Python has."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient

from weft.serving.app import create_app
from weft.serving.run import guessing
from weft.tasks.generator import Generator
from weft.tasks.translator import Translator
from weft.viewing.lens import lens, next_token, steps
from weft.viewing.what_if import WhatIf

TEXT = "red cat"
PROMPT = "The red"


@pytest.fixture(scope="module")
def writing(lm: Generator) -> Iterator[TestClient]:
    with TestClient(create_app(lm)) as client:
        yield client


def asked(client: TestClient, path: str, text: str = TEXT, **body: object) -> Any:
    answer = client.post(f"/api/{path}", json={"text": text, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_translation_token_by_token(client: TestClient, toy: Translator) -> None:
    told, seen = asked(client, "run", top=3), toy.attention(TEXT)
    assert (told["text"], told["source"], told["target"]) == (TEXT, seen.source, seen.target)
    assert told["translation"] == seen.translation
    assert told["log_probs"] == pytest.approx(seen.log_probs, abs=1e-4)
    assert told["score"] == pytest.approx(seen.score, abs=1e-4)
    for step, wanted in zip(told["steps"], steps(toy.models[0], toy.codec, seen.hidden, seen.ids, top=3), strict=True):
        assert (step["token"], step["rank"]) == (wanted.token, wanted.rank)
        assert [(one["token"], one["id"]) for one in step["top"]] == [(one.token, one.id) for one in wanted.top]
    assert told["text_tokens"] is told["text_steps"] is None


def test_a_run_under_changes_says_what_was_read(client: TestClient, toy: Translator) -> None:
    told = asked(client, "run", replace={"0": "blue"}, force={"1": "Q"}, temperature=0.5)
    seen = toy.attention(TEXT, what_if=WhatIf(replace={0: "blue"}, force={1: "Q"}, temperature=0.5))
    assert told["text"].startswith("blue")
    assert told["target"] == seen.target
    assert told["log_probs"] == pytest.approx(seen.log_probs, abs=1e-4)


def test_guessing_is_said_of_what_the_model_wrote_itself(client: TestClient) -> None:
    assert guessing([-0.1, -1.8]) is None
    assert guessing([-0.1, -2.8, -0.6, -9.0, -1.0]) == (
        "The model is guessing: only 40 % of the tokens it wrote were more likely than not."
    )
    assert guessing([]) is None
    text = "שלום עולם"
    assert asked(client, "run", text)["guessing"].startswith("The model is guessing: "), "the toy knows nothing"
    assert asked(client, "run", text, target="RED")["guessing"] is None
    assert asked(client, "run", text, force={"0": "Q"})["guessing"] is None


def test_the_shipped_model_guesses_at_what_it_does_not_know(shipped: Translator) -> None:
    with TestClient(create_app(shipped)) as client:
        examples = client.get("/api/model").json()["examples"]
        for one in examples:
            if not one["note"]:
                assert asked(client, "run", one["text"])["guessing"] is None, one["name"]
        assert asked(client, "run", "Привет, как дела?")["guessing"] is not None


def test_a_character_in_several_tokens_is_shown_by_the_first(client: TestClient) -> None:
    tokens = asked(client, "run", "ש é")["source"]
    assert tokens[:3] == ["·", "ש", "‥"]
    assert asked(client, "attention", "ש é", kind="encoder")["keys"] == tokens
    assert asked(client, "search", "ש é")["source"] == tokens


def test_a_continuation_and_its_text(writing: TestClient, lm: Generator) -> None:
    told, seen = asked(writing, "run", PROMPT), lm.attention(PROMPT)
    given = len(seen.target) - len(seen.ids)
    found = steps(lm.models[0], lm.codec, seen.hidden, seen.targets)
    assert (told["source"], told["target"], told["translation"]) == ([], seen.target[given:], seen.translation)
    assert told["text"] == PROMPT
    assert told["text_tokens"] == seen.target[:given], "prompts of this model begin with a start token"
    assert [step["rank"] for step in told["text_steps"]] == [step.rank for step in found[:given]]
    assert [step["rank"] for step in told["steps"]] == [step.rank for step in found[given:]]
    assert told["log_probs"] == pytest.approx(seen.log_probs[given:], abs=1e-4)
    assert told["score"] == pytest.approx(sum(seen.log_probs[given:]) / len(seen.ids), abs=1e-4)
    assert told["guessing"] is None


def test_a_text_is_rated_alone_and_may_be_long(writing: TestClient, lm: Generator) -> None:
    whole, alone = asked(writing, "run", PROMPT), asked(writing, "run", PROMPT, target="")
    assert (alone["target"], alone["steps"], alone["score"]) == ([], [], None)
    assert alone["text_tokens"] == whole["text_tokens"]
    for one, other in zip(alone["text_steps"], whole["text_steps"], strict=True):
        assert one["log_prob"] == pytest.approx(other["log_prob"], abs=2e-4)
    long = asked(writing, "run", "The red cat sees a blue dog. " * 9, target="")
    assert len(long["text_steps"]) == len(long["text_tokens"]) > lm.context  # type: ignore[operator]
    assert writing.post("/api/run", json={"text": "a " * 300}).status_code == 400


def test_the_next_token_of_a_text(writing: TestClient, lm: Generator) -> None:
    told = asked(writing, "next", PROMPT)
    log_probs = lm.log_probs(lm.prompt(PROMPT))[-1]
    best = log_probs.topk(200)
    assert [one["id"] for one in told["tokens"]] == best.indices.tolist()
    found = torch.tensor([one["logit"] - told["log_sum"] for one in told["tokens"]])
    torch.testing.assert_close(found, best.values, atol=2e-4, rtol=0)
    assert [one["token"] for one in told["tokens"]] == lm.codec.readable(best.indices.tolist())
    assert (told["vocabulary"], told["written"]) == (len(lm.codec), [])
    seen = lm.attention(PROMPT)
    third = asked(writing, "next", PROMPT, step=3)
    assert third["written"] == lm.codec.in_text(seen.ids[:3])
    assert third["tokens"][0]["id"] == seen.ids[3], "what is written is the likeliest"
    forced = asked(writing, "next", PROMPT, step=3, force={"1": "z"})
    assert forced["written"][1] == "z"


def test_the_next_token_of_a_translation(client: TestClient, toy: Translator) -> None:
    seen = toy.attention(TEXT)
    for step in (0, 2):
        told = asked(client, "next", step=step, temperature=0.5)
        wanted = next_token(toy.models[0], toy.attention(TEXT, what_if=WhatIf(temperature=0.5)).hidden[step], 200)
        assert [one["id"] for one in told["tokens"]] == [i for i, _ in wanted.tokens]
        assert told["log_sum"] == pytest.approx(wanted.log_sum, abs=2e-4)
    assert asked(client, "next", step=2)["written"] == seen.target[:2]


def test_the_lens_of_a_translation(client: TestClient, toy: Translator) -> None:
    told, seen = asked(client, "lens"), toy.attention(TEXT)
    assert told["layers"] == ["embedding", "1", "2"]
    assert (told["tokens"], told["written"]) == (seen.axes["decoder"][1], seen.target)
    for row, wanted in zip(told["cells"], lens(toy.models[0], toy.codec, seen), strict=True):
        assert [(cell["token"], cell["rank_of_final"]) for cell in row] == [
            (cell.token, cell.rank_of_final) for cell in wanted
        ]
        assert [cell["probability"] for cell in row] == pytest.approx([cell.probability for cell in wanted], abs=1e-4)


def test_the_lens_of_a_text_ends_with_the_token_that_is_not_there_yet(writing: TestClient, lm: Generator) -> None:
    told = asked(writing, "lens", PROMPT)
    seen = lm.attention(PROMPT)
    assert told["tokens"] == lm.codec.in_text(lm.prompt(PROMPT))
    assert told["written"] == [*told["tokens"][1:], None]
    assert told["cells"][-1][-1]["token"] == lm.codec.readable(seen.ids[:1])[0]
    longer = asked(writing, "lens", PROMPT, target=" cat", force={"0": "z"})
    assert longer["tokens"][len(told["tokens"])] == "z"
