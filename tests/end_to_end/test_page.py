"""The page in a real browser: Debian's Chromium, driven by Playwright. What it shows is what Python computes."""

import os
import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

import weft
from tests.checking.test_checks import model_folder
from tests.contracts.tiny import tiny_plan
from weft.errors import install
from weft.viewing.attention_heads import KINDS, Head
from weft.viewing.attention_maps import AttentionMaps

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if os.environ.get("WEFT_REQUIRE_BROWSER") != "1":
    if not CHROMIUM:
        pytest.skip("no chromium on this machine: apt-get install chromium", allow_module_level=True)
    if not find_spec("playwright"):
        pytest.skip(f"no playwright: {install('test')}", allow_module_level=True)

from playwright.sync_api import Browser, Page, Route, expect, sync_playwright  # noqa: E402

TEXT = "The cat is sleeping on the sofa."
VIEWS = {
    "translate": ".output .word",
    "attention": ".lines li",
    "head": ".steps tbody tr",
    "search": ".forest .node",
    "off": ".switch",
    "model": ".masks canvas",
}


@pytest.fixture(scope="module")
def model() -> weft.Translator:
    return weft.load("en-de")


@pytest.fixture(scope="module")
def seen(model: weft.Translator) -> AttentionMaps:
    return model.attention(TEXT)


@pytest.fixture(scope="module")
def address(model: weft.Translator) -> Iterator[str]:
    with served(model) as address:
        yield address


