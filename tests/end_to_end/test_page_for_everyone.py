"""The page by the rules of WCAG 2.2 AA, as far as axe can see: every view of every task, in both schemes."""

from pathlib import Path

import pytest

import weft
from tests.end_to_end.pages import browser, served, watched

from playwright.sync_api import Browser  # isort: skip

__all__ = ["browser"]
AXE = Path(__file__).parents[1] / "page" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
MODES = ("lines", "arcs", "matrix", "grid")
LOOKS = [f"look?at=encoder.3.mix&mode={mode}{more}" for mode in MODES for more in ("", "&q=3&k=2")]
FUTURES = "futures=[[-1,0,%22%22,0.8,0,1,30,1],[0,9,%22x%22,0.8,0,1,20,1]]"
VIEWS = {  # with and without a selection, and with two panes; the text is added
    "en-de": [*LOOKS, "run?", "compute?q=2", "decide?", "change?off=cross.2.2", "model?", "look?b.text=Yes."],
    "shakespeare": [
        *(look.replace("encoder.3.mix", "decoder.2.mix") for look in LOOKS),
        *("run?", f"run?{FUTURES}", "compute?q=2", "decide?", "decide?q=2", "surprise?", "surprise?q=4"),
        *("change?off=decoder.2.2", "model?", "run?b.text=JULIET:", "look?b.text=JULIET:"),
    ],
}
TEXTS = {"en-de": "The cat is sleeping on the sofa.", "shakespeare": "O Romeo, Romeo! wherefore art thou"}


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not there: make lint-page")
@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
@pytest.mark.parametrize("name", VIEWS)
def test_everyone_can_use_it(browser: Browser, name: str, scheme: str, width: int) -> None:
    text = TEXTS[name].replace(" ", "+")
    with served(weft.load(name)) as address:
        for page in watched(browser, address, viewport={"width": width, "height": 844}, color_scheme=scheme):
            for view in VIEWS[name]:
                page.goto("about:blank")
                page.goto(f"{address}#/{view}&text={text}")
                page.locator("main .frame").first.wait_for()
                page.locator("[aria-busy=true]").first.wait_for(state="detached")
                page.wait_for_timeout(300)
                page.evaluate(AXE.read_text(encoding="utf-8"))
                found = page.evaluate(f"axe.run(document, {{runOnly: {RULES}}})")
                wrong = [(one["id"], one["nodes"][0]["html"][:200]) for one in found["violations"]]
                assert not wrong, view
