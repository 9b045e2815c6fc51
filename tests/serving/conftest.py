"""A very small model behind the whole application, in this process."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.lm import toy_generator
from tests.toys import toy_run
from weft.serving.app import create_app
from weft.tasks import load
from weft.tasks.generator import Generator
from weft.tasks.translator import Translator


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return load(str(toy_run(tmp_path_factory.mktemp("served") / "toy").path))


@pytest.fixture(scope="session")
def shipped() -> Translator:
    return load("en-de")


@pytest.fixture(scope="session")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    generator: Generator = load(str(toy_generator(tmp_path_factory.mktemp("lm") / "toy").path))
    return generator


@pytest.fixture(scope="module")
def client(toy: Translator) -> Iterator[TestClient]:
    with TestClient(create_app(toy)) as client:
        yield client
