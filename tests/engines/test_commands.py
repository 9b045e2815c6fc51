"""Engines in the commands and the service, in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from weft.data.texts import Translation
from weft.decoding import Beam
from weft.engines.choosing import WORTH
from weft.engines.ctranslate2 import CTranslate2
from weft.folder import Folder
from weft.serving.app import create_app
from weft.tasks import load
from weft.tasks.translator import Translator

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from weft import commands

try:
    commands.run(sys.argv[1:])
finally:
    print(*sys.modules)
"""


def run(*words: str, stdin: str = "", **environment: str) -> tuple[list[str], set[str], str]:
    """What a command prints, the modules that it has loaded, and what it reports."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    *lines, loaded = done.stdout.splitlines()
    return lines, {*loaded.split()}, done.stderr


def where(engine: CTranslate2) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(engine.folder.parents[2])}


def test_with_an_engine_nothing_needs_torch(prepared: CTranslate2, shipped: Translator) -> None:
    texts = ["How are you?", "", "Thank you. Good night."]
    lines, loaded, errors = run(
        "translate", "en-de", "--nbest", "2", "--split", stdin="\n".join(texts), **where(prepared)
    )
    found = shipped.search(texts, Beam(5), split=True)
    assert lines == ["\t".join(one.text for one in some[:2]) for some in found], errors
    assert lines[0] == "Wie geht es dir?\tWie geht es Ihnen?"
    assert "ctranslate2" in loaded
    assert not {"torch", "weft.exports", "weft.plans", "weft.tasks", "transformers"} & loaded


def test_a_command_makes_an_engine_where_it_pays(toy: Folder, tmp_path: Path) -> None:
    """With a real child process. The model is untrained and ends no sentence, so torch computes after all."""
    (tmp_path / "text").write_text("red cat\n\n" + "\n" * WORTH)
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    lines, loaded, errors = run("translate", str(toy.path), str(tmp_path / "text"), "--beam", "1", **cache)
    assert errors == f"preparing CTranslate2 for {toy.path}, once: about 10 seconds\n"
    assert lines[0] == load(toy.path).translate(["red cat"], beam=1)[0].strip()
    assert len(lines) == WORTH + 2
    assert {"torch", "ctranslate2"} <= loaded
    assert len(list((tmp_path / "cache" / "weft" / "engines").iterdir())) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--engine", "ctranslate2", "--sample"], "it does not sample as weft does."),
        (["--engine", "ctranslate2", "--length-penalty", "0"], "with --beam 5 --length-penalty 0."),
        (["--engine", "torch", "--precision", "int8"], "precision int8 needs engine ctranslate2"),
    ],
)
def test_what_it_cannot_do_is_an_error(words: list[str], told: str, prepared: CTranslate2) -> None:
    lines, loaded, errors = run("translate", "en-de", *words, stdin="How are you?\n", **where(prepared))
    assert not lines
    assert "torch" not in loaded
    assert errors.startswith("weft: ")
    assert told in errors


class Marked:
    """An engine whose translations show that they are its own."""

    name = "marked"

    def __init__(self) -> None:
        self.rated: list[int | None] = []

    def takes(self, width: int, length_penalty: float) -> bool:
        return length_penalty != 0

    def search(
        self, sources: Sequence[Sequence[int]], width: int, length_penalty: float, rated: int | None = None
    ) -> list[list[Translation] | None]:
        self.rated.append(rated)
        one = Translation("marked", -1.0, (5, 2), ("a", "∎"), (-1.0, -1.0), True)
        return [[one] * width if len(source) > 3 else None for source in sources]


def test_the_service_translates_with_the_engine_what_it_can(toy: Folder) -> None:
    translator: Any = load(toy.path)
    alone = translator.translate(["a"])[0]
    assert len(translator.encode_all(["a"])[0]) == 3
    translator.engine = engine = Marked()
    with TestClient(create_app(translator)) as client:

        def ask(route: str, **body: Any) -> Any:
            answer = client.post(route, json=body)
            assert answer.status_code == 200, answer.text
            return answer.json()

        assert ask("/translate", q=["red cat", "a"], source="en", target="de")["translatedText"] == ["marked", alone]
        found = ask("/api/translate", text="red cat", nbest=2)
        assert [one["text"] for one in found["translations"]] == ["marked", "marked"]
        assert engine.rated == [0, 2]
        for other in ({"off": [{"kind": "cross", "layer": 1, "head": 1}]}, {"length_penalty": 0.0}):
            assert ask("/api/translate", text="red cat", **other)["translation"] != "marked"
        assert len(engine.rated) == 2
        text = client.get("/metrics").text
    assert "weft_batch_texts_sum 5.0" in text
