"""What the tests of the page share: Debian's Chromium, driven by Playwright, and a server of our own."""

import os
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote_plus

import pytest

from weft.errors import install
from weft.tasks.predictor import Predictor

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if os.environ.get("WEFT_REQUIRE_BROWSER") != "1":
    if not CHROMIUM:
        pytest.skip("no chromium on this machine: apt-get install chromium", allow_module_level=True)
    if not find_spec("playwright"):
        pytest.skip(f"no playwright: {install('test')}", allow_module_level=True)

from playwright.sync_api import Browser, Page, expect, sync_playwright  # noqa: E402

TEXT = "The cat is sleeping on the sofa."
READY = {  # what a view shows when its answer has come
    "look": "w-figure :is(.lines li, .arcs li, .matrix rect, .matrix canvas, .grid canvas)",
    "model": ".block",
    "run": ".output .token",
    "compute": ".numbers tbody tr",
    "decide": ".candidate",
    "change": ".changing tbody tr",
}


@contextmanager
def served(model: Predictor, **options: Any) -> Iterator[str]:
    """A server of our own, in a thread."""
    import uvicorn

    from weft.serving.app import create_app

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(create_app(model, **options), log_level="warning"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture(name="page")
def fresh_page(browser: Browser, address: str) -> Iterator[Page]:
    yield from watched(browser, address)


def watched(browser: Browser, address: str, **options: object) -> Iterator[Page]:
    """A fresh profile at 1280 × 800. Whatever the console says is an error, and so is another host."""
    said: list[str] = []
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})  # type: ignore[arg-type]
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    own = (address, "data:", "file:", "blob:", "about:")
    page.on("request", lambda request: request.url.startswith(own) or said.append(request.url))
    yield page
    context.close()
    assert said == []


def open_view(page: Page, address: str, view: str, text: str = TEXT, more: str = "") -> None:
    page.goto("about:blank")
    page.goto(f"{address}#/{view}?text={quote_plus(text)}{more}")
    page.locator(READY.get(view, "main .frame")).first.wait_for()


def number(text: str | None) -> float:
    return float(str(text).replace("−", "-"))
