"""The docs' pictures of the page, taken again: python -m benchmarks.screenshots docs/pictures

It serves the shipped models itself and needs chromium. All heads at once are drawn by weft attend --grid.
"""

import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from PIL import Image, ImageChops
from playwright.sync_api import Browser, FloatRect, Page, sync_playwright

import weft
from weft.serving.app import create_app

MARGIN = 12  # pixels of the page around a part of it
TIRED = "text=The+animal+didn't+cross+the+street+because+it+was+too+tired."
WIDE = "b=1&b.text=The+animal+didn't+cross+the+street+because+it+was+too+wide."
QUESTION = "text=To+be,+or+not+to+be,+that+is+the+question"
ROME = "text=What+says+the+{}+to+the+people+of+Rome%3F"
FUTURES = "futures=[[-1,0,%22%22,0.8,0,1,60,1],[0,14,%22k%22,0.8,0,1,40,1],[-1,0,%22%22,0.8,0,1,40,2]]&t=14"
# of each model: name: address, height of the window, what to point at or which key to press, what to cut out (else all)
Shot = tuple[str, int, str, str]
PICTURES: dict[str, dict[str, Shot]] = {
    "en-de": {
        "translate": (f"run?{TIRED}", 560, ".output .token >> nth=11", ""),
        "lines": (f"look?{TIRED}&at=decoder.3.cross&q=9", 800, "", ""),
        "dark": (f"look?{TIRED}&at=encoder.2.mix", 800, "key f", ""),
        "it": (f"look?{TIRED}&at=encoder.3.mix&q=8&heads=[2,3]", 800, "", ""),
        "difference": (f"look?{TIRED}&at=encoder.3.mix&q=8&heads=[2,3]&{WIDE}", 800, "", ""),
        "matrix": (f"look?{TIRED}&at=decoder.2.cross:2&mode=matrix", 800, "", ""),
        "numbers": (f"compute?{TIRED}&at=decoder.2.cross:2&q=11", 800, "", ""),
        "search": (f"decide?{TIRED}", 800, "", ""),
        "off": (f"change?{TIRED}&off=cross.2.2", 700, "", ""),
        "diagram": (f"model?{TIRED}", 1000, "", "w-diagram"),
        "positions": (f"model?{TIRED}&part=positions", 1200, "", "w-figure:has(.positions)"),
        "masks": (f"model?{TIRED}&part=masks", 1600, "", ".masks"),
    },
    "shakespeare": {
        "lens": ("decide?text=Now+is+the+winter+of+our+disconten", 800, "", ""),
        "arcs": (f"look?{QUESTION}&at=decoder.1.mix:4&mode=arcs", 640, "", ""),
        "surprise": (f"surprise?{ROME.format('king')}&b=1&b.{ROME.format('computer')}", 500, "", ""),
        "futures": (f"run?text=ROMEO:+I&{FUTURES}", 640, "", ""),
    },
}


def main(out: Path) -> None:
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        for model, pictures in PICTURES.items():
            with served(model) as address:
                for name, shot in pictures.items():
                    take(browser, address, shot, out / f"{name}.png")
        browser.close()
    seen = weft.load("en-de").attention(TIRED.removeprefix("text=").replace("+", " "))
    seen.save_grid(out / "heads.png", kind="encoder")
    seen.save_grid(out / "cross.png", kind="cross")
    for name in ("heads", "cross", *(name for pictures in PICTURES.values() for name in pictures)):
        picture = trimmed(Image.open(out / f"{name}.png").convert("RGB"))
        picture.quantize(256, kmeans=4, dither=Image.Dither.NONE).save(out / f"{name}.png", optimize=True)


@contextmanager
def served(name: str) -> Iterator[str]:
    """A server of this model, in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(create_app(weft.load(name)), log_level="warning"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        server.should_exit = True
        thread.join()


def take(browser: Browser, address: str, shot: Shot, file: Path) -> None:
    hash_, height, act, pictured = shot
    page = browser.new_page(
        viewport={"width": 1280, "height": height},
        color_scheme="dark" if file.stem == "dark" else "light",
        device_scale_factor=2,
        reduced_motion="reduce",
    )
    page.goto(f"{address}#/{hash_}")
    page.locator("main .frame").first.wait_for()
    page.wait_for_timeout(1000)
    page.wait_for_function("!document.querySelector('[aria-busy=true]')")
    if act.startswith("key "):
        page.keyboard.press(act.removeprefix("key "))
    elif act:
        page.hover(act)
    page.wait_for_timeout(3000)
    if pictured:
        page.locator(pictured).first.scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        page.screenshot(path=file, clip=around(page, pictured))
    else:
        page.screenshot(path=file)
    page.close()


def around(page: Page, pictured: str) -> FloatRect:
    """Where a part of the page is cut out."""
    box = page.locator(pictured).first.bounding_box()
    assert box
    left, top = max(0, box["x"] - MARGIN), max(0, box["y"] - MARGIN)
    return {"x": left, "y": top, "width": box["width"] + 2 * MARGIN, "height": box["height"] + 2 * MARGIN}


def trimmed(picture: Image.Image) -> Image.Image:
    """The picture without the empty columns at its right and left, but for the margin."""
    paper = Image.new("RGB", picture.size, picture.getpixel((0, 0)))  # type: ignore[arg-type]
    left, _, right, _ = ImageChops.difference(picture, paper).getbbox() or (0, 0, *picture.size)
    return picture.crop((max(0, left - 2 * MARGIN), 0, min(picture.width, right + 2 * MARGIN), picture.height))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
