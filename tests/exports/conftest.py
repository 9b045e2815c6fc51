"""Where CTranslate2 is missing these tests say so and are left out."""

from importlib.util import find_spec

import pytest

from weft.errors import install


@pytest.fixture(autouse=True, scope="session")
def engine() -> None:
    if not find_spec("ctranslate2"):
        pytest.skip(f"ctranslate2 is not installed: {install('export')}")
