"""A language model behind OpenAI's routes, asked by OpenAI's own client over a socket."""

import json
import math
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest
import uvicorn
from openai import OpenAI
from starlette.testclient import TestClient

from tests.lm import SMALL, toy_generator
from weft.decoding.sampling import Sampling
from weft.serving.app import create_app
from weft.serving.settings import Settings
from weft.tasks.generator import Generator
from weft.tasks.language_model import LanguageModel
from weft.viewing.attention_heads import Head

TEMPLATE = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
STRICT = "{% if messages[0].role != 'user' %}{{ raise_exception('the user speaks first') }}{% endif %}" + TEMPLATE
TEXT = "The red cat"


@pytest.fixture(scope="module")
def chatting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = toy_generator(tmp_path_factory.mktemp("lm") / "chat", chat_template=STRICT)
    with TestClient(create_app(LanguageModel().predictor([folder], "cpu"))) as client:
        yield client


@contextmanager
def served(lm: Generator, settings: Settings | None = None, key: str = "none") -> Iterator[OpenAI]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(create_app(lm, settings), log_level="warning"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        with OpenAI(base_url=address, api_key=key, max_retries=0, timeout=60) as client:
            yield client
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def client(lm: Generator) -> Iterator[OpenAI]:
    with served(lm) as client:
        yield client


@pytest.fixture(scope="module")
def plain(lm: Generator) -> Iterator[TestClient]:
    with TestClient(create_app(lm)) as client:
        yield client


def test_a_completion_is_what_python_writes(client: OpenAI, lm: Generator) -> None:
    told = client.completions.create(model="toy", prompt=TEXT, max_tokens=12, temperature=0)
    [[own]] = lm.complete([TEXT], Sampling(0.0), max_tokens=12)
    assert told.choices[0].text == own.text
    assert told.choices[0].finish_reason == "length"
    assert (told.object, told.model) == ("text_completion", "toy")
    assert told.usage
    assert told.usage.prompt_tokens == len(lm.prompt(TEXT))
    assert told.usage.completion_tokens == 12


def test_prompts_are_texts_or_ids_one_or_many(client: OpenAI, lm: Generator) -> None:
    def ask(prompt: Any) -> list[str]:
        told = client.completions.create(model="toy", prompt=prompt, max_tokens=5, temperature=0)
        assert [choice.index for choice in told.choices] == [*range(len(told.choices))]
        return [choice.text for choice in told.choices]

    ids = [lm.prompt(TEXT), lm.prompt("A bird")]
    both = ask([TEXT, "A bird"])
    assert both == ask(ids) == [*ask(ids[0]), *ask("A bird")]


def test_the_same_seed_gives_the_same_texts_and_n_of_them_differ(client: OpenAI, lm: Generator) -> None:
    def ask(seed: int | None) -> list[str]:
        told = client.completions.create(model="toy", prompt=TEXT, max_tokens=8, n=3, seed=seed)
        return [choice.text for choice in told.choices]

    assert ask(7) == ask(7) == [one.text for one in lm.complete([TEXT], Sampling(1.0), n=3, seed=7, max_tokens=8)[0]]
    assert len({*ask(7), *ask(8), *ask(None), *ask(-7)}) == 12


def test_best_of_returns_the_likeliest(client: OpenAI, lm: Generator) -> None:
    told = client.completions.create(model="toy", prompt=TEXT, max_tokens=6, best_of=5, n=2, seed=1)
    every = lm.complete([TEXT], Sampling(1.0), n=5, seed=1, max_tokens=6)[0]
    best = sorted(every, key=lambda one: -sum(one.log_probs) / len(one.log_probs))
    assert [choice.text for choice in told.choices] == [one.text for one in best[:2]]


def test_a_stream_adds_up_to_the_whole(client: OpenAI) -> None:
    asked: dict[str, Any] = {"model": "toy", "prompt": [TEXT, "A"], "max_tokens": 10, "seed": 3, "logprobs": 2}
    whole = client.completions.create(**asked)
    texts, tokens, ends = ["", ""], [[], []], [None, None]  # type: ignore[var-annotated]
    *chunks, last = client.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    for chunk in chunks:
        [choice] = chunk.choices
        texts[choice.index] += choice.text
        tokens[choice.index] += zip(choice.logprobs.token_logprobs, choice.logprobs.text_offset)
        ends[choice.index] = choice.finish_reason
    assert texts == [choice.text for choice in whole.choices]
    assert [[*map(tuple, some)] for some in tokens] == [
        [*zip(choice.logprobs.token_logprobs, choice.logprobs.text_offset)]  # type: ignore[union-attr, arg-type]
        for choice in whole.choices
    ]
    assert ends == ["length", "length"]
    assert (last.choices, last.usage) == ([], whole.usage)


def test_a_stream_is_server_sent_events(plain: TestClient) -> None:
    told = plain.post("/v1/completions", json={"prompt": TEXT, "stream": True, "max_tokens": 2})
    assert told.headers["content-type"].startswith("text/event-stream")
    events = told.text.split("\n\n")
    assert all(event.startswith("data: {") for event in events[:-2])
    assert events[-2:] == ["data: [DONE]", ""]


def test_echo_rates_the_prompt_as_lm_eval_asks(client: OpenAI, lm: Generator) -> None:
    """The requests of lm-eval's local-completions: token ids, echo, one token more, which it leaves out."""
    contexts, ends = [lm.prompt(TEXT), lm.prompt("A")], [[266, 264], [270, 271, 5]]
    rows = [context + end for context, end in zip(contexts, ends)]
    told = client.completions.create(
        model="toy", prompt=rows, temperature=0, max_tokens=1, logprobs=1, seed=1234, echo=True
    )
    for choice, context, row in zip(told.choices, contexts, rows):
        assert choice.logprobs
        values, tops = choice.logprobs.token_logprobs, choice.logprobs.top_logprobs
        assert values
        assert tops
        assert len(values) == len(tops) == len(row) + 1
        assert (values[0], tops[0]) == (None, None)
        own = lm.log_probs(row[:-1])
        wanted = [float(own[t - 1, row[t]]) for t in range(1, len(row))]
        assert values[1:-1] == pytest.approx(wanted, abs=1e-5)
        greedy = [value == max(top.values()) for value, top in zip(values[len(context) : -1], tops[len(context) : -1])]
        assert greedy == [int(own[t - 1].argmax()) == row[t] for t in range(len(context), len(row))]


def test_log_probs_name_their_tokens_and_places(client: OpenAI, lm: Generator) -> None:
    told = client.completions.create(model="toy", prompt=TEXT, max_tokens=0, logprobs=3, echo=True).choices[0]
    assert told.text == TEXT
    assert told.logprobs
    assert told.logprobs.tokens == ["∅", "The", " r", "ed", " cat"]
    assert told.logprobs.text_offset == [0, 0, 3, 5, 7]
    assert all(
        len(top) in (3, 4) and name in top
        for name, top in zip(told.logprobs.tokens[1:], told.logprobs.top_logprobs[1:])
    )  # type: ignore[index]
    assert client.completions.create(model="toy", prompt=TEXT, max_tokens=0, echo=True).choices[0].logprobs is None


def test_stop_strings_and_their_tokens_are_left_out(client: OpenAI) -> None:
    whole = client.completions.create(model="toy", prompt=TEXT, max_tokens=20, seed=2, logprobs=0).choices[0]
    assert whole.logprobs
    stop = whole.text[6:8]
    cut = client.completions.create(
        model="toy", prompt=TEXT, max_tokens=20, seed=2, logprobs=0, stop=["zzz", stop]
    ).choices[0]
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert cut.finish_reason == "stop"
    assert cut.logprobs
    count = len(cut.logprobs.tokens or ())
    assert cut.logprobs.token_logprobs == (whole.logprobs.token_logprobs or [])[:count]
    assert all(at < len(cut.text) for at in cut.logprobs.text_offset or ())


def test_logit_bias_and_penalties(client: OpenAI, lm: Generator) -> None:
    def ask(**options: Any) -> list[str]:
        told = client.completions.create(model="toy", prompt=TEXT, max_tokens=6, temperature=0, logprobs=0, **options)
        assert told.choices[0].logprobs
        return told.choices[0].logprobs.tokens or []

    red = lm.codec.pieces_of([" cat"])[0][0]
    assert ask(logit_bias={str(red): 100}) == [" cat"] * 6
    assert ask(logit_bias={str(red): 10}, frequency_penalty=2, presence_penalty=2).count(" cat") < 6


def test_generation_slides_past_the_context(client: OpenAI) -> None:
    told = client.completions.create(model="toy", prompt=TEXT, max_tokens=100, seed=1)
    assert told.usage
    assert told.usage.completion_tokens == 100


@pytest.mark.parametrize(
    ("asked", "param", "sentence"),
    [
        ({"prompt": [100_000]}, "prompt", "token ids must be between 0 and"),
        ({"prompt": [-1]}, "prompt", "token ids must be between 0 and"),
        ({"prompt": [True]}, "prompt", "prompt must be a text, a list of texts, a list of token ids"),
        ({"prompt": [[1], "a"]}, "prompt", "prompt must be a text"),
        ({"prompt": []}, "prompt", "prompt must be a text"),
        ({"prompt": {"a": 1}}, "prompt", "prompt must be a text"),
        ({"prompt": "\ud800"}, None, "lone surrogate"),
        ({"prompt": [5] * 49}, "prompt", "49 tokens are too many; this model sees 48 at once"),
        ({"max_tokens": -1}, "max_tokens", "max_tokens should be greater than or equal to 0"),
        ({"max_tokens": 0}, "max_tokens", "max_tokens must be at least 1 without echo, got 0"),
        ({"max_tokens": 10**12}, "max_tokens", "max_tokens must be at most 4,096, got 1,000,000,000,000"),
        ({"max_tokens": 1.5}, "max_tokens", "max_tokens should be a valid integer"),
        ({"max_tokens": "5"}, "max_tokens", "max_tokens should be a valid integer"),
        ({"n": 0}, "n", "n should be greater than or equal to 1"),
        ({"prompt": ["a"] * 100, "n": 3}, "n", "300 texts are too many; the limit is 200 per request"),
        ({"best_of": 2, "n": 3}, "best_of", "best_of must be at least n = 3, got 2"),
        ({"best_of": 2, "stream": True}, "best_of", "best_of cannot be more than n in a stream"),
        ({"temperature": -0.1}, "temperature", "temperature should be greater than or equal to 0"),
        ({"top_p": 1.1}, "top_p", "top_p should be less than or equal to 1"),
        ({"logprobs": 6}, "logprobs", "logprobs should be less than or equal to 5"),
        ({"stop": ""}, "stop", "a stop string must not be empty"),
        ({"stop": ["a", ""]}, "stop", "a stop string must not be empty"),
        ({"stop": [*"abcde"]}, "stop", "stop has 5 strings; at most 4 are allowed"),
        ({"logit_bias": {"the": 1}}, "logit_bias", "'the' is not the id of a token, 0 to 289"),
        ({"logit_bias": {"290": 1}}, "logit_bias", "'290' is not the id of a token, 0 to 289"),
        ({"logit_bias": {"5": 101}}, "logit_bias", "should be less than or equal to 100"),
        ({"suffix": "end"}, "suffix", "suffix is not supported"),
        ({"stream_options": {}}, "stream_options", "stream_options needs stream = true"),
        ({"max_token": 5}, "max_token", "there is no field 'max_token'. Did you mean 'max_tokens'?"),
    ],
)
def test_mistakes_get_400_and_a_sentence(plain: TestClient, asked: dict[str, Any], param: str, sentence: str) -> None:
    body = json.dumps({"prompt": "a", **asked}).encode()
    told = plain.post("/v1/completions", content=body, headers={"Content-Type": "application/json"})
    assert told.status_code == 400
    error = told.json()["error"]
    assert sentence in error["message"]
    assert (error["type"], error["param"]) == ("invalid_request_error", param)


def test_the_client_raises_its_own_errors(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="at most 4,096") as wrong:
        client.completions.create(model="toy", prompt="a", max_tokens=5000)
    assert wrong.value.param == "max_tokens"
    with pytest.raises(openai.NotFoundError, match="this service has 'toy'") as unknown:
        client.completions.create(model="gpt-4", prompt="a")
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError, match="not found"):
        client.embeddings.create(model="toy", input="a")


