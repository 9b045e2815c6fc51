"""Each scene of docs/lectures opens a view that exists, at a site, token and head that the model has."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from fastapi.testclient import TestClient

import weft
from weft.serving.app import create_app
from weft.serving.scenes import scenes_of

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "weft" / "serving" / "static"
LECTURES = sorted((ROOT / "docs" / "lectures").glob("*.md"))
SELECTED = {"at", "q", "k", "t", "b", "off", "replace", "force"}


def views() -> Iterator[tuple[str, list[str]]]:
    """The name of each view of the page, and what it needs."""
    listed = re.search(r"export const VIEWS = \[(.*?)\]", (STATIC / "views" / "index.js").read_text(), re.DOTALL)
    assert listed
    sources = "\n".join(file.read_text(encoding="utf-8") for file in (STATIC / "views").glob("*.js"))
    for view in listed[1].split(","):
        found = re.search(rf'export const {view.strip()} = {{\s*name: "(\w+)",.*?needs: \[(.*?)\]', sources, re.DOTALL)
        assert found, view
        yield found[1], re.findall(r'"(\w+)"', found[2])


def keys() -> set[str]:
    """What an address may set: all that has a first value somewhere."""
    files = [*STATIC.rglob("*.js"), ROOT / "weft" / "viewing" / "drawing" / "look.js"]
    return SELECTED.union(*(re.findall(r"(\w+): \{ first:", file.read_text(encoding="utf-8")) for file in files))


def heads(value: str) -> list[dict[str, Any]]:
    parts = [one.split(".") for one in value.split(",") if one]
    return [{"kind": kind, "layer": int(layer), "head": int(head)} for kind, layer, head in parts]


def request(state: dict[str, str]) -> dict[str, Any]:
    """What the page asks the service in this state."""
    changed: dict[str, dict[str, str]] = {key: {} for key in ("replace", "force")}
    for name, value in state.items():
        key, _, index = name.partition(".")
        if key in changed:
            changed[key][index] = value
    return {"text": state["text"], "off": heads(state.get("off", "")), **changed}


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda lecture: lecture.stem)
def test_every_scene_opens(lecture: Path) -> None:
    (name,) = re.findall(r"`weft serve ([\w-]+) --scenes docs/lectures/" + lecture.name, lecture.read_text("utf-8"))
    with TestClient(create_app(weft.load(name))) as ask:
        opens(name, ask, lecture)


def opens(name: str, ask: TestClient, lecture: Path) -> None:
    """Each scene of the lecture shows what it says, as the service answers for this model."""
    model = ask.get("/api/model").json()
    can = {view for view, needs in views() if {*needs} <= {*model["traces"]}}
    sites = {site["id"]: site for site in model["sites"] if site["what"] == "attention"}
    scenes = scenes_of(lecture)
    assert len({scene.title for scene in scenes}) == len(scenes) >= 2
    for scene in scenes:
        view, _, query = scene.address.removeprefix("#/").partition("?")
        state = dict(parse_qsl(query, keep_blank_values=True))
        first = {key: value for key, value in state.items() if not key.startswith("b.")}
        second = {**first, **{key.removeprefix("b."): value for key, value in state.items() if key.startswith("b.")}}
        assert view in can, f"{scene.title}: {name} has no view {view}, only {sorted(can)}"
        unknown = {key.split(".")[0] for key in second} - keys()
        assert not unknown, f"{scene.title}: the page does not know {unknown}"
        for pane in (first, second) if "b" in state else (first,):
            answer = ask.post("/api/run", json=request(pane))
            assert answer.status_code == 200, f"{scene.title}: {answer.json()}"
            written = answer.json()["target"]
            assert all(written[int(key[6:])] == pane[key] for key in pane if key.startswith("force.")), scene.title
            if "at" not in pane:
                continue
            place, _, unit = pane["at"].partition(":")
            assert place in sites, f"{scene.title}: {name} has no attention at {place}, only at {sorted(sites)}"
            units = [int(unit)] if unit else re.findall(r"\d+", pane.get("heads", ""))
            assert all(1 <= int(one) <= sites[place]["units"] for one in units), scene.title
            field = {key: sites[place][key] for key in ("kind", "layer")}
            seen = ask.post("/api/attention", json={**request(pane), **field}).json()
            assert int(pane.get("q", 0)) < len(seen["queries"]), scene.title
            assert int(pane.get("k", 0)) < len(seen["keys"]), scene.title
