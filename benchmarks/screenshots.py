"""The docs' pictures of the page, taken again: python -m benchmarks.screenshots http://127.0.0.1:8080/ docs/pictures

It needs chromium, and a served model: weft serve en-de. All heads at once are drawn by weft attend --grid.
"""

import json
import shutil
import sys
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import FloatRect, Page, sync_playwright

import weft

WIDTH, MARGIN = 1100, 12  # pixels of the page
TIRED = "The animal didn't cross the street because it was too tired."
OFF = json.dumps([{"kind": "encoder", "layer": layer, "head": head} for layer, head in ((2, 1), (2, 3), (3, 1))])
# name: view, settings, what to wait for, what to point at or click, what to picture (None: the page)
PICTURES: dict[str, tuple[str, dict[str, str], str, str, str | None]] = {
    "translate": ("translate", {}, ".alternatives li", ".output .word >> nth=10", None),
    "lines": ("attention", {}, ".lines li", ".queries li >> nth=9", None),
    "dark": ("attention", {}, ".lines li", "", None),
    "it": ("attention", {"kind": "encoder", "layer": "3", "heads": "[2,3]"}, ".lines li", ".queries li >> nth=8", None),
    "matrix": ("attention", {"mode": "matrix", "layer": "2", "heads": "[2]"}, ".matrix canvas", "", None),
    "numbers": ("head", {"layer": "2", "head": "2", "token": "11"}, ".steps td", "", ".steps"),
    "search": ("search", {}, ".forest .node", "", None),
    "off": ("off", {"off": OFF}, ".line em", "text=Which heads matter here?", None),
    "diagram": ("model", {}, ".masks canvas", "", ".diagram"),
    "positions": ("model", {}, ".masks canvas", "", "section:has(.positions)"),
    "masks": ("model", {}, ".masks canvas", "", "section:has(.masks)"),
}


def main(address: str, out: Path) -> None:
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        for name, (view, settings, awaited, pointed, pictured) in PICTURES.items():
            scheme = "dark" if name == "dark" else "light"
            page = browser.new_page(
                viewport={"width": WIDTH, "height": 800}, color_scheme=scheme, device_scale_factor=2
            )
            page.goto(f"{address}#{view}?{urlencode({'text': TIRED, **settings})}")
            page.locator(awaited).first.wait_for()
            if pointed.startswith("text="):
                page.click(pointed)
                page.locator(".weighed").wait_for()
            elif pointed:
                page.hover(pointed)
            page.wait_for_timeout(2000)
            page.screenshot(path=out / f"{name}.png", full_page=True, clip=around(page, pictured))
            page.close()
        browser.close()
    seen = weft.load("en-de").attention(TIRED)
    seen.save_grid(out / "heads.png", kind="encoder")
    seen.save_grid(out / "cross.png", kind="cross")
    for name in (*PICTURES, "heads", "cross"):
        picture = Image.open(out / f"{name}.png").convert("RGB")
        picture.quantize(256, kmeans=4, dither=Image.Dither.NONE).save(out / f"{name}.png", optimize=True)


def around(page: Page, pictured: str | None) -> FloatRect:
    """Where the picture is cut out: around a part of the page, or from its top to where its view ends."""
    box = page.locator(pictured or "main > :last-child").bounding_box()
    assert box
    left, top = (box["x"] - MARGIN, box["y"] - MARGIN) if pictured else (0, 0)
    right = box["x"] + box["width"] + MARGIN if pictured else WIDTH
    return {"x": left, "y": top, "width": right - left, "height": box["y"] + box["height"] + MARGIN - top}


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
