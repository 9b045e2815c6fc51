"""The page of language models in a real browser: Run, Decide and Surprise show what Python computes."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest
import torch

import weft
from tests.end_to_end.pages import browser, fresh_page, number, served, watched
from tests.lm import SENTENCES, toy_generator
from weft.data.codecs import CODECS
from weft.decoding.sampling import Sampling
from weft.folder import Folder
from weft.plans.presets import plan
from weft.tasks.generator import Generator
from weft.viewing.attention_heads import Head
from weft.viewing.lens import lens
from weft.viewing.what_if import WhatIf
from weft.weights import parameters, save_weights

from playwright.sync_api import Browser, Page, expect  # isort: skip

__all__ = ["browser", "fresh_page"]
TEXT = "O Romeo, Romeo! wherefore art thou"
LONG = "What says the king? " * 20  # the model sees 256 characters
READY = {"run": ".prompt", "decide": ".beside .bar", "surprise": ".surprising .token"}
OTHERS = {  # by name: plan, codec, vocabulary
    "bytes": ("gpt-tiny", "bytes", 260),
    "words": ("gpt-tiny", "words", 100),
    "recurrent": ("lstm-lm", "characters", 100),
    "convolutional": ("conv-lm", "characters", 100),
}


@pytest.fixture(scope="module")
def model() -> Generator:
    generator: Generator = weft.load("shakespeare")
    return generator


@pytest.fixture(scope="module")
def address(model: Generator) -> Iterator[str]:
    with served(model) as address:
        yield address


def toy(out: Path, preset: str, codec: str, vocabulary: int) -> Folder:
    """A model that was never trained, of this plan and codec."""
    learned = CODECS[codec].train([SENTENCES], vocabulary)
    recipe = plan(preset).with_settings(
        {"codec": codec, "vocabulary": len(learned), "width": 16, "layers": 2, "training.batching.length": 48}
    )
    torch.manual_seed(1)
    folder = Folder(out)
    folder.describe(recipe, {"tokeniser": learned}, starts=True)
    save_weights(dict(parameters(recipe.build())), folder.average)
    return folder


def open_view(page: Page, address: str, view: str, text: str = TEXT, **more: Any) -> None:
    """Open a view of a text. Further keys are those of the state; those of sampling have their defaults."""
    if "sampling" in more:
        more["sampling"] = {"temperature": 0.8, "top_k": 0, "top_p": 1, "tokens": 80, "seed": 1} | more["sampling"]
    extra = "".join(f"&{key}={quote_plus(json.dumps(value))}" for key, value in more.items())
    page.goto("about:blank")
    page.goto(f"{address}#/{view}?text={quote_plus(text)}{extra}")
    page.locator(READY[view]).first.wait_for()


def written(page: Page) -> str:
    """The text on the page, when nothing is being written."""
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    return page.locator(".page").text_content() or ""


def percent(chance: float) -> str:
    hundred = 100 * chance
    return f"{hundred:.0f} %" if hundred >= 9.95 else f"{hundred:.1f} %" if hundred >= 0.1 else "<0.1 %"


def chances(model: Generator, text: str, **options: Any) -> dict[str, float]:
    """What the next token is drawn with, by its text, the likeliest by the model first."""
    log_probs = model.log_probs(model.prompt(text))[-1:]
    shaped = Sampling(**options).shaped(log_probs)[0]
    order = log_probs[0].argsort(descending=True).tolist()
    names = model.codec.readable(range(len(shaped)))
    return {names[i]: float(shaped[i] / shaped.sum()) for i in order}


def rows(page: Page, place: str) -> list[tuple[str, str]]:
    names, numbers = (page.locator(f"{place} .bar {part}").all_inner_texts() for part in (":first-child", ".number"))
    return [*zip([name.strip() for name in names], numbers)]


def test_a_text_is_continued_as_in_python(page: Page, address: str, model: Generator) -> None:
    page.goto(address)
    page.get_by_label("Text to continue").fill(TEXT)
    page.get_by_label("Tokens").fill("40")
    page.get_by_label("Seed").fill("5")
    page.get_by_label("Temperature").fill("0.5")
    page.get_by_label("Top-k").fill("5")
    page.get_by_role("button", name="Continue").click()
    [[own]] = model.complete([TEXT], Sampling(0.5, top_k=10), max_tokens=40, seed=5)
    assert written(page) == TEXT + own.text
    expect(page.locator(".figure-head [role=status]").first).to_contain_text("40 tokens")
    page.get_by_role("button", name="Use as text").click()
    expect(page.locator(".prompt")).to_have_text(TEXT + own.text)
    expect(page.get_by_role("button", name="Continue")).to_be_visible()


def test_a_token_shows_the_distribution_that_it_was_drawn_from(page: Page, address: str, model: Generator) -> None:
    open_view(page, address, "run", sampling={"top_k": 5, "tokens": 20}, futures=[[-1, 0, "", 0.8, 5, 1, 20, 1]])
    text = written(page)
    page.locator(".continued .token").nth(9).hover()
    expect(page.locator(".inspector .bar")).to_have_count(12)
    before = text[: len(TEXT) + 9]
    own = chances(model, before, temperature=0.8, top_k=5)
    shown = rows(page, ".inspector")
    assert [chance for _, chance in shown[:6]] == [*map(percent, [*own.values()][:5]), "cut off"]
    token = text[len(before)].replace(" ", "·").replace("\n", "↵")
    assert percent(own[token]) in page.locator(".inspector .caption").inner_text()
    assert number(page.locator(".inspector .bar.chosen .number").inner_text().split()[0]) == pytest.approx(
        100 * own[token], abs=0.51
    )


def test_another_token_forks_the_text_and_the_link_has_all_futures(
    browser: Browser, address: str, model: Generator
) -> None:
    for page in watched(browser, address):
        open_view(page, address, "run", futures=[[-1, 0, "", 0.8, 0, 1, 30, 3]])
        first = written(page)
        page.get_by_label("Tokens").fill("25")
        page.locator(".continued .token").nth(7).click()
        other = page.locator(".inspector .bar:not(.chosen)").first
        expect(page.locator(".inspector .bar")).to_have_count(12)
        token = other.locator("span").first.inner_text().replace("(space)", " ").replace("↵", "\n")
        other.click()
        expect(page.locator(".tree .node")).to_have_count(4)  # the prompt, what both have, two futures
        forked = written(page)
        start = first[: len(TEXT) + 7] + token
        [[own]] = model.complete([start], Sampling(0.8), max_tokens=25, seed=1)
        assert forked == start + own.text
        page.get_by_role("treeitem").nth(2).click()
        assert written(page) == first, "a click on a node goes back to that future"
        page.go_back()
        assert written(page) == forked
        page.get_by_role("button", name="Another").click()
        expect(page.locator(".tree .node")).to_have_count(5)
        third, link = written(page), page.url
        assert third.startswith(start)
        assert third != forked, "the next seed"
    for page in watched(browser, address):
        page.goto(link)
        expect(page.locator(".tree .node")).to_have_count(5)
        assert written(page) == third, "in a fresh profile"


def test_writing_can_be_stopped_and_gone_on_with(page: Page, address: str) -> None:
    open_view(page, address, "run", sampling={"tokens": 4000})
    page.get_by_role("button", name="Continue").click()
    expect(page.locator(".continued .token").nth(5)).to_be_attached()
    page.get_by_role("button", name="Stop").click()
    stopped = written(page)
    expect(page.locator(".figure-head [role=status]").first).to_contain_text("stopped")
    count = page.locator(".continued .token").count()
    assert 5 < count < 4000
    page.reload()
    assert written(page) == stopped, "a link has as much as was written"
    page.get_by_label("Tokens").fill("10")
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".continued .token")).to_have_count(count + 10)


def test_bars_are_reshaped_as_sampling_shapes_them(page: Page, address: str, model: Generator) -> None:
    open_view(page, address, "decide", sampling={"temperature": 1})
    own = chances(model, TEXT)
    assert [chance for _, chance in rows(page, ".beside")] == [*map(percent, own.values())][:40]
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/api/next" in request.url else None)
    for label, value, options in (
        ("Temperature", "1.5", {"temperature": 1.5}),
        ("Top-k", "3", {"temperature": 1.5, "top_k": 5}),
        ("Top-p", "0.6", {"temperature": 1.5, "top_k": 5, "top_p": 0.6}),
    ):
        page.get_by_label(label).fill(value)
        own = chances(model, TEXT, **options)
        expected = [percent(chance) if chance else "cut off" for chance in own.values()][:40]
        expect(page.locator(".beside .bar .number")).to_have_text(expected)
        expect(page.locator(".beside .bar.dim")).to_have_count(expected.count("cut off"))
    assert asked == [], "the browser does it"
    csv = page.evaluate("document.querySelector('.beside').csv()")
    assert [row[3] for row in csv[1:]] == pytest.approx([*own.values()], abs=1e-3)


def test_there_is_one_temperature(page: Page, address: str) -> None:
    page.goto(f"{address}#/decide?text={quote_plus(TEXT)}&temperature=0.5&b.temperature=3&b.off=decoder.1.1")
    expect(page.get_by_label("Temperature")).to_have_attribute("aria-valuetext", "0.50")
    expect(page.locator(".what-if")).to_have_count(1)  # the head
    notes = page.locator(".beside .figure-head > .soft")
    expect(notes).to_have_count(2)
    for note in notes.all():
        left, of = re.findall(r"\d+", note.inner_text())
        assert left == of


def test_a_click_writes_a_token_and_space_draws_one(page: Page, address: str) -> None:
    open_view(page, address, "decide")
    text, sheet = page.get_by_label("Text", exact=True), page.locator(".choosing .page")
    page.locator(".beside .bar").nth(1).click()
    expect(sheet).to_have_text(f"{TEXT}?")
    expect(text).to_have_value(f"{TEXT}?")
    page.get_by_role("button", name="Take back").click()
    expect(text).to_have_value(TEXT)
    drawn = []
    for _ in range(2):
        page.locator("main").focus()
        for count in range(1, 4):
            page.keyboard.press("Space")
            expect(text).to_have_value(re.compile(f"^[\\s\\S]{{{len(TEXT) + count}}}$"))
            page.locator(".stage[aria-busy=false]").wait_for()
        drawn.append(text.input_value())
        open_view(page, address, "decide")
    assert drawn[0] == drawn[1], "the same seed draws the same"


def test_the_lens_shows_each_layer(page: Page, address: str, model: Generator) -> None:
    open_view(page, address, "decide")
    seen = model.attention(TEXT, (model.codec.special.end,))
    cells = [row[-1] for row in lens(model.models[0], model.codec, seen)]
    last = page.locator("w-lens .row > :last-child button")
    shown = [text.replace("␣", "·") for text in last.all_inner_texts()]
    assert shown == [cell.token for cell in reversed(cells)] + [TEXT[-1]]
    assert f"({percent(cells[-1].probability)})" in str(last.first.get_attribute("aria-label"))


def test_the_word_drops_at_once_where_motion_is_not_wanted(browser: Browser, address: str) -> None:
    for page in watched(browser, address, reduced_motion="reduce"):
        open_view(page, address, "decide")
        page.get_by_role("button", name="Draw one").click()
        assert page.locator("[data-filling]").count() == 0
        expect(page.locator(".dropped")).to_have_count(1)


def test_surprise_is_the_log_probability(page: Page, address: str, model: Generator) -> None:
    open_view(page, address, "surprise")
    ids = model.prompt(TEXT)
    own = model.log_probs(ids[:-1])[range(len(ids) - 1), ids[1:]]
    csv = page.evaluate("document.querySelector('w-figure').csv()")
    assert [row[1] for row in csv[2:]] == pytest.approx(own.tolist(), abs=1e-4)
    shown = [number(one) for one in page.locator(".facts .number").all_inner_texts()]
    loss = -float(own.mean())
    assert shown == pytest.approx([loss, loss / math.log(2), round(math.exp(loss), 1), len(ids) - 1], abs=1e-3)
    most = int(own.argmin()) + 1
    page.locator(".inspector .bar").first.click()
    expect(page.locator(".surprising .token").nth(most)).to_have_attribute("aria-selected", "true")
    told = page.locator(".one .caption .number").all_inner_texts()
    assert number(told[2]) == pytest.approx(-float(own[most - 1]), abs=0.006)
    rank = 1 + int((model.log_probs(ids[:most])[-1] > own[most - 1]).sum())
    assert number(told[0]) == rank


def test_texts_longer_than_the_context(page: Page, address: str) -> None:
    open_view(page, address, "run", LONG, futures=[[-1, 0, "", 0.8, 0, 1, 10, 1]])
    assert len(written(page)) == len(LONG) + 10
    open_view(page, address, "decide", LONG)
    assert page.locator(".unseen").first.text_content() == LONG[:-255]
    open_view(page, address, "surprise", LONG)
    expect(page.locator(".surprising .token")).to_have_count(len(LONG))


def test_an_unknown_character_is_told_in_a_sentence(browser: Browser, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()  # the console tells of the answers 400
    for view in READY:
        page.goto(f"{address}#/{view}?text=%C3%9Cber")
        if view == "run":
            page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("alert")).to_have_text("'Ü' is not in this model's vocabulary of 65 characters.")
        page.goto("about:blank")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_every_view_fits(browser: Browser, address: str, width: int, scheme: str) -> None:
    for page in watched(browser, address, viewport={"width": width, "height": 844}, color_scheme=scheme):
        for view in READY:
            more = {"futures": [[-1, 0, "", 0.8, 0, 1, 40, 1], [0, 9, "x", 0.8, 0, 1, 20, 1]]} if view == "run" else {}
            open_view(page, address, view, **more)
            if view == "run":
                expect(page.locator(".tree .node")).to_have_count(4)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view
            shown = page.locator("main").inner_text()
            assert not {"Sentence", "Translation", "undefined", "null", "NaN"} & {*shown.split()}, view


def test_two_panes_write_side_by_side(page: Page, address: str, model: Generator) -> None:
    open_view(page, address, "run", sampling={"tokens": 20})
    page.goto(f"{page.url}&b=1&b.text=JULIET:")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    for pane, text in (("a", TEXT), ("b", "JULIET:")):
        [[own]] = model.complete([text], Sampling(0.8), max_tokens=20, seed=1)
        expect(page.locator(f"[pane={pane}] .continued .token")).to_have_count(20)
        assert page.locator(f"main [pane={pane}] .page").text_content() == text + own.text
    page.get_by_role("link", name="Decide").click()
    expect(page.locator(".beside")).to_have_count(2)
    page.get_by_role("button", name="Draw one").click()
    expect(page.locator(".dropped")).to_have_count(2)


@pytest.mark.parametrize("name", OTHERS)
def test_other_codecs_and_families(browser: Browser, tmp_path: Path, name: str) -> None:
    generator: Generator = weft.load(str(toy(tmp_path / name, *OTHERS[name]).path))
    with served(generator) as address:
        for page in watched(browser, address, reduced_motion="reduce"):
            text = "The red cat"
            open_view(page, address, "run", text, futures=[[-1, 0, "", 0, 0, 1, 8, 1]])
            [[own]] = generator.complete([text], Sampling(0.0), max_tokens=8)
            space = " " if name == "words" else ""
            assert written(page) == text + space + own.text
            open_view(page, address, "decide", text)
            token = page.locator(".beside .bar span:first-child").get_by_text(re.compile("^[A-Za-z]+$")).first
            added = token.inner_text()
            token.click()
            expect(page.get_by_label("Text", exact=True)).to_have_value(text + space + added)
            open_view(page, address, "surprise", text)
            ids = generator.prompt(text)
            scored = generator.log_probs(ids[:-1])[range(len(ids) - 1), ids[1:]]
            shown = number(page.locator(".facts .number").first.inner_text())
            assert shown == pytest.approx(-float(scored.mean()), abs=1e-3)
            views = page.locator("nav a").all_inner_texts()
            assert ("Look" in views) == any(map(any, generator.heads.values()))


def test_a_character_of_several_bytes_is_written_part_by_part(browser: Browser, tmp_path: Path) -> None:
    generator: Generator = weft.load(str(toy_generator(tmp_path / "toy").path))
    with served(generator) as address:
        for page in watched(browser, address, reduced_motion="reduce"):
            open_view(page, address, "decide", "The", sampling={"temperature": 2})
            page.evaluate("document.querySelector('v-decide-next').parts = ['<C3>']")
            expect(page.locator(".unseen").last).to_have_text("<C3>")
            page.wait_for_function("document.querySelector('v-decide-next').next.data.written.length === 1")
            part = "document.querySelector('v-decide-next').next.data.tokens.find(({ token }) => token === '<A9>')"
            [[start, end]] = generator.codec.pieces_of(["é"])
            log_probs = generator.log_probs([*generator.prompt("The"), start])[-1]
            found = page.evaluate(f"({part}).logit - document.querySelector('v-decide-next').next.data.log_sum")
            assert found == pytest.approx(float(log_probs[end]), abs=1e-3)


def test_the_second_model_opens_as_its_link_says(browser: Browser, model: Generator) -> None:
    """The model comes first: it says which views there are, and which heads."""
    translator = weft.load("en-de")
    with served(translator, others=[model]) as address:
        for page in watched(browser, address):
            for link in ("surprise?model=shakespeare&text=O+Romeo", "decide?model=shakespeare"):
                view = link.split("?")[0]
                page.goto("about:blank")
                page.goto(f"{address}#/{link}")
                for _ in range(2):
                    page.locator(READY[view]).first.wait_for()
                    expect(page).to_have_title(f"{view.capitalize()} · shakespeare · weft")
                    assert f"#/{view}?model=shakespeare" in page.url
                    page.reload()
            assert page.get_by_role("alert").count() == 0
            page.locator(READY["decide"]).first.wait_for()
            page.locator("main").focus()
            page.keyboard.press("f")
            page.mouse.move(600, 700)
            expect(page.locator("w-controls > .controls")).to_have_css("opacity", "1")  # sampling, always
            page.keyboard.press("f")
            page.get_by_role("link", name="Surprise").click()
            page.get_by_label("model", exact=True).select_option("en-de")
            expect(page).to_have_title("Run · en-de · weft")
            assert "#/run?" in page.url
            page.go_back()
            expect(page).to_have_title("Surprise · shakespeare · weft")
    with served(model, others=[translator]) as address:
        for page in watched(browser, address):
            text = "The cat is sleeping."
            page.goto(f"{address}#/look?model=en-de&text={quote_plus(text)}&off=cross.2.2&replace.1=dog")
            expect(page.locator(".what-if")).to_have_text(["Encoder–decoder 2·2 off ×", "cat → dog ×"])
            expect(page).to_have_title("Look · en-de · weft")
            assert "off=cross.2.2" in page.url
            page.goto(f"{page.url}&b.model=shakespeare&b.text=O+Romeo&b.off=decoder.1.3")
            expect(page.locator("w-input[pane=b] .what-if")).to_have_text(["Self-attention 1·3 off ×"])


def test_a_head_can_be_switched_off(page: Page, address: str, model: Generator) -> None:
    page.goto(f"{address}#/change?text={quote_plus(TEXT)}")
    page.locator("[role=grid] .switch").nth(2).click()  # layer 1, head 3
    without = model.attention(TEXT, what_if=WhatIf(off=[Head("decoder", 1, 3)]))
    expect(page.locator("main")).to_contain_text(without.translation.split("\n")[0].strip())
    expect(page.get_by_role("button", name="take back: Self-attention 1·3 off")).to_be_visible()


def test_a_text_is_continued_without_a_head(page: Page, address: str, model: Generator) -> None:
    page.goto(f"{address}#/run?text={quote_plus(TEXT)}&off=decoder.1.3")
    page.get_by_label("Tokens").fill("40")
    page.get_by_role("button", name="Continue").click()
    [[own]] = model.complete([TEXT], Sampling(0.8), max_tokens=40, seed=1, off=(Head("decoder", 1, 3),))
    [[whole]] = model.complete([TEXT], Sampling(0.8), max_tokens=40, seed=1)
    assert written(page) == TEXT + own.text != TEXT + whole.text
