"""The model that ships inside the package."""

from pathlib import Path

import pytest

import weft
from weft.data.reading import read_pairs
from weft.decoding import Beam
from weft.folder import SHIPPED, shipped

DATA = Path(__file__).parents[3] / "shared" / "data" / "tatoeba-deu-eng"


@pytest.fixture(scope="module")
def model() -> weft.Translator:
    return weft.load("en-de")


def test_it_fits_the_package_and_has_a_card() -> None:
    assert "en-de" in shipped()
    files = list((SHIPPED / "en-de").iterdir())
    assert sum(file.stat().st_size for file in files) <= 16_000_000
    card = (SHIPPED / "en-de" / "README.md").read_text(encoding="utf-8")
    assert "CC BY 2.0" in card
    assert "tatoeba.org" in card
    assert "manythings.org/anki" in card


def test_it_translates(model: weft.Translator) -> None:
    assert model.languages == ("en", "de")
    assert model.translate(["Good morning!", "", "Where is Tom?"]) == ["Guten Morgen!", "", "Wo ist Tom?"]


def test_it_reaches_its_score(model: weft.Translator) -> None:
    if not DATA.exists():
        pytest.skip(f"the test set is not part of the project, and {DATA.name} is not beside it")
    pairs = list(read_pairs([DATA / "test.tsv.xz"], languages="en-de"))[:400]
    assert model.evaluate(pairs, Beam())["bleu"] >= 42
