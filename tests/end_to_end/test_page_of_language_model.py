"""The page of a language model in a real browser: it continues texts, and the other views are those of any model."""

from collections.abc import Iterator

import pytest

import weft
from tests.end_to_end.test_page import browser, number, served, watched
from tests.lm import toy_generator
from weft.decoding.sampling import Sampling
from weft.tasks.generator import Generator

from playwright.sync_api import Browser, Page, expect  # isort: skip

__all__ = ["browser"]
TEXT = "The red cat"
VIEWS = {
    "generate": ".pane",
    "attention": ".lines li",
    "head": ".steps tbody tr",
    "off": ".switch",
    "model": ".masks canvas",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    generator: Generator = weft.load(str(toy_generator(tmp_path_factory.mktemp("lm") / "toy").path))
    return generator


@pytest.fixture(scope="module")
def address(model: Generator) -> Iterator[str]:
    with served(model) as address:
        yield address


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    yield from watched(browser, address)


def test_a_text_is_continued(page: Page, address: str, model: Generator) -> None:
    page.goto(address)
    page.get_by_label("Text to continue").fill(TEXT)
    page.get_by_label("Temperature").fill("0")
    page.get_by_label("Tokens").fill("30")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("status")).to_contain_text("30 tokens")
    expect(page.get_by_role("button", name="Again")).to_be_visible()
    [[own]] = model.complete([TEXT], Sampling(0.0), max_tokens=30)
    assert page.locator(".output").text_content() == TEXT + own.text
    assert "temperature=0&tokens=30" in page.url, "a link continues in the same way"
    page.get_by_role("button", name="Use as text").click()
    expect(page.get_by_label("Text to continue")).to_be_focused()
    assert page.get_by_label("Text to continue").input_value().startswith(TEXT)


def test_a_token_shows_what_else_might_have_been_written(page: Page, address: str, model: Generator) -> None:
    page.goto(f"{address}#generate?text={TEXT}&temperature=0&tokens=8")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("button", name="Again")).to_be_visible()
    page.locator(".continued .word").first.focus()
    likeliest = page.locator(".shares li")
    expect(likeliest).to_have_count(5)
    own = model.log_probs(model.prompt(TEXT))[-1].topk(5).values.exp().tolist()
    shown = [number(one) for one in likeliest.locator(".number").all_inner_texts()]
    assert shown == pytest.approx(own, abs=0.51e-4)
    expect(likeliest.first).to_have_class("chosen")


def test_writing_can_be_stopped(page: Page, address: str) -> None:
    page.goto(f"{address}#generate?text={TEXT}&tokens=4000")
    page.get_by_role("button", name="Continue").click()
    expect(page.locator(".continued .word").nth(5)).to_be_attached()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("status")).to_have_text("Stopped.")
    count = page.locator(".continued .word").count()
    page.get_by_role("button", name="Again").wait_for()
    assert page.locator(".continued .word").count() == count < 4000


def test_a_text_that_is_too_long_is_told(browser: Browser, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()  # the console tells of the answer 400
    page.goto(f"{address}#generate?text={TEXT * 30}")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("alert")).to_contain_text("this model sees 48 at once")
    context.close()


@pytest.mark.parametrize("width", [375, 1280])
def test_every_view_fits_and_nothing_speaks_of_translation(browser: Browser, address: str, width: int) -> None:
    for page in watched(browser, address, viewport={"width": width, "height": 800}):
        for view, there in VIEWS.items():
            page.goto(f"{address}#{view}?text={TEXT}")
            page.locator(there).first.wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view
            shown = page.locator("main").inner_text()
            assert not {"Sentence", "Translation", "Encoder", "undefined", "null"} & {*shown.split()}, view
        assert page.locator(".masks canvas").count() == 1
        assert page.locator(".stack").count() == 1


def test_a_head_can_be_switched_off(page: Page, address: str, model: Generator) -> None:
    page.goto(f"{address}#off?text={TEXT}")
    page.get_by_label("Self-attention layer 1 head 2").click()
    expect(page.locator(".line")).to_have_count(3)
    expect(page.locator(".line").nth(2)).to_contain_text("Original continuation")
    assert number(page.locator(".line .score").first.inner_text()) == pytest.approx(
        model.attention(TEXT).score, abs=1e-4
    )