def test_the_key_is_a_bearer_token(lm: Generator) -> None:
    with served(lm, Settings(api_key="geheim"), "geheim") as client:
        assert client.models.list().data[0].id == "toy"
        with pytest.raises(openai.AuthenticationError, match="the API key is wrong"):
            client.with_options(api_key="other").models.list()


def test_models(client: OpenAI) -> None:
    assert [one.id for one in client.models.list()] == ["toy"]
    assert client.models.retrieve("toy").owned_by == "weft"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("other")


def test_limits_are_settings(lm: Generator) -> None:
    with TestClient(create_app(lm, Settings(tokens=10, body=1000))) as client:
        told = client.post("/v1/completions", json={"max_tokens": 11}).json()
        assert told["error"]["message"] == "max_tokens must be at most 10, got 11."
        told = client.post("/v1/completions", json={"prompt": "x" * 5000})
        assert (told.status_code, told.json()["error"]["type"]) == (413, "invalid_request_error")


def test_a_model_without_a_template_does_not_chat(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match=r"it has no chat template\. Use /v1/completions"):
        client.chat.completions.create(model="toy", messages=[{"role": "user", "content": "Hello"}])


def test_chat_continues_the_template(chatting: TestClient) -> None:
    asked = {"max_tokens": 6, "seed": 4}
    messages = [{"role": "user", "content": [{"type": "text", "text": "A red cat"}]}]
    told = chatting.post(
        "/v1/chat/completions", json={"messages": messages, **asked, "logprobs": True, "top_logprobs": 2}
    ).json()
    plain = chatting.post("/v1/completions", json={"prompt": "user: A red cat\n", **asked}).json()
    [choice] = told["choices"]
    assert choice["message"] == {"role": "assistant", "content": plain["choices"][0]["text"], "refusal": None}
    assert len(choice["logprobs"]["content"]) == 6
    assert told["object"] == "chat.completion"
    streamed = chatting.post("/v1/chat/completions", json={"messages": messages, **asked, "stream": True}).text
    assert streamed.count('"role":"assistant"') == 1
    assert streamed.endswith("data: [DONE]\n\n")
    refused = chatting.post("/v1/chat/completions", json={"messages": [{"role": "system", "content": "x"}]})
    assert refused.status_code == 400
    assert "the user speaks first" in refused.json()["error"]["message"]


