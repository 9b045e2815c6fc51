"""The tokeniser: any text survives it, any ids can be read, and a broken file is refused."""

import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.broken import meddled, mutated, survived
from tests.toys import PAIRS
from weft.data.bpe_dropout import BpeDropout
from weft.data.codecs.subwords import Subwords

TOKENISER = Subwords.train([text for pair in PAIRS[:50] for text in pair], 280)
with tempfile.TemporaryDirectory() as folder:
    TOKENISER.save(Path(folder, "t.json"))
    GOOD = Path(folder, "t.json").read_bytes()

any_text = st.text() | st.text(st.characters(exclude_categories=()), max_size=20)  # with lone surrogates


@given(any_text)
def test_texts(text: str) -> None:
    ids = survived(lambda: TOKENISER.encode(text))
    if ids is None:
        assert any("\ud800" <= character <= "\udfff" for character in text)
        return
    assert TOKENISER.decode(ids) == text
    assert TOKENISER.decode(BpeDropout(TOKENISER, 0.5, "seed")(ids)) == text
    assert len(TOKENISER.readable(ids)) == len(ids)


@given(st.lists(st.integers(0, len(TOKENISER) - 1)))
def test_ids(ids: list[int]) -> None:
    assert isinstance(TOKENISER.decode(ids), str)
    assert len(TOKENISER.readable(ids)) == len(ids)


def read(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tokeniser.json")
        file.write_bytes(data)
        found = survived(lambda: Subwords.load(file))
        if found is not None:  # it differs from the good one in its merges, or in pieces that are no byte
            text = "any text: ü 👍\n"
            assert found.decode(found.encode(text)) == text
            assert len(found.readable(range(len(found)))) == len(found)


@given(mutated(GOOD) | st.binary(max_size=100))
def test_files(data: bytes) -> None:
    read(data)


@given(meddled(json.loads(GOOD)))
def test_wrong_values(data: object) -> None:
    read(json.dumps(data).encode())