@contextmanager
def served(model: weft.Translator) -> Iterator[str]:
    """A server of our own, in a thread."""
    import uvicorn

    from weft.serving.app import create_app

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(create_app(model), log_level="warning"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
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


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A fresh profile at 1280 × 800. Whatever the console says is an error, and so is another host."""
    yield from watched(browser, address)


def watched(browser: Browser, address: str, **options: object) -> Iterator[Page]:
    said: list[str] = []
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})  # type: ignore[arg-type]
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: request.url.startswith((address, "data:", "file:")) or said.append(request.url))
    yield page
    context.close()
    assert said == []


def open_view(page: Page, address: str, view: str, text: str = TEXT, more: str = "") -> None:
    page.goto(f"{address}#{view}?text={text.replace(' ', '+')}{more}")
    page.locator(VIEWS[view]).first.wait_for()


def number(text: str | None) -> float:
    return float(str(text).replace("−", "-"))


def test_type_and_translate(page: Page, address: str, model: weft.Translator) -> None:
    page.goto(address)
    page.get_by_label("Text in English").fill("I am tired. We are eating bread.")
    expected = model.translate(["I am tired. We are eating bread."], split=True)[0]
    expect(page.locator(".output")).to_have_text(expected)
    assert page.locator(".alternatives li").count() >= 2
    page.locator(".output .word").nth(2).hover()
    lit = page.locator(".mirror mark")
    expect(lit).to_have_count(3)
    weights = [float(style.split(":")[1]) for style in lit.evaluate_all("m => m.map(e => e.getAttribute('style'))")]
    assert lit.nth(weights.index(1.0)).inner_text() == "tired.", "müde was made from it"


def test_words_with_multibyte_characters_are_highlighted(page: Page, address: str) -> None:
    open_view(page, address, "translate", "Zoë likes 🍵 tea – a lot.")
    page.locator(".output .word").first.hover()
    expect(page.locator(".mirror mark")).to_have_text(["Zoë", "likes", "🍵", "tea", "–", "a", "lot."])


def test_copy_is_offered_where_the_browser_allows_it(page: Page, address: str) -> None:
    open_view(page, address, "translate")
    expect(page.get_by_role("button", name="Copy")).to_be_visible()
    page.add_init_script("Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })")
    page.reload()
    page.locator(".output .word").first.wait_for()
    expect(page.get_by_role("button", name="Copy")).to_be_hidden()


def test_other_views_show_one_sentence(page: Page, address: str) -> None:
    """At the first, or at the one that is chosen in Translate, in the address or in the menu."""
    text = "I am tired. We are eating bread."
    number, sentence = page.get_by_label("number of the sentence"), page.locator(".origin q")
    open_view(page, address, "translate", text)
    for link, place, said in (("Search", "1", "I am tired."), ("Where it looks", "2", "We are eating bread.")):
        page.get_by_role("link", name=link).click()
        expect(page.get_by_label("Sentence", exact=True)).to_have_value(text)
        expect(number).to_have_value(place)
        expect(sentence).to_have_text(said)
        page.get_by_role("link", name="Translate").click()
        expect(page.get_by_label("Text in English")).to_have_value(text)
        page.locator(".alternatives a").first.wait_for()
    open_view(page, address, "attention", text, "&sentence=7")  # there is none: the last one
    expect(page.locator(".keys li").first).to_have_text("We")
    expect(number).to_have_value("2")
    number.focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator(".keys li").first).to_have_text("I")
    expect(number).to_have_value("1")
    expect(number).to_be_focused()
    page.get_by_label("Sentence", exact=True).fill(TEXT)
    expect(page.locator(".origin")).to_be_empty()


def test_languages_by_any_tag(page: Page, address: str) -> None:
    """What a file calls its languages need not be what a browser calls them."""

    def tagged(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), "languages": ["en_US", "txt1"]})

    page.route("**/api/model", tagged)
    open_view(page, address, "translate")
    expect(page.locator(".pane h2").first).to_have_text("American English")
    expect(page.get_by_label("Translation into txt1")).to_be_visible()


def test_attention_by_layer_and_head(page: Page, address: str, seen: AttentionMaps) -> None:
    open_view(page, address, "attention")
    assert page.locator(".queries li").all_inner_texts()[:3] == ["Die", "Katze", "schläft"]
    expect(page.get_by_label("Translation", exact=True)).to_have_attribute("placeholder", seen.translation)

    def share(query: int) -> tuple[str, float]:
        """What a query looks at most, and how much."""
        page.locator(".queries li").nth(query).hover()
        row = page.locator(".shares li").first
        found = row.locator("span").first.inner_text(), number(row.locator(".number").inner_text())
        page.mouse.move(5, 5)
        return found

    for layer in (3, 1):
        page.get_by_label("layer", exact=True).select_option(str(layer))
        expect(page.locator(".caption")).to_contain_text(f"Layer {layer}")
        token, weight = share(1)
        mean = seen.of("cross", layer)[1]
        assert weight == pytest.approx(float(mean.max()), abs=1e-4)
        assert token == seen.source[int(mean.argmax())].removeprefix("·")
    page.get_by_role("button", name="head 2").dblclick()
    expect(page.get_by_role("button", name="head 1")).to_have_attribute("aria-pressed", "false")
    assert share(2)[1] == pytest.approx(float(seen.of("cross", 1, 2)[2].max()), abs=1e-4)
    page.get_by_role("radio", name="Encoder", exact=True).check()
    expect(page.locator(".queries li").first).to_have_text("The")


def test_the_matrix_shows_each_number(page: Page, address: str, seen: AttentionMaps) -> None:
    open_view(page, address, "attention")
    page.get_by_role("radio", name="Matrix").check()
    matrix = page.locator(".matrix canvas")
    matrix.focus()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".caption")).to_have_text("schläft attends to")
    chosen = page.locator(".shares li.chosen")
    assert chosen.locator("span").first.inner_text() == "cat"
    assert number(chosen.locator(".number").inner_text()) == pytest.approx(float(seen.of("cross", 3)[2, 1]), abs=1e-4)
    page.get_by_role("radio", name="Overview").check()
    expect(page.locator(".overview button")).to_have_count(12)
    page.get_by_role("button", name="layer 2, head 4").click()
    expect(page.locator(".caption")).to_contain_text("Layer 2, head 4")


def test_a_given_translation(page: Page, address: str) -> None:
    open_view(page, address, "attention")
    page.get_by_label("Translation", exact=True).fill("Die Katze schläft.")
    expect(page.locator(".queries li")).to_have_text(["Die", "Katze", "schläft", ".", "(end)"])


def test_examples_fill_the_sentence(page: Page, address: str) -> None:
    open_view(page, address, "attention")
    page.get_by_role("button", name="… too wide").click()
    expect(page.locator(".keys li").nth(12)).to_have_text("-ide")


def test_one_head_by_the_numbers(page: Page, address: str, seen: AttentionMaps) -> None:
    open_view(page, address, "head", more="&layer=2&head=3&token=2")
    numbers = seen.numbers("cross", 2, 3, 2)
    expect(page.locator(".steps tbody tr")).to_have_count(len(seen.source))
    for css, expected in ((".score", numbers.scores), (".scaled", numbers.scaled), (".weight", numbers.weights)):
        shown = [number(text) for text in page.locator(f".steps td{css}").all_inner_texts()]
        torch.testing.assert_close(torch.tensor(shown), expected, atol=6e-3, rtol=1e-3)
    page.get_by_role("radio", name="Katze").click()
    expect(page.locator(".query-row").first).to_contain_text("query of Katze")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".query-row").first).to_contain_text("query of schläft")


def test_the_search_tree_and_its_winner(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "search")
    tree = model.search_tree(TEXT)
    expect(page.locator(".forest .node")).to_have_count(sum(map(len, tree.steps)))
    expect(page.locator(".ended tr.winning td").first).to_have_text(tree.ended[0].text)
    assert number(page.locator(".ended tr.winning td").last.inner_text()) == pytest.approx(
        tree.ended[0].score, abs=1e-4
    )
    page.get_by_label("step").fill("2")
    expect(page.locator(".forest .node")).to_have_count(sum(map(len, tree.steps[:2])))
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".forest .node")).to_have_count(sum(map(len, tree.steps)))
    page.get_by_label("length penalty α").fill("0")
    likeliest = max(tree.ended, key=lambda one: one.log_prob)
    expect(page.locator(".ended tr.winning td").first).to_have_text(likeliest.text)


def test_search_controls_are_disabled_before_the_tree(page: Page, address: str) -> None:
    held: list[Route] = []
    page.route("**/api/search", lambda route: held.append(route))
    with page.expect_request("**/api/search"):
        page.goto(f"{address}#search")
    sliders = [page.get_by_label("step"), page.get_by_label("length penalty α")]
    controls = [page.get_by_role("button", name="Play"), *sliders]
    for control in controls:
        expect(control).to_be_disabled()
    page.wait_for_timeout(50)
    held[0].continue_()
    for control in controls:
        expect(control).to_be_enabled()


def test_invalid_addresses_fall_back_to_defaults(page: Page, address: str) -> None:
    """What it cannot mean has its default."""
    open_view(page, address, "search", more="&alpha=null&beam=[]")
    expect(page.get_by_label("length penalty α")).to_have_value("1")
    for off in ("3", "null", '[{"kind":"toString","layer":1,"head":1}]'):
        page.goto(address)
        open_view(page, address, "off", more=f"&off={off}")
        expect(page.locator(".line").first).to_contain_text("With all heads")
    open_view(page, address, "attention", more="&kind=constructor&layer=x&heads=7&mean=1&mode=[")
    expect(page.locator(".caption")).to_contain_text("Layer 3")
    page.goto(f"{address}#attention?text=Yes.&mode=matrix&heads=[9]")
    expect(page.locator(".caption")).to_contain_text("mean of heads 1, 2, 3, 4")


def test_search_controls_show_the_values_in_use(page: Page, address: str, model: weft.Translator) -> None:
    """A beam that the menu has not is added to it; α is where the slider can stand."""
    open_view(page, address, "search", more="&beam=7&alpha=0.55")
    expect(page.get_by_label("beam")).to_have_value("7")
    tree = model.search_tree(TEXT, beam=7)
    expect(page.locator(".forest .node")).to_have_count(sum(map(len, tree.steps)))
    expect(page.get_by_label("length penalty α")).to_have_value("0.6")
    score = max(one.log_prob / one.length**0.6 for one in tree.ended)
    assert number(page.locator(".ended tr.winning td").last.inner_text()) == pytest.approx(score, abs=1e-4)


def test_an_address_restores_the_view_in_an_open_page(page: Page, address: str) -> None:
    open_view(page, address, "attention", more="&layer=1&heads=[2]")
    page.get_by_role("radio", name="Matrix").check()
    page.get_by_role("link", name="Search").click()
    page.locator(".forest .node").first.wait_for()
    page.get_by_role("link", name="Attention").click()
    expect(page.locator(".caption")).to_contain_text("Layer 1, head 2. Each row")
    page.goto(f"{address}#attention?text=The+cat+sleeps.")
    expect(page.locator(".caption")).to_contain_text("Layer 3, one colour per head")
    expect(page.get_by_label("Sentence", exact=True)).to_have_value("The cat sleeps.")
    page.go_back()
    expect(page.locator(".caption")).to_contain_text("Layer 1, head 2. Each row")


def test_ablate_heads(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "off")
    heads = [Head("cross", layer, head) for layer in (2, 3) for head in (1, 2, 3, 4)]
    for layer in (2, 3):
        page.get_by_role("button", name=f"Encoder–decoder layer {layer}", exact=True).press("Enter")
    expect(page.get_by_role("button", name="Encoder–decoder layer 3", exact=True)).to_be_focused()
    without = model.attention(TEXT, off=heads)
    expect(page.locator(".line").nth(1)).to_contain_text("Without 8 heads")
    expect(page.locator(".line .text").nth(1)).to_have_text(without.translation)
    assert number(page.locator(".line .score").nth(1).inner_text()) == pytest.approx(without.score, abs=1e-4)
    first = page.get_by_label("Encoder–decoder layer 2 head 1")
    expect(first).to_have_attribute("aria-pressed", "false")
    page.get_by_role("link", name="Attention").click()
    page.locator(".lines li").first.wait_for()
    assert "off=" not in page.url, "all heads are on here, and the address says nothing else"
    page.get_by_role("link", name="Ablate heads").click()
    expect(first).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="All on").click()
    expect(first).to_have_attribute("aria-pressed", "true")


def test_importance_of_heads_is_reset_with_the_sentence(page: Page, address: str, model: weft.Translator) -> None:
    held: list[Route] = []
    page.route("**/api/importance", lambda route: held.append(route))
    open_view(page, address, "off")
    weigh, legend = page.get_by_role("button", name="Which heads matter here?"), page.get_by_text("The darker")
    with page.expect_request("**/api/importance"):
        weigh.click()
    page.get_by_role("button", name="Bread").click()
    expect(page.locator(".line .text").first).to_have_text(model.attention("We are eating bread.").translation)
    page.wait_for_timeout(50)
    held[0].fulfill(json={"falls": {kind: [[0.1] * 4] * 3 for kind in KINDS}})
    page.wait_for_timeout(200)
    expect(page.locator(".weighed")).to_have_count(0)
    page.unroute("**/api/importance")
    weigh.click()
    expect(legend).to_be_visible()
    expect(page.locator(".weighed")).to_have_count(1)
    page.get_by_role("button", name="Dinosaur").click()
    expect(legend).to_have_count(0)
    expect(page.locator(".weighed")).to_have_count(0)


def test_the_model_and_its_parameters(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "model")
    millions = sum(p.numel() for p in model.models[0].parameters()) / 1e6
    expect(page.locator(".facts")).to_contain_text(f"{millions:.1f} M")
    assert page.locator(".masks figure").count() == 3
    told, canvas = page.locator(".positions-place + .caption"), page.locator(".positions")
    expect(told).to_contain_text("dimensions 0 to 255")
    expect(page.locator(".scale")).to_have_text("−1.001.00")
    size = canvas.bounding_box()
    assert size
    canvas.hover(position={"x": size["width"] - 1, "y": 2})
    expect(told).to_have_text("position 0, dimension 255: 1.000")  # cos 0
    canvas.hover(position={"x": 2, "y": 2})  # beside the map, where its axis is
    expect(told).to_contain_text("dimensions 0 to 255")
    assert page.locator(".stack.decoder .times").inner_text() == "3 ×"


# The decoder's blocks with what is told of them, as they compute; how many arrows there are; how a key is scored.
FAMILIES: dict[str, tuple[dict[str, str], int, str | None]] = {
    "seq2seq-rnn": ({"first state": "where the encoder's ended", "LSTM": ""}, 6, None),
    "bahdanau": (
        {
            "first state": "tanh(W h₁)",
            "encoder-decoder attention": "v · tanh(W s + U h)",
            "GRU": "over [x; c]",
            "readout": "maxout of U s + V x + C c",
        },
        5,
        "v · tanh(W s + U h)",
    ),
    "luong": (
        {
            "first state": "where the encoder's ended",
            "LSTM": "over [x; h̃]",
            "encoder-decoder attention": "s · W h",
            "h̃, fed into the next step": "tanh(W [c; s])",
        },
        8,
        "q · k = s · W h",
    ),
    "convs2s": (
        {"convolution": "3 wide", "encoder-decoder attention": "s · h, s = W x + last word"},
        1,
        "q · k = s · h",
    ),
}


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("family", FAMILIES)
def test_models_of_other_families(browser: Browser, tmp_path: Path, family: str, width: int) -> None:
    decoder, arrows, score = FAMILIES[family]
    small = tiny_plan("preset", f"{family}-tiny").with_settings({"width": 32})
    with served(weft.Translator([model_folder(tmp_path / "model", small, ("en", "de"))])) as address:
        for page in watched(browser, address, viewport={"width": width, "height": 800}):
            page.goto(f"{address}#model?text=A+red+dog")
            masks = page.locator("section", has=page.get_by_role("heading", name="Masks"))
            expect(masks).to_contain_text("Encoder–decoder" if score else "This model has no attention")
            drawn = page.locator(".decoder :is(.layer, .between) .block")
            assert list(dict.fromkeys(drawn.locator("b").all_inner_texts())) == list(decoder)
            for name, told in decoder.items():
                expect(drawn.filter(has_text=name).first).to_contain_text(told)
            expect(page.locator(".diagram svg g")).to_have_count(arrows)
            assert ("1 head" in page.locator(".facts span").all_inner_texts()) == bool(score)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.goto(f"{address}#head?text=A+red+dog")
            expect(page.locator("main.head")).to_contain_text(score or "This model has no attention")


def test_masks_of_many_tokens_fit(page: Page, address: str) -> None:
    open_view(page, address, "model", " ".join([TEXT[:-1]] * 7))
    expect(page.locator(".masks canvas")).to_have_count(3)
    for place in page.locator(".masks .matrix").all():
        seen, whole = place.evaluate("e => [e.clientWidth, e.scrollWidth]")
        assert whole <= seen
    page.goto(f"{address}#model?text=")
    expect(page.locator(".masks")).to_contain_text("The sentence is empty")


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_fits(browser: Browser, address: str, scheme: str, width: int) -> None:
    """Nothing is wider than the window, no token is cut, and the colours are those of the scheme."""
    size = {"width": width, "height": 800}
    for page in watched(browser, address, viewport=size, color_scheme=scheme):
        for view in VIEWS:
            open_view(page, address, view)
            page.wait_for_timeout(200)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view
            cut = page.evaluate(
                "[...document.querySelectorAll('.lines li, .tokens button, .chip, .segmented span, textarea, b')]"
                ".filter(e => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 2)"
                ".map(e => e.textContent || e.value)"
            )
            assert cut == [], view
            tables = page.locator(".table-place").evaluate_all("e => e.map(e => [e.clientWidth, e.scrollWidth])")
            assert all(whole <= seen for seen, whole in tables), view
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (light == "rgb(251, 250, 247)") == (scheme == "light")
        page.get_by_label("Dark or light").click()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_on_a_phone(browser: Browser, address: str) -> None:
    """All four steps of a head; what a token looks at is near the finger; a long word is no reason to scroll."""
    for page in watched(browser, address, viewport={"width": 375, "height": 740}):
        open_view(page, address, "head")
        expect(page.locator("thead small:visible")).to_have_text(["1", "2", "3", "4"])
        expect(page.get_by_role("img", name="value of cat")).to_be_visible()
        expect(page.get_by_role("img", name="output")).to_be_visible()
        open_view(page, address, "attention")
        for token in page.locator(".queries li").all():
            token.hover()
            expect(token).to_have_class(re.compile("chosen"))
            expect(page.locator(".shares li").first).to_be_in_viewport()
        open_view(page, address, "off", more=f"&target={'Donaudampfschiff' * 4}")
        expect(page.locator(".line .text").first).to_contain_text("Donaudampfschiff")
        assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_right_to_left(page: Page, address: str) -> None:
    open_view(page, address, "translate", "הילד אוכל לחם.")
    expect(page.get_by_label("Text in English")).to_have_css("direction", "rtl")
    open_view(page, address, "attention", "הילד אוכל לחם.")
    expect(page.get_by_label("Sentence", exact=True)).to_have_css("direction", "rtl")


def test_a_sentence_is_not_cut_when_the_window_narrows(page: Page, address: str) -> None:
    for view, label, times in (("attention", "Sentence", 3), ("translate", "Text in English", 12)):
        page.set_viewport_size({"width": 1280, "height": 800})
        open_view(page, address, view, " ".join([TEXT] * times))
        page.set_viewport_size({"width": 390, "height": 800})
        page.wait_for_timeout(200)
        seen, whole = page.get_by_label(label, exact=True).evaluate("e => [e.clientHeight, e.scrollHeight]")
        assert seen >= whole - 2, view


def test_tokens_do_not_overlap(page: Page, address: str) -> None:
    open_view(page, address, "attention")
    boxes = page.locator(".lines li").evaluate_all(
        "items => items.map(e => e.getBoundingClientRect()).map(b => [b.left, b.top, b.right, b.bottom])"
    )
    for i, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:i]:
            apart = left >= other[2] - 1 or other[0] >= right - 1 or top >= other[3] - 1 or other[1] >= bottom - 1
            assert apart


def test_keyboard_navigation(page: Page, address: str, seen: AttentionMaps) -> None:
    open_view(page, address, "search")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # to the view
    expect(page.locator("#view")).to_be_focused()
    page.wait_for_function("location.hash.startsWith('#search')")
    page.goto(address)
    page.locator(".output .word").first.wait_for()
    for _ in range(4):  # to the view, weft, Translate, Attention
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator(".queries li").first.wait_for()
    page.locator(".queries li").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".queries li").nth(1)).to_be_focused()
    expect(page.locator(".queries li").nth(1)).to_have_class(re.compile("chosen"))
    page.keyboard.press("ArrowRight")
    expect(page.locator(".keys li").nth(1)).to_be_focused()
    page.get_by_role("radio", name="Lines").focus()
    for mode in ("Matrix", "Overview"):
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("radio", name=mode)).to_be_checked()
        expect(page.get_by_role("radio", name=mode)).to_be_focused()


def test_errors_are_shown_on_the_page(browser: Browser, address: str) -> None:
    page = browser.new_page()  # not a watched one: the browser itself notes in the console that it was refused
    page.set_default_timeout(60_000)
    open_view(page, address, "head", more="&token=99")
    expect(page.locator(".query-row").first).to_contain_text("query of Die")
    page.goto(f"{address}#attention?layer=1&text={'word+' * 250}")
    expect(page.get_by_text("this model allows 200")).to_have_count(1)
    for view, shown in {"attention": ".drawing > *", "head": ".steps > *", "off": ".line"}.items():
        open_view(page, address, view)
        for text, refusal in (("word " * 250, "this model allows 200"), ("", "The sentence is empty")):
            page.get_by_label("Sentence", exact=True).fill(text)
            expect(page.locator(".trouble")).to_contain_text(refusal)
            expect(page.locator(shown)).to_have_count(0)
        expect(page.get_by_label("Translation", exact=True)).to_have_attribute("placeholder", "")
    open_view(page, address, "search")
    page.get_by_label("Sentence", exact=True).fill("word " * 250)
    expect(page.get_by_role("button", name="Play")).to_be_disabled()
    expect(page.locator(".forest")).to_be_hidden()
    page.close()


def test_a_saved_file_works_from_disk(browser: Browser, seen: AttentionMaps, tmp_path: Path) -> None:
    seen.save_html(tmp_path / "seen.html", kind="encoder", layer=1)
    for page in watched(browser, "file:"):
        page.goto(f"file://{tmp_path}/seen.html")
        expect(page.locator(".queries li").first).to_have_text("The")
        page.get_by_role("radio", name="Matrix").check()
        page.locator(".matrix canvas").focus()
        expect(page.locator(".caption")).to_have_text("The attends to")
        shown = number(page.locator(".shares li.chosen .number").inner_text())
        assert shown == pytest.approx(float(seen.of("encoder", 1)[0, 0]), abs=1e-4)
        page.get_by_role("radio", name="Overview").check()
        expect(page.locator(".overview button")).to_have_count(12)


def test_sixty_tokens_and_48_heads_stay_smooth(browser: Browser, tmp_path: Path) -> None:
    """All eight heads of a layer are drawn again for each token that is pointed at: how long that takes where nobody
    else uses the machine, so the fastest of twenty."""
    tokens = [f"·token{i}" for i in range(60)]
    maps = (torch.randn(6, 8, 60, 60) * 2).softmax(-1)
    large = AttentionMaps("large", "text", tokens, tokens, "text", [-0.1] * 60, dict.fromkeys(KINDS, maps))
    large.save_html(tmp_path / "large.html")
    for page in watched(browser, "file:"):
        page.goto(f"file://{tmp_path}/large.html")
        page.locator(".queries li").nth(59).wait_for()
        milliseconds = page.evaluate(
            """() => Math.min(...[...document.querySelectorAll(".queries li")].slice(0, 20).map((item) => {
              const start = performance.now();
              item.dispatchEvent(new MouseEvent("mouseenter"));
              return performance.now() - start;
            }))"""
        )
        assert milliseconds < 50
        start = time.monotonic()
        page.get_by_role("radio", name="Overview").check()
        expect(page.locator(".overview button")).to_have_count(48)
        assert time.monotonic() - start < 10


@pytest.mark.parametrize("count", [20, 50, 120])
def test_tokens_above_a_matrix_do_not_touch(browser: Browser, tmp_path: Path, count: int) -> None:
    """Two that are neighbours are further apart than they are high."""
    tokens = [f"·token{i}" for i in range(count)]
    maps = torch.full((1, 1, count, count), 1 / count)
    many = AttentionMaps("many", "text", tokens, tokens, "text", [-0.1] * count, dict.fromkeys(KINDS, maps))
    many.save_html(tmp_path / "many.html")
    for page in watched(browser, "file:"):
        page.add_init_script(
            """const write = CanvasRenderingContext2D.prototype.fillText;
            window.written = [];
            CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
              const { b, e } = this.getTransform();
              if (b) written.push({ size: parseFloat(this.font), rise: Math.abs(b), x: e });
              return write.call(this, text, x, y);
            };"""
        )
        page.goto(f"file://{tmp_path}/many.html")
        page.get_by_role("radio", name="Matrix").check()
        page.locator(".matrix canvas").wait_for()
        page.wait_for_timeout(100)
        first, second = page.evaluate("written.slice(0, 2)")
        assert (second["x"] - first["x"]) * first["rise"] > 1.05 * first["size"]


def test_the_cost_page_works_from_disk(browser: Browser, tmp_path: Path) -> None:
    """Numbers of a formula: attention crosses at 2 k, and at 64 wide that is at 128 tokens."""
    from weft.measuring.fit import Fit
    from weft.measuring.page import page as page_of
    from weft.measuring.report import tables
    from weft.measuring.scaling import Cost, Declared, Growth, Measured, Token

    time, memory = Fit({"t·k²": 2e-9, "t²·k": 1e-9}, 0.0), Fit({"t·k": 48.0}, 0.0)
    points = [Measured(t, k, time.at(t, k), int(memory.at(t, k))) for k in (32, 64) for t in (16, 64, 256)]
    growth = dict.fromkeys(("layer", "reference", "step"), Growth(points, time, memory))
    said, tokens = [Declared(t, 1, 1, 4, 1) for t in (16, 64, 256)], [Token(16, 1e-3, 2e-3, 1000)]
    counted = {"layer": {"t·k²": 24.0, "t²·k": 12.0}, "step": {"t": 1e6, "t²": 1e3}}
    made = Cost("made-up", 64, 2, "attention", "t²·k", "Transformer", counted, said, growth, tokens)
    machine = {"processor": "any", "torch": "any", "threads": 2}
    found = page_of({"machine": machine, "plans": [made.to_dict()]}, tables([made]))
    (tmp_path / "cost.html").write_text(found, encoding="utf-8")
    for page in watched(browser, "file://"):
        page.goto(f"file://{tmp_path / 'cost.html'}")
        dots = page.locator(".plot circle:not(.ring)")
        expect(dots).to_have_count(6)  # three lengths, fused and unfused
        dots.nth(2).hover(force=True)
        expect(page.locator(".caption")).to_contain_text(
            "256 tokens, width 64: 6.29 ms, fitted 6.29 ms; t² overtakes t at 128"
        )
        page.get_by_label("Memory").check()
        dots.nth(2).hover(force=True)
        expect(page.locator(".caption")).to_contain_text("786 kB")
        page.get_by_label("Against width").check()
        expect(dots).to_have_count(4)
        page.get_by_label("Token of decoding").check()
        expect(dots).to_have_count(2)
        expect(page.get_by_label("Memory")).to_be_hidden()
        page.get_by_role("button", name="made-up").click()
        expect(page.locator("figure")).to_have_text("No plan is chosen.")
        assert page.locator(".told tbody tr").count() == 1 + 1 + 1 + 1 + 2 + 3 + 1
