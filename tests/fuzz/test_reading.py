"""Corpus reading: pairs of text come out of a file, or a report; and a training that is refused leaves nothing."""

import gzip
import lzma
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.broken import mutated, survived
from tests.training.tiny import tiny_plan
from weft.data.reading import read_lines, read_pairs
from weft.errors import WeftError
from weft.training.run import begin

GOOD = {
    "a.tsv": "ein Haus\ta house\nein Baum\ta tree\n",
    "a.jsonl": '{"source": "Haus", "target": "house"}\n{"translation": {"de": "Baum \\u00e4", "en": "tree"}}\n',
    "a.tmx": '<?xml version="1.0"?><tmx version="1.4"><header srclang="de"/><body><tu><tuv xml:lang="de"><seg>Ha<bpt>x'
    '</bpt>us</seg></tuv><tuv xml:lang="en"><seg>house</seg></tuv></tu></body></tmx>',
    "a.xlf": '<xliff version="1.2"><file source-language="de" target-language="en"><body><trans-unit id="1">'
    '<source>Haus</source><target state="final">house</target></trans-unit></body></file></xliff>',
    "a.po": 'msgid ""\nmsgstr "Language: de\\nContent-Type: text/plain; charset=UTF-8\\n"\n\n'
    '#, fuzzy\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\nmsgstr[1] "d"\n\nmsgid "tree"\nmsgstr "Baum"\n',
}
CONTENT = {name: text.encode() for name, text in GOOD.items()}
CONTENT["a.tsv.gz"] = gzip.compress(CONTENT["a.tsv"])
CONTENT["a.tsv.xz"] = lzma.compress(CONTENT["a.tsv"])


@given(st.data())
def test_files(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(CONTENT)))
    content = data.draw(mutated(CONTENT[name]) | st.binary(max_size=100))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, name)
        file.write_bytes(content)
        for pair in survived(lambda: list(read_pairs([file]))) or ():
            assert all(text.encode("utf-8").decode("utf-8") == text for text in pair), "text, and nothing but text"
        survived(lambda: list(read_lines(file)))


@given(mutated(b"one\ntwo\nthree\n"), mutated("eins\nzwei\ndrei ü\n".encode()))
def test_two_plain_files(left: bytes, right: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, "a.en"), Path(folder, "a.de")]
        for file, content in zip(files, (left, right)):
            file.write_bytes(content)
        survived(lambda: list(read_pairs(files)))


@given(mutated(CONTENT["a.jsonl"] * 20))
def test_a_training_that_is_refused_leaves_nothing(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, "a.jsonl"), Path(folder, "run")
        file.write_bytes(content)
        found = survived(lambda: begin(tiny_plan(vocabulary=264), read_pairs([file]), read_pairs([file]), out))
        assert found is not None or not out.exists() or not any(out.iterdir())


def report(tmp_path: Path, xml: str) -> str:
    (tmp_path / "a.tmx").write_text(xml)
    with pytest.raises(WeftError) as caught:
        list(read_pairs([tmp_path / "a.tmx"]))
    return str(caught.value)


def test_xml_bombs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    laughs = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><tmx><body><tu>&b;</tu></body></tmx>'
    assert "XML with entity definitions" in report(tmp_path, laughs)
    outside = f'<!DOCTYPE x [<!ENTITY a SYSTEM "file://{tmp_path}/secret">]><tmx><body><tu>&a;</tu></body></tmx>'
    assert "XML with entity definitions" in report(tmp_path, outside)
    assert "nested more than 100 levels deep" in report(tmp_path, "<tmx><body><tu>" + "<seg>" * 100_000)
