"""Two very small models: one that translates, and one that continues texts."""

import pytest

from tests.lm import toy_generator
from tests.toys import toy_run
from weft.tasks import load
from weft.tasks.generator import Generator
from weft.tasks.translator import Translator


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    translator: Translator = load(toy_run(tmp_path_factory.mktemp("seen") / "toy").path)
    return translator


@pytest.fixture(scope="session")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    generator: Generator = load(toy_generator(tmp_path_factory.mktemp("lm") / "toy").path)
    return generator
