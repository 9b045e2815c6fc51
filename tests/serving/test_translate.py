"""POST /api/translate: everything the search knows."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from weft.decoding import Beam
from weft.serving.app import create_app
from weft.tasks.translator import Translator


@pytest.fixture(scope="module")
def german(shipped: Translator) -> Iterator[TestClient]:
    with TestClient(create_app(shipped)) as client:
        yield client


def asked(client: TestClient, text: str, **fields: Any) -> Any:
    answer = client.post("/api/translate", json={"text": text, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, **body: Any) -> str:
    answer = client.post("/api/translate", json=body)
    assert answer.status_code == 400
    return str(answer.json()["error"])


def test_n_best_with_scores_and_tokens(client: TestClient, toy: Translator) -> None:
    told = asked(client, "red cat", beam=3, nbest=2)
    found = next(toy.search(["red cat"], Beam(3)))[:2]
    assert told["translation"] == found[0].text
    assert [one["text"] for one in told["translations"]] == [one.text for one in found]
    for one, expected in zip(told["translations"], found):
        assert one["tokens"] == list(expected.tokens)
        assert one["score"] == pytest.approx(expected.score, abs=1e-4)
        assert one["log_probs"] == pytest.approx(expected.log_probs, abs=1e-4)
    assert told["alignment"] is None
    assert told["glossary"] == {"kept": [], "failed": []}


@pytest.mark.parametrize("text", ["", "  \n ", "12.50", " *** 42\nme@example.org "])
def test_text_without_words_is_its_own_translation(client: TestClient, text: str) -> None:
    told = asked(client, text, alignment=True, nbest=2)
    assert (told["translation"], told["alignment"]) == (text, "")
    assert told["translations"] == [{"text": text, "score": 0.0, "tokens": [], "log_probs": [], "finished": True}]


def test_untranslated_text_between_sentences_is_kept(client: TestClient, toy: Translator) -> None:
    red, blue = toy.translate(["red cat.", "Blue dog!"])
    told = asked(client, "12.50\nred cat.\n*** 42\nhttps://example.org/a?b=c#d\n Blue dog!\n👍")
    assert told["translation"] == f"12.50\n{red}\n*** 42\nhttps://example.org/a?b=c#d\n {blue}\n👍"


def test_alignment_counts_the_words_of_the_whole_text(german: TestClient) -> None:
    told = asked(german, "My brother sleeps.  The cat is black.", alignment=True)
    assert told["translation"] == "Mein Bruder schläft.  Die Katze ist schwarz."
    assert told["alignment"] == "0-0 1-1 2-2 3-3 4-4 5-5 6-6"


def test_a_glossary_is_kept_wherever_its_term_occurs(german: TestClient) -> None:
    term = {"source": "weather", "target": "Witterung"}
    unused = {"source": "dog", "target": "Köter"}
    text = "Weather is important. The cat sleeps. The weather was bad."
    told = asked(german, text, glossary=[term, unused], nbest=2)
    first, second, third = told["translation"].split(". ")
    assert "Witterung" in first
    assert "Witterung" in third
    assert second == "Die Katze schläft"
    assert told["glossary"] == {"kept": [term], "failed": []}


def test_a_term_replaces_the_usual_word(german: TestClient) -> None:
    glossary = [{"source": source, "target": target} for source, target in (("dog", "Köter"), ("house", "Hütte"))]
    told = asked(german, "My dog is bigger than your house.", glossary=glossary, nbest=5)
    assert told["translation"] == "Mein Köter ist größer als dein Hütte."
    assert told["glossary"] == {"kept": glossary, "failed": []}
    scores = [one["score"] for one in told["translations"]]
    assert scores == sorted(scores, reverse=True)
    for one in told["translations"]:
        assert one["score"] == pytest.approx(sum(one["log_probs"]) / len(one["tokens"]))


def test_a_glossary_that_the_model_agrees_with_changes_nothing(german: TestClient) -> None:
    free = asked(german, "My dog is bigger than yours.")
    told = asked(german, "My dog is bigger than yours.", glossary=[{"source": "dog", "target": "Hund"}])
    assert told["translation"] == free["translation"]
    assert told["translations"][0]["score"] == pytest.approx(free["translations"][0]["score"], abs=1e-4)


def test_a_term_that_does_not_fit_is_reported_as_failed(client: TestClient) -> None:
    """Two source tokens allow 2 · 2 + 20 target tokens, and this term has more."""
    term = {"source": "cat", "target": " ".join("zyxwvutsrq" for _ in range(12))}
    assert asked(client, "cat", glossary=[term])["glossary"] == {"kept": [], "failed": [term]}


def test_a_term_in_untranslated_text_is_reported_as_failed(german: TestClient) -> None:
    number = {"source": "42", "target": "zweiundvierzig"}
    assert asked(german, "We sleep.\n42", glossary=[number])["glossary"] == {"kept": [], "failed": [number]}


def test_heads_that_are_off_change_the_scores(client: TestClient) -> None:
    whole = asked(client, "red cat")
    off = [{"kind": "cross", "layer": layer, "head": head} for layer in (1, 2) for head in (1, 2)]
    assert asked(client, "red cat", off=off)["translations"][0]["score"] != whole["translations"][0]["score"]
    assert refused(client, text="red", off=[{"kind": "cross", "layer": 3, "head": 1}]) == (
        "layer 3 does not exist: this model has layers 1 to 2."
    )


def test_invalid_requests_get_400_and_a_sentence(client: TestClient) -> None:
    assert refused(client) == "text is missing."
    assert refused(client, txt="red").startswith("text is missing. there is no field 'txt'. Did you mean 'text'?")
    assert refused(client, text="red", glossary=[{"source": "a", "target": "b", "x": 1}]) == (
        "there is no field 'glossary[0].x'."
    )
    assert refused(client, text="red", glossary=[{"source": "a", "target": " "}]) == "glossary[0].target is empty."
    assert refused(client, text="red", glossary=[{"source": "a" * 201, "target": "b"}]) == (
        "glossary[0].source should have at most 200 characters."
    )
    assert refused(client, text="red", glossary=[3]) == "glossary[0] must be a JSON object."
    assert refused(client, text="red", nbest=6) == "nbest 6 needs a beam of at least 6, got 5."
    assert "beam should be" in refused(client, text="red", beam=0)
    assert "20,001 characters are too many" in refused(client, text="x" * 20_001)
    assert refused(client, text="red", **{f"x{i}": 0 for i in range(5000)}).count("there is no field") == 20
    for body in (b"{", b'{"text": "\\ud800"}', b"", b"3"):
        answer = client.post("/api/translate", content=body, headers={"content-type": "application/json"})
        assert (answer.status_code, list(answer.json())) == (400, ["error"])
