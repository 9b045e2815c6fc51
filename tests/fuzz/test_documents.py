"""Plain text, JSONL and the codecs of language models: a text comes out of a file, or a report; and text survives."""

import gzip
import json
import lzma
import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.broken import meddled, mutated, survived
from weft.data import codecs
from weft.data.codecs import CODECS, TextCodec
from weft.data.codecs.public import PublicTokeniser
from weft.data.documents import SPLITS, held_out, read_documents
from weft.tasks.language_model import LanguageModel

GOOD = "One line.\r\nZwei Zeilen: ü 👍\n\n  A paragraph\nof two.\n"
CONTENT = {
    "a.txt": GOOD.encode(),
    "a.jsonl": b'{"text": "one\\n\\ntwo"}\n\n{"title": "x"}\n{"text": "ende \\u00fc"}\n',
    "utf16.txt": GOOD.encode("utf-16"),
    "latin1.txt": GOOD.replace("👍", "").encode("latin-1"),
    "long.txt": b"x" * 100_000,
}
CONTENT |= {f"{name}.gz": gzip.compress(CONTENT[name]) for name in ("a.txt", "a.jsonl")}
CONTENT |= {f"{name}.xz": lzma.compress(CONTENT[name]) for name in ("a.txt", "a.jsonl")}
TASK = LanguageModel()
TEXT = "to be, or not to be: <unk> ü 👍\n" * 5
TRAINED = (name for name, kind in CODECS.items() if issubclass(kind, TextCodec) and kind is not PublicTokeniser)
OWN = {name: CODECS[name].train([TEXT], 270) for name in TRAINED}  # type: ignore[attr-defined]
FILES = {name: json.dumps(codec.to_dict()).encode() for name, codec in OWN.items()}


@given(st.data())
def test_files(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(CONTENT)))
    content = data.draw(mutated(CONTENT[name]) | st.binary(max_size=100))
    split = data.draw(st.sampled_from(sorted(SPLITS)))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "deep").mkdir()
        Path(folder, "deep", name).write_bytes(content)
        found = survived(lambda: list(read_documents([Path(folder)], split)))
        if found is None:
            return
        text = "".join(passage.text for passage in found)
        assert text.encode("utf-8").decode("utf-8") == text, "text, and nothing but text"
        assert "\0" not in text or ".jsonl" in name
        for passage, after in pairwise(found):
            assert passage.ends == after.starts
        learned, valid = held_out(found)
        assert "".join(passage.text for part in (learned, valid) for passage in part) == text
        tenth, kept = len(text) // 10, text[len(text) - valid.size :]
        assert min(tenth, 1) <= valid.size <= tenth
        ends = ["".join(passage.text for passage in found[i:]) for i in range(len(found))]
        assert valid.size == tenth or kept[0].isspace() or kept in ends, "a word or a short document is cut"


@given(st.data())
def test_rows_have_every_token_once(data: st.DataObject) -> None:
    """However a text is cut into passages and rows, the ids are those of the text."""
    name = data.draw(st.sampled_from(sorted(OWN)))
    longest = data.draw(st.sampled_from([None, 1, 2, 7, 100]))
    text = data.draw(st.text(sorted({*TEXT}), max_size=60))
    codec = OWN[name]
    rows = [row[0] for some, _ in TASK.encode([(text,)], {"tokeniser": codec}, longest) for row in some]
    stream = [*rows[0][:1], *(i for row in rows for i in row[1:])] if longest else [i for row in rows for i in row]
    special = codec.special
    assert stream == [special.start, *codec.pieces_of([text])[0], special.end]


@given(st.text() | st.text(st.characters(exclude_categories=()), max_size=20))
def test_texts(text: str) -> None:
    for codec in OWN.values():
        ids = survived(lambda codec=codec: codec.pieces_of([text])[0])
        if ids is None:
            continue
        written = "".join(codec.characters(ids))
        assert len(codec.readable(ids)) == len(ids)
        if codec.name != "words":
            assert written == text
            assert codec.decode(codec.encode(text)) == text
        else:
            assert codec.pieces_of([written])[0] == ids, "what is written is read again as it was"


@given(st.sampled_from(sorted(OWN)), st.lists(st.integers(0, 258)))
def test_ids(name: str, ids: list[int]) -> None:
    codec = OWN[name]
    ids = [i % len(codec) for i in ids]
    assert isinstance(codec.decode(ids), str)
    assert len(codec.readable(ids)) == len(codec.characters(ids)) == len(ids)


def read(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tokeniser.json")
        file.write_bytes(data)
        found = survived(lambda: codecs.load(file))
        if found is not None:
            every = range(len(found))
            assert len(found.readable(every)) == len(found)
            assert isinstance(found.decode(every), str)
            survived(lambda: found.encode("to be"))


@given(st.sampled_from(sorted(FILES)).flatmap(lambda name: mutated(FILES[name])))
def test_codec_files(data: bytes) -> None:
    read(data)


@given(st.sampled_from(sorted(OWN)).flatmap(lambda name: meddled(OWN[name].to_dict())))
def test_wrong_values(data: object) -> None:
    read(json.dumps(data).encode())
