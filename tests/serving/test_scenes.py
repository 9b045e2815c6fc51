"""The scenes of a lecture are the links of its file that lead to the page."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from weft.errors import WeftError
from weft.serving.app import create_app
from weft.serving.scenes import scenes_of
from weft.serving.service import Scene
from weft.tasks.translator import Translator

LECTURE = """\
# What is attention?

Look at [*it*](#/look?text=It%20is&query=3 "a title"): it is **too** `tired`,
or [wide](http://127.0.0.1:8080/#/look?text=wide(r)). See [the paper](https://arxiv.org/abs/1706.03762).
- First, [compute](<#/compute?head=2>) one_two.
- Then nothing.

```sh
[not a scene](#/run)
```

**[wide](#/look?text=wide)**
The street is.

## The [end](#/model)
"""


def test_scenes_have_title_caption_and_address(tmp_path: Path) -> None:
    file = tmp_path / "lecture.md"
    file.write_text(LECTURE, encoding="utf-8")
    caption = "Look at it: it is too tired, or wide. See the paper."
    assert scenes_of(file) == [
        Scene("it", caption, "#/look?text=It%20is&query=3"),
        Scene("wide", caption, "#/look?text=wide(r)"),
        Scene("compute", "First, compute one_two.", "#/compute?head=2"),
        Scene("wide", "The street is.", "#/look?text=wide"),
        Scene("end", "The end", "#/model"),
    ]


def test_the_page_is_told_of_them(toy: Translator, tmp_path: Path) -> None:
    scenes = [Scene("a", "b", "#/run")]
    with TestClient(create_app(toy, scenes=scenes)) as client:
        assert client.get("/api/model").json()["scenes"] == [{"title": "a", "caption": "b", "address": "#/run"}]


def test_a_file_without_scenes_is_named(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"none\.md does not exist"):
        scenes_of(tmp_path / "none.md")
    (tmp_path / "plain.md").write_text("[a](https://example.org) and [b](#section)", encoding="utf-8")
    with pytest.raises(WeftError, match=r"plain\.md has no scenes: links such as"):
        scenes_of(tmp_path / "plain.md")
    (tmp_path / "binary.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WeftError, match=r"binary\.md cannot be read"):
        scenes_of(tmp_path / "binary.md")