def test_the_tokeniser(plain: TestClient, lm: Generator) -> None:
    told = plain.post("/tokenize", json={"prompt": TEXT, "add_special_tokens": False}).json()
    assert told["tokens"] == lm.codec.pieces_of([TEXT])[0]
    assert plain.post("/tokenize", json={"prompt": TEXT, "add_special_tokens": True}).json()["tokens"][0] == 1
    assert plain.post("/detokenize", json={"tokens": told["tokens"]}).json() == {"prompt": TEXT}
    info = plain.get("/tokenizer_info").json()
    assert (info["eos_token"], info["vocab_size"]) == (None, SMALL["vocabulary"])
    assert "token ids" in plain.post("/detokenize", json={"tokens": [-1]}).json()["error"]


def test_the_inside_of_a_language_model(plain: TestClient, lm: Generator) -> None:
    told = plain.get("/api/model").json()
    assert {"run", "next", "surprise", "complete", "attention", "importance", "lens"} < {*told["traces"]}
    assert not {"search", "pairs"} & {*told["traces"]}
    assert (told["languages"], told["search"], told["aligner"]) == ([], None, None)
    assert [*told["diagram"]["sides"]] == ["decoder"]
    assert [kind["name"] for kind in told["kinds"]] == ["decoder"]
    seen = lm.attention(TEXT)
    overview = plain.post("/api/overview", json={"text": TEXT}).json()
    assert (overview["kind"], overview["keys"]) == ("decoder", seen.axes["decoder"][1])
    masks = plain.post("/api/masks", json={"text": TEXT}).json()
    assert masks["source"] == []
    assert masks["masks"]["decoder"][0][1][:3] == [1, 1, 0]
    off = plain.post("/api/off", json={"text": TEXT, "off": [{"kind": "decoder", "layer": 1, "head": 1}]}).json()
    assert off["after"]["score"] != off["whole"]["score"]
    assert math.isclose(off["whole"]["score"], seen.score, abs_tol=1e-4)
    assert {*plain.get("/api/positions?length=3").json()} == {"decoder"}


