"""LibreTranslate's API: every way to ask, its answers, and what is refused."""

from html import escape
from typing import Any

import pytest
from starlette.testclient import TestClient

from weft.decoding import Beam, Search
from weft.serving import keys, libretranslate
from weft.serving.app import create_app
from weft.serving.queue import Queue
from weft.serving.settings import Settings
from weft.tasks.translator import Translator

ASKED = {"q": "red cat", "source": "en", "target": "de"}


def asked(client: TestClient, path: str = "/translate", **fields: Any) -> Any:
    answer = client.post(path, json={**ASKED, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, status: int = 400, **fields: Any) -> str:
    answer = client.post("/translate", json={**ASKED, **fields})
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    return str(answer.json()["error"])


def test_json_form_and_query_give_the_same_answer(client: TestClient, toy: Translator) -> None:
    expected = {"translatedText": toy.translate(["red cat"])[0]}
    for answer in (
        client.post("/translate", json=ASKED),
        client.post("/translate", data=ASKED),
        client.post("/translate", files={name: (None, value) for name, value in ASKED.items()}),
        client.post("/translate", params=ASKED),
        client.post("/translate", params={"q": "red cat"}, data={"source": "en", "target": "de"}),
    ):
        assert (answer.status_code, answer.json()) == (200, expected)


def test_a_list_of_texts(client: TestClient, toy: Translator) -> None:
    texts = ["red cat", "", "one two. Blue dog!"]
    red, one, blue = toy.translate(["red cat", "one two.", "Blue dog!"])
    assert asked(client, q=texts) == {"translatedText": [red, "", f"{one} {blue}"]}
    assert client.post("/translate", data={**ASKED, "q": ["red cat", "red cat"]}).json()["translatedText"] == [red, red]


def test_white_space_is_kept(client: TestClient, toy: Translator) -> None:
    one, two = toy.translate(["One cat.", "Two dogs."])
    assert asked(client, q=" One cat. \n\n Two dogs.\n")["translatedText"] == f" {one} \n\n {two}\n"


@pytest.mark.parametrize("text", ["   ", "12.50", "***", "2026-11-16", "👍", "https://example.org/cat", "<me@cat.org>"])
def test_text_without_words_is_unchanged(client: TestClient, toy: Translator, text: str) -> None:
    assert asked(client, q=text, alternatives=2) == {"translatedText": text, "alternatives": []}
    assert client.post("/detect", data={"q": text}).json()[0]["confidence"] == 50
    red = toy.translate(["red cat."])[0]
    assert asked(client, q=f"red cat.\n{text}\n")["translatedText"] == f"{red}\n{text}\n"
    html = f"<p>red cat.</p><td>{escape(text)}</td>"
    assert asked(client, q=html, format="html")["translatedText"] == html.replace("red cat.", escape(red, quote=False))


def test_alternatives(client: TestClient, toy: Translator) -> None:
    found = asked(client, alternatives=2)
    expected = [one.text for one in next(toy.search(["red cat"], Beam(5)))]
    assert [found["translatedText"], *found["alternatives"]] == expected[:3]
    many = asked(client, q=["red cat", "blue"], alternatives=2)
    assert many["alternatives"][0] == found["alternatives"]
    assert [len(some) for some in many["alternatives"]] == [2, 2]


def test_html(client: TestClient, toy: Translator) -> None:
    red = toy.translate(["red cat"])[0]
    made = asked(client, q='<p class="red cat">red cat</p><script>red cat</script>', format="html")["translatedText"]
    assert made == f'<p class="red cat">{red}</p><script>red cat</script>'
    made = asked(client, q="one <b>red</b> <i>cat</i>, <br>two", format="html")["translatedText"]
    assert [made.count(tag) for tag in ("<b>", "</b>", "<i>", "</i>", "<br>")] == [1] * 5


def test_a_kept_element_moves_with_its_sentence(shipped: Translator, client: TestClient) -> None:
    kept = '<span translate="no">Mary</span>'
    with TestClient(create_app(shipped)) as german:
        plain = asked(german, q="My friend Mary bought a new car yesterday.")["translatedText"]
        made = asked(german, q=f"<p>My friend {kept} bought a new car yesterday.</p>", format="html")["translatedText"]
    assert made == f"<p>{plain.replace('Maria', kept)}</p>"
    made = asked(client, q="<p>red <i>cat</i>. <code>42</code></p>", format="html")["translatedText"]
    assert made.endswith(" <code>42</code></p>")


def test_a_line_break_in_html_does_not_split_a_sentence(client: TestClient, toy: Translator) -> None:
    red = escape(toy.translate(["red cat"])[0], quote=False)
    assert asked(client, q="<p>\n  red\n  cat\n</p>", format="html")["translatedText"] == f"<p>\n  {red}\n</p>"


def test_text_in_the_target_language_is_unchanged(client: TestClient) -> None:
    assert asked(client, source="de", q=" Rote  Katze ") == {"translatedText": " Rote  Katze "}
    assert asked(client, source="en-US", target="de_AT")["translatedText"]


def test_auto_reports_the_detected_language(client: TestClient) -> None:
    found = asked(client, source="auto")["detectedLanguage"]
    assert found["language"] in ("en", "de")
    assert 50 <= found["confidence"] <= 100
    assert len(asked(client, source="auto", q=["red", "cat"])["detectedLanguage"]) == 2


def test_a_list_is_detected_in_one_batch(toy: Translator) -> None:
    app = create_app(toy)
    search, together = app.state.service.queue.search, []

    async def watched(texts: list[str], how: Search, **options: Any) -> Any:
        together.append(len(texts))
        return await search(texts, how, **options)

    app.state.service.queue.search = watched
    with TestClient(app) as client:
        assert len(asked(client, source="auto", q=["red cat", "blue. One two!", ""])["detectedLanguage"]) == 3
    assert together[0] == 3


@pytest.mark.parametrize(("chance", "is_left"), [(0.02, True), (0.2, False), (0.5, False)])
def test_text_of_uncertain_language_is_translated(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, chance: float, is_left: bool
) -> None:
    async def told(queue: Queue, texts: list[str]) -> list[float]:
        return [chance] * len(texts)

    monkeypatch.setattr(libretranslate, "in_source_language", told)
    assert (asked(client, source="auto")["translatedText"] == ASKED["q"]) == is_left


def test_detection_uses_the_whole_text(shipped: Translator) -> None:
    """Its first sentence alone could be in either."""
    with TestClient(create_app(shipped)) as client:
        english = "Hello. My brother bought a new car yesterday. We stayed at home."
        found = asked(client, source="auto", q=english)
        assert found["detectedLanguage"]["language"] == "en"
        assert "Bruder" in found["translatedText"]
        assert asked(client, source="auto", q="Hello.")["detectedLanguage"]["language"] == "en"
        german = "Hallo. Mein Bruder hat gestern ein neues Auto gekauft. Wir sind zu Hause geblieben."
        assert asked(client, source="auto", q=german)["translatedText"] == german


def test_the_shipped_model_knows_its_two_languages(shipped: Translator) -> None:
    with TestClient(create_app(shipped)) as client:
        for language, text in (
            ("en", "The weather was so bad that we stayed at home."),
            ("de", "Das Wetter war so schlecht, dass wir zu Hause geblieben sind."),
        ):
            likelier, other = client.post("/detect", data={"q": text}).json()
            assert (likelier["language"], other["language"]) == (language, "de" if language == "en" else "en")
            assert likelier["confidence"] > 90
            assert likelier["confidence"] + other["confidence"] == pytest.approx(100)


def test_languages_health_and_frontend_settings(client: TestClient) -> None:
    english, german = client.get("/languages").json()
    assert english == {"code": "en", "name": "English", "targets": ["en", "de"]}
    assert german["code"] == "de"
    assert client.get("/health").json() == {"status": "ok"}
    told = client.get("/frontend/settings").json()
    assert told["charLimit"] == 20_000
    assert told["keyRequired"] is False
    assert told["language"]["target"] == {"code": "de", "name": "German"}


def test_invalid_requests_get_400_and_a_sentence(client: TestClient) -> None:
    assert client.post("/translate").json() == {"error": "q is missing. source is missing. target is missing."}
    assert refused(client, q="") == refused(client, q=3) == refused(client, q=["a", 3])
    assert refused(client, q=[]) == "q must be a non-empty text or list of texts."
    assert refused(client, target="fr") == "there is no language 'fr'. Known: de, en."
    assert refused(client, source="de", target="en") == "this model translates from en to de, not to en."
    assert refused(client, source="auto", target="en") == "this model translates from en to de, not to en."
    assert refused(client, format="pdf") == "format should be 'text' or 'html'."
    assert "alternatives should be" in refused(client, alternatives=1000)
    assert "20,001 characters are too many" in refused(client, q="x" * 20_001)
    assert "201 texts are too many" in refused(client, q=["x"] * 201)
    assert client.post("/detect", data={"q": ""}).json() == {"error": "q is empty."}


@pytest.mark.parametrize("path", ["/translate", "/detect", "/api/translate", "/api/attention"])
@pytest.mark.parametrize("kind", [None, "application/x-www-form-urlencoded", "text/plain"])
def test_json_without_its_content_type_is_explained(client: TestClient, path: str, kind: str | None) -> None:
    """As `curl -d` sends it."""
    body = b' {"q": "a", "text": "a", "source": "en", "target": "de"}'
    answer = client.post(path, content=body, headers={"content-type": kind} if kind else {})
    assert answer.status_code == 400
    assert answer.json() == {"error": "the body looks like JSON; set Content-Type: application/json."}


@pytest.mark.parametrize("body", ['{"q": "a"', "[1]", "", '{"q": "\\ud800", "source": "en", "target": "de"}', "\xff"])
def test_invalid_json_gets_400(client: TestClient, body: str) -> None:
    answer = client.post("/translate", content=body.encode("latin-1"), headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]


@pytest.mark.parametrize(("encoding", "text"), [("utf-7", b"+2AA-"), ("undefined", b"a")])
def test_a_form_in_a_wrong_encoding_gets_400(client: TestClient, encoding: str, text: bytes) -> None:
    """The first makes a lone surrogate, the second never decodes anything."""
    parts = {b"q": text, b"source": b"en", b"target": b"de"}.items()
    body = b"".join(b'--B\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % part for part in parts)
    header = {"content-type": f"multipart/form-data; boundary=B; charset={encoding}"}
    answer = client.post("/translate", content=body + b"--B--\r\n", headers=header)
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]


def test_keys_are_compared_in_constant_time(toy: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    monkeypatch.setattr(keys.hmac, "compare_digest", lambda *pair: compared.append(pair))
    with TestClient(create_app(toy, Settings(api_key="geheim"))) as client:
        refused(client, 403, api_key="geheim")  # nothing but that comparison lets it in
    assert compared == [(b"geheim", b"geheim")]


def test_requests_need_the_api_key(toy: Translator) -> None:
    with TestClient(create_app(toy, Settings(api_key="geheim"))) as client:
        assert refused(client, 403) == "this service requires an API key."
        assert refused(client, 403, api_key="geheim!") == "the API key is wrong."
        assert asked(client, api_key="geheim")
        header = {"Authorization": "Bearer geheim"}
        assert client.post("/translate", json=ASKED, headers=header).status_code == 200
        assert client.post("/detect", data={"q": "red"}).status_code == 403
        for method, path in (("POST", "/api/translate"), ("GET", "/api/model"), ("GET", "/metrics")):
            body = {"text": "red"} if method == "POST" else None
            assert client.request(method, path, json=body).status_code == 403
            assert client.request(method, path, json=body, headers=header).status_code == 200
        assert client.get("/health").status_code == client.get("/languages").status_code == 200
        assert client.get("/frontend/settings").json()["keyRequired"] is True


def test_cors_only_for_allowed_origins(client: TestClient, toy: Translator) -> None:
    header = {"Origin": "https://example.org"}
    assert "access-control-allow-origin" not in client.get("/languages", headers=header).headers
    with TestClient(create_app(toy, Settings(cors=("https://example.org",)))) as open_to_one:
        assert open_to_one.get("/languages", headers=header).headers["access-control-allow-origin"] == header["Origin"]
        other = open_to_one.get("/languages", headers={"Origin": "https://other.org"})
        assert "access-control-allow-origin" not in other.headers
