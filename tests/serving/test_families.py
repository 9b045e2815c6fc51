"""Models of every family behind HTTP: what one of them does not have is told, and what it has can be seen."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.checking.test_checks import model_folder
from tests.contracts.tiny import tiny_plan
from weft.serving.app import create_app
from weft.serving.settings import Settings
from weft.tasks.translator import Translator

FORMULAS = {  # of the score
    "bahdanau": "v · tanh(W s + U h)",
    "luong": "q · k = s · W h",
    "gnmt": "v · tanh(W s + U h)",
    "convs2s": "q · k = s · h",
}
LOOKS = {"bahdanau": 1, "luong": 1, "gnmt": 1, "convs2s": 3, "seq2seq-rnn": 0, "bytenet": 0}  # layers that look
OFF = [{"kind": "cross", "layer": 1, "head": 1}]
NONE = "this model has no encoder-decoder attention"


@pytest.mark.parametrize("family", LOOKS)
def test_routes_work_for_every_family_or_answer_400(tmp_path: Path, family: str) -> None:
    plan = tiny_plan("preset", f"{family}-tiny").with_settings({"width": 32})
    app = create_app(Translator([model_folder(tmp_path / "model", plan, ("en", "de"))]), Settings())
    with TestClient(app, raise_server_exceptions=False) as client:

        def ask(path: str, **more: Any) -> tuple[int, Any]:
            answer = client.post(f"/api/{path}", json={"text": "a red dog", **more})
            return answer.status_code, answer.json()

        assert client.get("/api/model").json()["heads"]["cross"]["layers"] == LOOKS[family]
        assert ask("search", beam=2)[0] == 200
        assert ask("masks")[0] == 200
        assert ask("head", kind="encoder", layer=1, head=1, token=0)[0] == 400
        assert ask("translate", glossary=[{"source": "dog", "target": "x"}])[0] == 200
        html = client.post(
            "/translate", json={"q": "a <b>red</b> dog", "source": "en", "target": "de", "format": "html"}
        )
        assert html.status_code == 200
        assert html.json()["translatedText"].count("b>") == 2
        whole, aligned = ask("attention", kind="cross"), ask("translate", alignment=True)
        words = ask("align", target="ein Hund")
        without, numbers = ask("off", off=OFF), ask("head", kind="cross", layer=1, head=1, token=0)
        if not LOOKS[family]:
            assert all(
                status == 400 and NONE in said["error"] for status, said in (whole, aligned, words, without, numbers)
            )
            assert client.get("/api/model").json()["aligner"] is None
            return
        assert len(whole[1]["maps"]) == LOOKS[family]
        assert aligned[0] == 200
        assert [len(row) for row in words[1]["weights"]] == [3, 3], "two target words, three source words"
        assert numbers[1]["formula"] == FORMULAS[family]
        assert [row["scaled"] for row in numbers[1]["rows"]] == [None] * len(numbers[1]["keys"])
        assert without[1]["after"]["score"] != without[1]["whole"]["score"], "what is off is not heard"