def test_other_routes_are_not_there(plain: TestClient) -> None:
    assert plain.post("/translate", json={"q": "a"}).status_code == 404
    assert plain.post("/api/search", json={"text": "a"}).status_code == 404
    assert plain.get("/metrics").status_code == 200


def test_a_text_is_written_without_some_heads(plain: TestClient, lm: Generator) -> None:
    """Beside another that has them all."""
    off = [{"kind": "decoder", "layer": 1, "head": 1}, {"kind": "decoder", "layer": 2, "head": 2}]
    body = {"prompt": TEXT, "max_tokens": 12, "temperature": 0, "logprobs": 1}
    told = plain.post("/v1/completions", json={**body, "off": off}).json()["choices"][0]
    heads = [Head(**one) for one in off]
    (wanted,) = lm.complete([TEXT], Sampling(0.0), max_tokens=12, off=heads)[0]
    assert told["text"] == wanted.text
    assert told["logprobs"]["token_logprobs"] == pytest.approx(wanted.log_probs, abs=1e-4)
    whole = plain.post("/v1/completions", json=body).json()["choices"][0]
    assert whole["logprobs"]["token_logprobs"] != told["logprobs"]["token_logprobs"]
    wrong = plain.post("/v1/completions", json={**body, "off": [{"kind": "decoder", "layer": 9, "head": 1}]})
    assert (wrong.status_code, "layer 9 does not exist" in wrong.json()["error"]["message"]) == (400, True)
