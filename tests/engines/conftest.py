"""Engines are made in this process, which has torch already; one test makes one as a user does."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.exports.conftest import engine  # noqa: F401  (left out where CTranslate2 is missing)
from tests.toys import PAIRS, SMALL
from weft.data.codecs import Subwords
from weft.engines import choosing
from weft.engines.choosing import Choice, engine_of
from weft.engines.ctranslate2 import CTranslate2
from weft.folder import Folder
from weft.machine import Answer
from weft.plans.presets import plan
from weft.tasks import load
from weft.tasks.translator import Translator
from weft.weights import parameters

TEXTS = [text for pair in PAIRS for text in pair]


class Maker:
    """Stands for the child process. It counts, and can be told to fail."""

    def __init__(self) -> None:
        self.trouble: str | None = None
        self.made = 0

    def __call__(self, program: str, *words: str, **_: Any) -> Answer:
        from weft.engines.making import make

        self.made += 1
        return Answer(trouble=self.trouble) if self.trouble else Answer(make(*words))


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Maker:
    """An empty cache, and what fills it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = Maker()
    monkeypatch.setattr(choosing, "ask", found)
    return found


def untrained(path: Path, **settings: object) -> Folder:
    """A model folder with weights drawn at random."""
    recipe = plan("transformer-tiny").with_settings({**SMALL, **settings})
    folder = Folder(path)
    torch.manual_seed(1)
    folder.describe(recipe, {"tokeniser": Subwords.train(TEXTS, recipe.vocabulary)}, languages=("en", "de"))
    folder.finish(dict(parameters(recipe.build())))
    return folder


@pytest.fixture
def toy(tmp_path: Path) -> Folder:
    return untrained(tmp_path / "toy")


@pytest.fixture(scope="session")
def shipped() -> Translator:
    return load("en-de")


@pytest.fixture(scope="session")
def prepared(shipped: Translator, tmp_path_factory: pytest.TempPathFactory) -> CTranslate2:
    """The engine of the shipped model, in a cache of its own: other tests of this session expect none."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("prepared")))
        patched.setattr(choosing, "ask", Maker())
        found = engine_of(shipped.folders, Choice("ctranslate2"), make=True)
    assert found
    return found
