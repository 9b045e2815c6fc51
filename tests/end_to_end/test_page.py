"""The page in a real browser: its frame, Look, Model, and saved files. What it shows is what Python computes."""

import csv
import re
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

import weft
from tests.checking.test_checks import model_folder
from tests.contracts.tiny import tiny_plan
from tests.end_to_end.pages import TEXT, browser, fresh_page, number, open_view, served, watched
from weft.serving.scenes import Scene
from weft.viewing.attention_heads import KINDS, Head
from weft.viewing.attention_maps import AttentionMaps
from weft.viewing.what_if import WhatIf

from playwright.sync_api import Browser, FloatRect, Locator, Page, expect  # isort: skip

__all__ = ["browser", "fresh_page"]
TIRED = "The animal didn't cross the street because it was too tired."
SVG = "{http://www.w3.org/2000/svg}"
MODES = ("lines", "arcs", "matrix", "grid")


@pytest.fixture(scope="module")
def model() -> weft.Translator:
    return weft.load("en-de")


@pytest.fixture(scope="module")
def seen(model: weft.Translator) -> AttentionMaps:
    return model.attention(TEXT)


@pytest.fixture(scope="module")
def address(model: weft.Translator) -> Iterator[str]:
    scenes = [
        Scene(title="Tired", caption="What is it?", address=f"#/look?text={TIRED.replace(' ', '+')}&at=encoder.3.mix"),
        Scene(title="The model", caption="Blocks.", address=f"#/model?text={TIRED.replace(' ', '+')}"),
    ]
    with served(model, scenes=scenes) as address:
        yield address


def shares(page: Page) -> list[tuple[str, float]]:
    """What the selected token looks at most, and how much."""
    settled(page)
    rows = page.locator(".inspector .bar")
    rows.first.wait_for()
    return [(row.locator("span").first.inner_text(), number(row.locator(".number").inner_text())) for row in rows.all()]


def settled(page: Page) -> None:
    """Wait until what is drawn is what was asked for."""
    page.wait_for_timeout(60)
    page.locator(".stage[aria-busy=false]").first.wait_for()
    page.wait_for_timeout(60)


def strokes(page: Page) -> Locator:
    return page.locator(".between path")


def test_the_views_are_those_that_the_model_can_fill(page: Page, address: str) -> None:
    page.goto(address)
    names = page.get_by_role("navigation", name="Views").get_by_role("link")
    expect(names).to_have_text(["Run", "Look", "Compute", "Decide", "Change", "Model"])
    page.keyboard.press("2")
    expect(page.get_by_role("link", name="Look")).to_have_attribute("aria-current", "page")
    expect(page.locator("main")).to_be_focused()


@pytest.mark.parametrize("family", ["seq2seq-rnn", "convs2s"])
def test_a_view_that_a_model_cannot_fill_is_not_there(browser: Browser, tmp_path: Path, family: str) -> None:
    small = tiny_plan("preset", f"{family}-tiny").with_settings({"width": 32})
    with served(weft.Translator([model_folder(tmp_path / "model", small, ("en", "de"))])) as address:
        for page in watched(browser, address):
            page.goto(f"{address}#/look?text=A+red+dog")
            page.locator("main > *").first.wait_for()
            looks = page.get_by_role("link", name="Look").count()
            assert looks == (0 if family == "seq2seq-rnn" else 1)


def test_languages_by_any_tag(page: Page, address: str) -> None:
    """What a file calls its languages need not be what a browser calls them."""
    page.route(
        "**/api/model", lambda route: route.fulfill(json={**route.fetch().json(), "languages": ["en_US", "txt1"]})
    )
    open_view(page, address, "look")
    expect(page.get_by_label("American English")).to_have_value(TEXT)
    expect(page.get_by_label("txt1")).to_be_visible()


def test_look_opens_on_the_head_that_matters_most(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "look")
    best = page.evaluate("fetch('api/model').then(a => a.json()).then(m => m.heads_ranked.heads[0])")
    title = page.locator("w-figure h2")
    expect(title).to_contain_text(f"layer {best['layer']}, head {best['head']}")
    expect(page.locator(".inspector")).to_contain_text("matters most, by the rise of the loss")
    page.get_by_role("button", name="all heads").click()
    expect(title).to_contain_text("4 heads")
    expect(page.locator(".inspector")).not_to_contain_text("matters most")


def test_attention_by_layer_and_head(page: Page, address: str, seen: AttentionMaps) -> None:
    open_view(page, address, "look", more="&at=decoder.3.cross")
    assert page.locator(".queries li").all_inner_texts()[:3] == ["Die", "Katze", "schläft"]
    expect(page.get_by_label("German")).to_have_attribute("placeholder", seen.translation)
    for layer in (1, 3):
        page.get_by_label("layer", exact=True).select_option(str(layer))
        expect(page.locator("w-figure h2")).to_contain_text(f"layer {layer}")
        page.mouse.move(5, 5)
        page.locator(".queries li").nth(1).hover()
        mean = seen.of("cross", layer)[1]
        token, weight = shares(page)[0]
        assert weight == pytest.approx(float(mean.max()), abs=6e-4)
        assert token == seen.source[int(mean.argmax())].removeprefix("·")
    page.get_by_role("button", name="head 2").dblclick()
    expect(page.get_by_role("button", name="head 1")).to_have_attribute("aria-pressed", "false")
    page.locator(".queries li").nth(2).hover()
    assert shares(page)[0][1] == pytest.approx(float(seen.of("cross", 3, 2)[2].max()), abs=6e-4)
    said = page.locator("[role=status]").filter(has_text="attends to").first
    expect(said).to_contain_text(f"{seen.of('cross', 3, 2)[2].max():.2f}")
    page.get_by_role("radio", name="Encoder", exact=True).check()
    expect(page.locator(".queries li").first).to_have_text("The")


def test_hovering_falls_back_to_the_pin(page: Page, address: str) -> None:
    open_view(page, address, "look", more="&at=decoder.3.cross:2")
    tokens, caption = page.locator(".queries li"), page.locator(".inspector .caption")
    tokens.nth(1).click()
    expect(caption).to_have_text("Katze attends to")
    tokens.nth(3).hover()
    expect(caption).not_to_have_text("Katze attends to")
    page.mouse.move(5, 5)
    expect(caption).to_have_text("Katze attends to")
    assert "q=1" in page.url
    page.get_by_role("radio", name="Matrix").check()
    expect(caption).to_have_text("Katze attends to")  # it is the same selection
    page.keyboard.press("Escape")
    expect(caption).to_contain_text("Point at a token")


def test_the_matrix_shows_each_number(page: Page, address: str, seen: AttentionMaps) -> None:
    open_view(page, address, "look", more="&at=decoder.3.cross&mode=matrix")
    page.locator(".cells").focus()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".inspector .caption")).to_have_text("schläft attends to")
    chosen = page.locator(".inspector .bar.chosen")
    assert chosen.locator("span").first.inner_text() == "cat"
    assert number(chosen.locator(".number").inner_text()) == pytest.approx(float(seen.of("cross", 3)[2, 1]), abs=6e-4)
    page.get_by_role("radio", name="All heads").check()
    expect(page.locator(".grid .picture")).to_have_count(12)
    page.get_by_role("button", name="layer 2, head 4").click()
    expect(page.locator("w-figure h2")).to_contain_text("layer 2, head 4")
    assert "at=decoder.2.cross:4" in page.url


def test_only_the_strongest_and_without_the_ends(page: Page, address: str, seen: AttentionMaps) -> None:
    open_view(page, address, "look", more="&at=decoder.3.cross:2")
    whole = strokes(page).count()
    page.get_by_role("button", name="Ends").click()
    settled(page)
    without = strokes(page).count()
    assert without < whole
    page.get_by_label("Strongest").fill("0.5")
    settled(page)
    weights = seen.of("cross", 3, 2).clone()
    kept = 0
    for row in weights[:-1]:
        row[-1] = 0.0
    for row in seen.of("cross", 3, 2)[:-1]:
        order = row.argsort(descending=True)
        before = torch.cumsum(row[order], 0) - row[order]
        kept += int(((before < 0.5 * row.sum()) & (order != len(row) - 1) & (row[order] >= 0.015)).sum())
    assert strokes(page).count() == kept


@pytest.mark.parametrize("mode", ["lines", "arcs"])
def test_lines_are_as_wide_as_their_weight_and_seen(page: Page, address: str, seen: AttentionMaps, mode: str) -> None:
    """Those of the chosen token are strong at ordinary weights, too; in a saved figure as on the page."""
    open_view(page, address, "look", more=f"&at=encoder.3.mix:2&q=1&mode={mode}")
    weights = [weight for weight in seen.of("encoder", 3, 2)[1].tolist() if weight >= 0.015]
    drawn = [path.attrib for path in figure(page).iter(f"{SVG}path")]
    widths = [number(path["stroke-width"].removesuffix("px")) for path in drawn]
    most = page.locator("w-lines").evaluate("one => one.em") / 2
    assert widths == pytest.approx([most * weight for weight in weights], abs=0.01)
    assert all(number(path["stroke-opacity"]) == pytest.approx(0.6 + 0.4 * weight, abs=2e-3)
               for path, weight in zip(drawn, weights))  # fmt: skip


def test_a_given_translation(page: Page, address: str) -> None:
    open_view(page, address, "look", more="&at=decoder.3.cross")
    page.get_by_label("German").fill("Die Katze schläft.")
    expect(page.locator(".queries li")).to_have_text(["Die", "Katze", "schläft", ".", "(end)"])


def test_examples_and_back_again(page: Page, address: str) -> None:
    open_view(page, address, "look")
    page.get_by_text("Examples").click()
    page.locator(".examples button").nth(1).click()
    expect(page.get_by_label("English")).not_to_have_value(TEXT)
    page.go_back()
    expect(page.get_by_label("English")).to_have_value(TEXT)


def test_sentences_of_a_text(page: Page, address: str) -> None:
    open_view(page, address, "look", "I am tired. We are eating bread.", "&at=decoder.3.cross&sentence=7")
    number_of = page.get_by_label("number of the sentence")
    expect(number_of).to_have_value("2")  # the last one
    expect(page.locator(".keys li").first).to_have_text("We")
    number_of.select_option("1")
    expect(page.locator(".keys li").first).to_have_text("I")
    page.get_by_label("English").fill(TEXT)
    expect(number_of).to_have_count(0)


def test_a_link_opened_in_a_fresh_profile_shows_the_same(browser: Browser, page: Page, address: str) -> None:
    open_view(page, address, "look", more="&at=encoder.2.mix:3")
    page.locator(".queries li").nth(4).click()
    page.get_by_role("radio", name="Matrix").check()
    page.get_by_role("button", name="Whole").click()
    caption = page.locator(".inspector .caption").inner_text()
    for other in watched(browser, address):
        other.goto(page.url)
        expect(other.locator(".inspector .caption")).to_have_text(caption)
        expect(other.get_by_role("radio", name="Matrix")).to_be_checked()
        expect(other.get_by_role("button", name="Whole")).to_have_attribute("aria-pressed", "true")


def test_addresses_that_cannot_be_meant_have_their_defaults(page: Page, address: str) -> None:
    for more in (
        "&at=toString:1&q=x&mode=[&heads=7",
        "&off=constructor.1.1,cross.x.2,cross&mean=3",
        "&b.off=&share=9&replace.x=y",
    ):
        open_view(page, address, "look", more=more)
        expect(page.locator("w-figure h2").first).to_contain_text("layer 3, head 2")
    assert page.locator(".what-if").count() == 0


def test_what_ifs_hold_in_every_view(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "look", more="&at=decoder.3.cross:1&off=cross.2.2&replace.1=dog")
    expect(page.locator(".what-if")).to_have_count(2)
    what_if = WhatIf(off=(Head("cross", 2, 2),), replace={1: "dog"})
    expected = model.attention(TEXT, None, what_if)
    expect(page.get_by_label("German")).to_have_attribute("placeholder", expected.translation)
    page.locator(".queries li").nth(1).hover()
    assert shares(page)[0][1] == pytest.approx(float(expected.of("cross", 3, 1)[1].max()), abs=6e-4)
    page.get_by_role("link", name="Model").click()
    expect(page.locator(".what-if")).to_have_count(2)
    page.get_by_role("button", name="take back: cat → dog").click()
    expect(page.locator(".what-if")).to_have_count(1)
    assert "replace" not in page.url
    assert "off=cross.2.2" in page.url


def test_a_second_pane_and_what_differs(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "look", TIRED, "&at=encoder.3.mix:2")
    page.keyboard.press("b")
    second = page.locator("w-input[pane=b]").get_by_label("English")
    expect(second).to_be_focused()
    expect(page.locator("v-look-difference .empty")).to_have_text("Nothing changed here.")
    second.fill(TIRED.replace("tired", "bored"))
    second.press("Enter")
    lines = page.locator("v-look-difference .between path")
    expect(lines.first).to_be_attached()
    a, b = (model.attention(text).of("encoder", 3, 2) for text in (TIRED, TIRED.replace("tired", "bored")))
    if a.shape == b.shape:
        change = (b - a).abs()
        expect(lines).to_have_count(int((change >= 0.05 * change.max()).sum()))
    assert "b.text=" in page.url
    page.locator("v-look[pane=a] .queries li").nth(8).click()
    for pane in ("a", "b"):
        expect(page.locator(f"v-look[pane={pane}] .queries li.chosen")).to_have_text("it")
    expect(page.locator("v-look-difference .queries li.chosen")).to_have_text("it")
    drawn = figure(page, "v-look-difference w-figure")
    caption = "".join(list(drawn.iter(f"{SVG}text"))[-1].itertext())
    assert f"A: “{TIRED}” · B: “{TIRED.replace('tired', 'bored')}”" in caption
    assert "weft attend" not in caption
    if a.shape == b.shape:
        most = float((b - a).abs()[8].max())  # of the token that is selected
        expect(page.locator("v-look-difference .figure-head")).to_contain_text(f"largest change {float(f'{most:.2g}')}")
    page.get_by_role("radio", name="All heads").check()
    expect(page.locator("v-look-difference .grid button")).to_have_count(12)
    page.keyboard.press("b")
    expect(page.locator("v-look")).to_have_count(1)


def test_what_is_replaced_is_named_and_stays_with_its_text(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "look", TIRED, "&replace.10=wide&force.0=Die&b=1")
    read = model.attention(TIRED)
    named = [f"{read.source[10].removeprefix('·')} → wide ×", f"{read.target[0].removeprefix('·')} → Die ×"]
    chips = page.locator("w-input[pane=a] .what-if"), page.locator("w-input[pane=b] .what-if")
    for own in chips:
        expect(own).to_have_text(named)  # the same text: the second one follows
    page.locator("w-input[pane=b]").get_by_role("button", name="→ wide").click()
    expect(chips[1]).to_have_text(named[1:])
    page.reload()
    expect(chips[1]).to_have_text(named[1:])
    for link in (f"{page.url}&b.text=The+dog.", f"{page.url}&b.sentence=2"):
        page.goto("about:blank")
        page.goto(link.replace("b.replace=&", ""))
        expect(chips[0]).to_have_text(named)
        expect(chips[1]).to_have_count(0)


def test_what_an_address_names_and_is_not_here_is_told_once(page: Page, address: str) -> None:
    for link, told in (
        ("paint?text=Yes.", "There is no view “paint”. This is Run of en-de."),
        ("surprise?text=Yes.", "en-de has no view Surprise. This is Run of en-de."),
        ("look?model=latin&text=Yes.", "No model “latin” is served here. This is Look of en-de."),
        ("look?b.model=latin&text=Yes.", "No model “latin” is served here. This is Look of en-de."),
    ):
        page.goto("about:blank")
        page.goto(f"{address}#/{link}")
        expect(page.get_by_role("alert")).to_have_text(told)
        assert "latin" not in page.url
        page.reload()
        page.locator("main .frame").first.wait_for()
        expect(page.get_by_role("alert")).to_have_count(0)
    page.goto(f"{address}#/paint?text=Yes.")
    expect(page.get_by_role("alert")).to_contain_text("This is Look")
    page.get_by_role("link", name="Model").click()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_presenting_on_a_phone_and_with_controls(browser: Browser, address: str) -> None:
    for page in watched(browser, address, viewport={"width": 390, "height": 844}):
        open_view(page, address, "look")
        page.get_by_title("Present (f)").click()
        page.locator("main").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".scene")).to_contain_text("What is it?")
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        title, caption = (page.locator(f".scene > {part}").first.bounding_box() for part in ("b", "span"))
        assert title
        assert caption
        assert caption["y"] >= title["y"] + title["height"]
        assert caption["width"] > 300
    for page in watched(browser, address):
        open_view(page, address, "look")
        controls = page.locator("w-controls > .controls")
        page.locator("main").focus()
        page.mouse.move(600, 500)
        page.keyboard.press("f")
        expect(controls).to_have_css("opacity", "0")
        page.mouse.move(600, 20)
        expect(controls).to_have_css("opacity", "1")
        page.get_by_role("radio", name="Matrix").check()
        page.mouse.move(600, 500)
        page.locator("main").focus()
        expect(controls).to_have_css("opacity", "0")
        page.get_by_role("radio", name="Matrix").focus()
        expect(controls).to_have_css("opacity", "1")


def test_presenting_steps_through_scenes(page: Page, address: str) -> None:
    open_view(page, address, "model")
    unit = float(page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)"))
    page.locator("main").focus()
    page.keyboard.press("f")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".scene")).to_contain_text("What is it?")
    expect(page.locator("header.top")).to_be_hidden()
    assert page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") == pytest.approx(1.5 * unit, rel=0.01)
    expect(page.locator("w-figure h2").first).to_contain_text("Encoder attention")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".scene")).to_contain_text("Blocks.")
    expect(page.locator(".block").first).to_be_visible()
    page.keyboard.press("ArrowUp")
    expect(page.locator(".scene")).to_contain_text("What is it?")
    page.keyboard.press("f")
    expect(page.locator("header.top")).to_be_visible()


def test_presenting_begins_with_what_is_seen(browser: Browser, model: weft.Translator) -> None:
    text = TIRED.replace(" ", "+")
    scenes = [
        Scene(title="First", caption="Before W^O.", address=f"#/model?text={text}&part=masks"),
        Scene(title="Second", caption="B.", address=f"#/run?b=1&text={text}&b.off=cross.2.2"),
    ]
    with served(model, scenes=scenes) as address:
        for page in watched(browser, address):
            open_view(page, address, "look")
            page.keyboard.press("f")
            expect(page.locator(".scene")).to_contain_text(TEXT)
            expect(page.locator(".scene")).to_contain_text("→ 1 / 2")
            page.keyboard.press("ArrowRight")
            expect(page.locator(".scene sup")).to_have_text("O")
            expect(page.locator(".masks w-figure").first).to_be_in_viewport()
            page.keyboard.press("Escape")
            open_view(page, address, "run", TIRED, "&b=1&b.off=cross.2.2")
            page.keyboard.press("f")  # the same state, however its address is written
            expect(page.locator(".scene")).to_contain_text("Second")
            names = page.locator(".pane-of:first-child h2")
            said = [name.evaluate("e => getComputedStyle(e, '::before').content") for name in names.all()]
            assert said == ['"A · "', '"B · "']
            chips, pane = page.locator(".what-ifs"), page.locator("main > [pane=b]")
            expect(chips).to_contain_text("B what if")
            assert abs(box(chips)["x"] - box(pane)["x"]) < 20


def box(locator: Locator) -> FloatRect:
    found = locator.bounding_box()
    assert found
    return found


@pytest.mark.parametrize("part", ["positions", "masks"])
def test_a_link_leads_into_the_model(page: Page, address: str, part: str) -> None:
    open_view(page, address, "model", more=f"&part={part}")
    shown = page.locator(f"[data-part={part}] w-matrix").first
    expect(shown).to_be_in_viewport()
    page.get_by_role("button", name="Diagram").click()
    expect(shown).not_to_be_in_viewport()
    assert "part=diagram" in page.url
    lecture = (Path(__file__).parents[2] / "docs" / "lectures" / f"{part}.md").read_text()
    assert f"&part={part})" in lecture


def test_a_finished_text_is_a_step_of_the_history(page: Page, address: str) -> None:
    open_view(page, address, "look", "Hello.")
    for before, text in (("Hello.", "I like tea."), ("I like tea.", "He is old.")):
        field = page.get_by_label("English")
        expect(field).to_have_value(before)
        field.fill("")
        field.press_sequentially(text[:3])
        page.wait_for_timeout(400)
        field.press_sequentially(text[3:])
        page.wait_for_function("text => location.hash.includes(text)", arg=text.replace(" ", "+"))
        field.blur()
    for text in ("I like tea.", "Hello."):
        page.go_back()
        expect(page.get_by_label("English")).to_have_value(text)


def test_a_text_too_long_for_the_link_is_told_and_kept(page: Page, address: str) -> None:
    text = "The cat sat. " * 500
    open_view(page, address, "look", "Hello.")
    expect(page.locator(".too-long")).to_have_count(0)
    page.get_by_label("English").fill(text)
    expect(page.locator(".too-long")).to_contain_text("without its text")
    assert "text" not in page.url
    page.reload()
    expect(page.get_by_label("English")).to_have_value(text)
    page.get_by_label("English").fill(text.replace("cat", "dog"))  # the same address
    expect(page.get_by_label("number of the sentence").locator("option")).to_have_count(500)
    page.wait_for_function("history.state.text.includes('dog')")
    page.go_back()
    expect(page.get_by_label("English")).to_have_value(text)
    page.go_back()
    expect(page.get_by_label("English")).to_have_value("Hello.")
    expect(page.locator(".too-long")).to_have_count(0)


def test_a_translation_is_not_cut(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "look", TIRED, "&b=1&b.text=" + TIRED.replace("tired", "wide").replace(" ", "+"))
    fields = page.locator(".target textarea")
    for i, text in enumerate((TIRED, TIRED.replace("tired", "wide"))):
        expect(fields.nth(i)).to_have_attribute("placeholder", model.translate([text])[0])
        assert fields.nth(i).evaluate("e => e.scrollHeight <= e.clientHeight + 2 && e.scrollWidth <= e.clientWidth")
    expect(page.locator("[data-cut]")).to_have_count(0)
    open_view(page, address, "look", TEXT * 8)
    expect(page.locator("[data-cut] textarea").first).to_have_attribute("title", TEXT * 8)


def test_controls_and_tokens_that_go_on_fade(browser: Browser, address: str) -> None:
    for page in watched(browser, address, viewport={"width": 390, "height": 844}):
        open_view(page, address, "change", TEXT * 8)
        page.locator(".queries-of .token").first.wait_for()
        for place in ("w-controls .controls", ".queries-of .tokens"):
            goes_on = page.locator(place).first
            assert goes_on.evaluate("e => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight")
            assert "linear-gradient" in str(goes_on.evaluate("e => getComputedStyle(e).maskImage"))


def test_the_keys_that_are_told_are_those_there_are(page: Page, address: str) -> None:
    open_view(page, address, "model")
    page.keyboard.press("?")
    expect(page.locator("dialog dt").first).to_have_text("1 – 6")


def test_parameters_are_named_in_words_of_the_field(page: Page, address: str) -> None:
    open_view(page, address, "model")
    names = page.locator(".parts .bar > span:first-child")
    expect(names.first).to_have_text("shared embedding and output")
    expect(names.filter(has_text="self-attention")).to_have_text(["encoder self-attention", "decoder self-attention"])
    expect(names.filter(has_text="encoder-decoder")).to_have_text("encoder-decoder attention")


def test_keys_can_be_switched_off(page: Page, address: str) -> None:
    open_view(page, address, "look")
    page.keyboard.press("?")
    page.get_by_label("These keys work").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("6")
    expect(page.get_by_role("link", name="Look")).to_have_attribute("aria-current", "page")
    page.reload()
    page.locator(".lines li").first.wait_for()
    page.keyboard.press("6")
    expect(page.get_by_role("link", name="Look")).to_have_attribute("aria-current", "page")


def test_a_browser_that_keeps_nothing(page: Page, address: str) -> None:
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked') } })")
    open_view(page, address, "look")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="dark or light").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


@pytest.mark.parametrize("mode", MODES)
def test_a_figure_saves_what_is_seen(page: Page, address: str, seen: AttentionMaps, tmp_path: Path, mode: str) -> None:
    open_view(page, address, "look", more=f"&at=encoder.3.mix:2&mode={mode}")

    def saved(kind: str) -> Path:
        page.get_by_label("Save or copy this figure").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save {kind}").click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        assert file.suffix == f".{kind.lower()}"
        return file

    drawing = ElementTree.parse(saved("SVG")).getroot()
    words = ["".join(text.itertext()) for text in drawing.iter(f"{SVG}text")]
    assert len(list(drawing.iter(f"{SVG}linearGradient"))) == (mode in ("matrix", "grid"))  # what its colours mean
    assert str(words[0]).startswith("Encoder attention")
    assert f"weights {page.evaluate('fetch(`api/model`).then(a => a.json()).then(m => m.hash)')}" in str(words[-1])
    assert "weft attend en-de" in str(words[-1])
    if mode != "grid":
        assert "cat" in words
        table = list(csv.reader(saved("CSV").open(encoding="utf-8")))
        assert float(table[1][-1]) == pytest.approx(float(seen.of("encoder", 3, 2)[0, 0]), abs=6e-4)
    if mode == "lines":
        assert len(list(drawing.iter(f"{SVG}path"))) == strokes(page).count()
    assert saved("PNG").read_bytes().startswith(b"\x89PNG")


def figure(page: Page, which: str = "w-figure") -> ElementTree.Element:
    """A figure as it is saved."""
    settled(page)
    return ElementTree.fromstring(page.evaluate("which => document.querySelector(which).drawing", which))


def test_a_saved_figure_names_what_if(page: Page, address: str) -> None:
    """What `weft attend` cannot draw has no command."""
    open_view(page, address, "look", more="&at=encoder.3.mix:2&off=cross.2.2&temperature=0.5")
    page.locator(".what-if").first.wait_for()
    caption = "".join(list(figure(page).iter(f"{SVG}text"))[-1].itertext())
    assert f"“{TEXT}” · without encoder–decoder 2·2" in caption
    assert "weft attend" not in caption
    assert page.get_by_role("button", name="Copy command", include_hidden=True).count() == 0
    open_view(page, address, "look", TIRED, "&at=encoder.3.mix:2&replace.10=wide&share=0.5")
    expect(page.locator(".what-if")).to_contain_text("→ wide")
    page.wait_for_timeout(300)
    caption = "".join(list(figure(page).iter(f"{SVG}text"))[-1].itertext())
    assert f"“{TIRED}”, the strongest 50 % of each row · " in caption
    assert caption.endswith(page.locator(".what-if").inner_text().removesuffix("×").strip())
    open_view(page, address, "look", f"A dog. {TEXT}", "&at=encoder.3.mix:2&sentence=2")
    caption = "".join(list(figure(page).iter(f"{SVG}text"))[-1].itertext())
    assert f'weft attend en-de "{TEXT}"' in caption  # the sentence that is drawn


def caption(page: Page, which: str = "w-figure") -> str:
    return "".join(list(figure(page, which).iter(f"{SVG}text"))[-1].itertext())


def copied(page: Page) -> str | None:
    return page.locator("w-figure").evaluate("one => one.command")


def test_arcs_fit_their_pane_and_are_as_high_as_the_longest(browser: Browser, address: str) -> None:
    for page in watched(browser, address, viewport={"width": 390, "height": 844}):
        open_view(page, address, "look", TIRED, "&at=encoder.3.mix:2&mode=arcs")
        settled(page)
        assert page.locator(".arcs").evaluate("one => one.scrollWidth - one.clientWidth") <= 1
        drawn = figure(page)
        assert float(drawn.attrib["height"]) < 400  # its window has 844
        arcs = next(drawn.iter(f"{SVG}svg"))
        tops = page.locator(".arcs path").evaluate_all("all => all.map(one => one.getBBox().y)")
        assert 0 <= min(tops) < 0.1 * float(arcs.attrib["height"])
    for page in watched(browser, address, viewport={"width": 390, "height": 844}):
        open_view(page, address, "look", f"{TIRED[:-1]} and {TIRED[4:]}", "&at=encoder.3.mix:2&mode=arcs")
        settled(page)
        wide = page.locator(".arcs").evaluate("one => one.scrollWidth")
        assert wide > 390
        assert float(figure(page).attrib["width"]) >= wide  # it is saved whole


@pytest.mark.parametrize("width", [600, 1280])
def test_all_heads_have_square_cells_and_tokens(
    browser: Browser, address: str, seen: AttentionMaps, width: int
) -> None:
    """On the page where there is room, in a saved figure always."""
    for page in watched(browser, address, viewport={"width": width, "height": 800}):
        open_view(page, address, "look", more="&at=encoder.3.mix&mode=grid")
        settled(page)
        rows, columns = (len(axis) for axis in seen.axes["encoder"])
        box = page.locator(".grid canvas").first.bounding_box()
        assert box
        assert box["width"] / columns == pytest.approx(box["height"] / rows, rel=0.02)
        named = page.locator(".grid svg text").count()
        assert named == (4 * columns + 3 * rows if width > 600 else named)
        words = ["".join(text.itertext()) for text in figure(page).iter(f"{SVG}text")]
        assert words.count("sofa") == 4 + 3
        assert page.locator(".grid svg text").count() == named


def test_a_saved_search_is_no_ribbon(page: Page, address: str) -> None:
    open_view(page, address, "decide", TIRED)
    settled(page)
    page.locator(".paths").evaluate("one => one.scrollTo(300, 0)")
    drawn = figure(page)
    wide, high = (float(drawn.attrib[name]) for name in ("width", "height"))
    assert wide < 1000
    assert high > wide
    steps = page.locator(".paths .step").all_text_contents()
    words = ["".join(text.itertext()).strip() for text in drawn.iter(f"{SVG}text")]
    assert [word for word in words if word in steps] == steps
    assert page.locator(".paths").evaluate("one => one.scrollLeft") == 300


def test_saved_figures_are_on_white_and_name_their_pane(page: Page, address: str) -> None:
    open_view(page, address, "look", more="&at=encoder.3.mix:2&mode=matrix&b=1&b.text=A+dog.")
    page.locator("v-look-difference w-figure").wait_for()
    settled(page)
    for which, letter in (("v-look[pane=a] w-figure", "A · "), ("v-look[pane=b] w-figure", "B · ")):
        drawn = figure(page, which)
        assert str(next(drawn.iter(f"{SVG}text")).text).startswith(f"{letter}Encoder")
        assert {rect.attrib["fill"] for rect in drawn.iter(f"{SVG}rect")} >= {"#ffffff"}
        assert "#fbfaf7" not in ElementTree.tostring(drawn, encoding="unicode")


def test_presented_beside_each_other_nothing_is_cut(page: Page, address: str) -> None:
    more = f"&at=encoder.3.mix&q=8&heads=[2,3]&b=1&b.text={TIRED.replace('tired', 'wide').replace(' ', '+')}"
    open_view(page, address, "look", TIRED, more)
    page.locator("v-look-difference w-lines").wait_for()
    page.keyboard.press("f")
    page.wait_for_timeout(300)
    settled(page)
    for one in page.locator("w-lines, .figure-head").all():
        assert one.evaluate("one => one.scrollWidth - one.clientWidth") <= 0
    tops = {round(box["y"]) for one in page.locator(".between").all() if (box := one.bounding_box())}
    assert max(tops) - min(tops) <= 2


def test_a_caption_says_what_makes_its_figure(page: Page, address: str) -> None:
    """The command draws just that; what no command draws has its text and its settings instead."""
    open_view(page, address, "look", more="&at=encoder.3.mix:2&q=1")
    settled(page)
    assert copied(page) == (
        f'weft attend en-de "{TEXT}" --kind encoder --layer 3 --head 2 --query 2 --lines attention.svg'
    )
    assert caption(page).endswith(f" · {copied(page)}")
    open_view(page, address, "look", more="&at=encoder.3.mix:2&k=1")
    assert caption(page).endswith(f" · “{TEXT}”, what looks at cat")
    assert copied(page) == ""
    open_view(page, address, "look", more="&at=encoder.3.mix:2&mode=arcs")
    assert f'as lines: weft attend en-de "{TEXT}"' in caption(page)
    assert copied(page) == ""
    open_view(page, address, "compute", "Say $5, don't.", "&at=encoder.3.mix:2&q=2")
    settled(page)
    more = "--kind encoder --layer 3 --head 2 --query 3 --csv numbers.csv"
    assert copied(page) == f"weft attend en-de 'Say $5, don'\\''t.' {more}"
    open_view(page, address, "decide", more="&beam=3&temperature=0.5")
    settled(page)
    assert caption(page).endswith(f" · “{TEXT}”, beam 3, length penalty α 1.0 · temperature 0.5")


def test_a_saved_computation_has_its_fractions_and_roots(page: Page, address: str) -> None:
    open_view(page, address, "compute", more="&at=encoder.3.mix:2")
    page.locator("msqrt").first.wait_for()
    marks = [path.get("class") for path in figure(page).iter(f"{SVG}path")]
    assert marks.count("fraction") == page.locator("mfrac").count() == 3
    assert marks.count("root") == 1


def test_a_saved_diagram_has_its_arrows_above_its_blocks(page: Page, address: str) -> None:
    open_view(page, address, "model")
    drawn = list(figure(page).iter())
    paths = [i for i, one in enumerate(drawn) if one.tag == f"{SVG}path"]
    blocks = [i for i, one in enumerate(drawn) if one.tag == f"{SVG}text" and one.text == "feed-forward"]
    assert len(paths) == page.locator(".diagram > svg path").count() > 5
    assert min(paths) > max(blocks)


def test_a_figure_that_scrolls_is_saved_whole(browser: Browser, address: str) -> None:
    words = " ".join(["The dog and the cat"] * 12)
    for page in watched(browser, address, viewport={"width": 500, "height": 500}):
        open_view(page, address, "look", words, "&at=encoder.3.mix:2&mode=matrix")
        scrolling = page.locator("w-matrix")
        scrolling.evaluate("one => one.scrollTo(80, 90)")
        wide, high = scrolling.evaluate("one => [one.scrollWidth, one.scrollHeight]")
        seen = scrolling.evaluate("one => one.clientWidth")
        drawn = figure(page)
        assert wide > seen
        assert float(drawn.attrib["width"]) >= wide
        assert float(drawn.attrib["height"]) >= high
        assert not list(drawn.iter(f"{SVG}clipPath"))
        assert scrolling.evaluate("one => [one.scrollLeft, one.scrollTop]") == [80, 90]


@pytest.mark.parametrize(
    ("view", "mode", "pixel"),
    [
        ("look", "grid", ".grid canvas"),
        ("look", "matrix", ".matrix rect"),
        ("compute", "lines", ".vectors canvas"),
    ],
)
def test_colours_are_those_of_the_theme_at_once(page: Page, address: str, view: str, mode: str, pixel: str) -> None:
    open_view(page, address, view, more=f"&at=encoder.3.mix:2&mode={mode}")
    colours = """all => all.slice(0, 40).map(one => one.getContext ? one.toDataURL() : one.getAttribute("fill"))"""
    marks = page.locator(pixel)
    marks.first.wait_for()
    settled(page)
    light = marks.evaluate_all(colours)
    page.get_by_role("button", name="dark or light").click()
    page.wait_for_timeout(100)
    dark = marks.evaluate_all(colours)
    assert dark != light
    page.reload()  # dark from the beginning
    marks.first.wait_for()
    settled(page)
    assert marks.evaluate_all(colours) == dark


def test_keyboard_alone(page: Page, address: str) -> None:
    open_view(page, address, "look", more="&at=decoder.3.cross:1")
    first = page.locator(".queries li").first
    first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".queries li").nth(1)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".keys li").nth(1)).to_be_focused()
    expect(page.locator(".inspector .caption")).to_contain_text("is attended to by")
    page.keyboard.press("Enter")
    assert "k=1" in page.url
    page.get_by_role("radio", name="Lines").focus()
    for mode in ("Matrix", "All heads"):
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("radio", name=mode)).to_be_checked()
        expect(page.get_by_role("radio", name=mode)).to_be_focused()
    page.keyboard.press("]")
    page.get_by_role("radio", name="Lines").check()
    page.keyboard.press("[")
    expect(page.locator("w-figure h2")).to_contain_text("layer 2")
    page.keyboard.press(".")
    expect(page.locator("w-figure h2")).to_contain_text("head 2")


def test_errors_are_shown_on_the_page(browser: Browser, address: str) -> None:
    page = browser.new_page()  # not a watched one: the browser itself notes in the console that it was refused
    page.set_default_timeout(60_000)
    open_view(page, address, "look")
    page.get_by_label("English").fill("word " * 250)
    expect(page.locator("main .trouble")).to_contain_text("this model allows 200")
    expect(page.locator("main w-figure")).to_have_count(0)
    page.get_by_label("English").fill("")
    expect(page.locator("main .empty")).to_contain_text("Type a sentence")
    expect(page.locator("w-controls .controls")).to_have_count(0)
    page.close()


def test_the_model_and_its_parameters(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "model")
    millions = sum(p.numel() for p in model.models[0].parameters()) / 1e6
    expect(page.locator(".facts")).to_contain_text(f"{millions:.1f} M")
    expect(page.locator(".masks w-figure")).to_have_count(3)
    told, cells = page.get_by_text(re.compile("dimensions from left|^position ")), page.locator(".positions .cells")
    expect(page.locator(".scale.signed")).to_contain_text("1.00")
    page.get_by_role("radio", name="Cosines").check()
    cells.focus()
    expect(told).to_have_text("position 0, dimension 1: 1.000")  # cos 0
    page.keyboard.press("ArrowDown")
    expect(told).to_have_text("position 1, dimension 1: 0.540")
    page.get_by_role("radio", name="Sines", exact=True).check()
    cells.focus()
    page.keyboard.press("ArrowDown")
    expect(told).to_have_text("position 1, dimension 0: 0.841")
    assert page.locator(".stack.decoder .times").inner_text() == "3 ×"
    page.locator(".decoder .block.source").click()
    expect(page.locator(".inspector")).to_contain_text("263,168")
    page.locator(".inspector").get_by_role("link", name="Look").nth(1).click()
    expect(page.locator("w-figure h2")).to_contain_text("Encoder–decoder attention, layer 2")


# The decoder's blocks with what is told of them, as they compute, and how many arrows there are.
FAMILIES: dict[str, tuple[dict[str, str], int]] = {
    "seq2seq-rnn": ({"first state": "where the encoder's ended", "LSTM": ""}, 6),
    "bahdanau": (
        {
            "first state": "tanh(W h₁)",
            "encoder-decoder attention": "v · tanh(W s + U h)",
            "GRU": "over [x; c]",
            "readout": "maxout of U s + V x + C c",
        },
        5,
    ),
    "luong": (
        {
            "first state": "where the encoder's ended",
            "LSTM": "over [x; h̃]",
            "encoder-decoder attention": "s · W h",
            "h̃, fed into the next step": "tanh(W [c; s])",
        },
        8,
    ),
    "convs2s": ({"convolution": "3 wide", "encoder-decoder attention": "s · h, s = W x + last word"}, 1),
}


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("family", FAMILIES)
def test_models_of_other_families(browser: Browser, tmp_path: Path, family: str, width: int) -> None:
    decoder, arrows = FAMILIES[family]
    small = tiny_plan("preset", f"{family}-tiny").with_settings({"width": 32})
    with served(weft.Translator([model_folder(tmp_path / "model", small, ("en", "de"))])) as address:
        for page in watched(browser, address, viewport={"width": width, "height": 800}):
            page.goto(f"{address}#/model?text=A+red+dog")
            drawn = page.locator(".decoder :is(.layer, .between) .block")
            drawn.first.wait_for()
            assert list(dict.fromkeys(drawn.locator("b").all_inner_texts())) == list(decoder)
            for name, told in decoder.items():
                expect(drawn.filter(has_text=name).first).to_contain_text(told)
            expect(page.locator(".diagram > svg g")).to_have_count(arrows)
            if "v · tanh(W s + U h)" in decoder.values() and width > 390:
                page.goto(f"{address}#/compute?text=A+red+dog")
                expect(page.locator(".product-of i").first).to_have_text("s")  # as in the formula
            assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 1280, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_fits(browser: Browser, address: str, scheme: str, width: int) -> None:
    """Nothing is wider than the window or higher, no token is cut, and the colours are those of the scheme."""
    size = {"width": width, "height": 844 if width == 390 else width * 9 // 16}
    for page in watched(browser, address, viewport=size, color_scheme=scheme):
        for view in (*[f"look?mode={mode}&at=encoder.3.mix&text=" for mode in MODES], "model?text="):
            page.goto("about:blank")
            page.goto(f"{address}#/{view}{TEXT.replace(' ', '+')}")
            page.locator("w-figure").first.wait_for()
            page.wait_for_timeout(250)
            inner = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
            assert page.evaluate(inner) == [width, size["height"]], view
            cut = page.evaluate(
                "[...document.querySelectorAll('.lines li, .chip, .segmented span, h2, .block b')]"
                ".filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
            )
            assert cut == [], view
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (light == "rgb(251, 250, 247)") == (scheme == "light")


def test_many_heads_and_tokens_fit_a_phone(browser: Browser, tmp_path: Path) -> None:
    settings = {"width": 64, "layers": 2, "mixer.heads": 32, "cross.heads": 32}
    many = tiny_plan("preset", "transformer-tiny").with_settings(settings)
    text = "one stone river mountain green word stone river"
    with served(weft.Translator([model_folder(tmp_path / "model", many, ("en", "de"))])) as address:
        for page in watched(browser, address, viewport={"width": 390, "height": 844}):
            for mode in MODES:
                open_view(page, address, "look", text, f"&mode={mode}&at=encoder.1.mix")
                page.wait_for_timeout(300)
                assert page.evaluate("document.documentElement.scrollWidth") == 390, mode


def test_a_tap_does_not_cover_what_it_chose(browser: Browser, address: str) -> None:
    for page in watched(browser, address, viewport={"width": 390, "height": 740}, has_touch=True, is_mobile=True):
        open_view(page, address, "look", more="&at=decoder.3.cross")
        last = page.locator(".queries li").nth(6)
        last.tap()
        expect(last).to_have_class(re.compile("chosen"))
        expect(page.locator(".inspector .bar").first).to_be_in_viewport()
        token, sheet = last.bounding_box(), page.locator(".inspector").bounding_box()
        assert token
        assert sheet
        assert token["y"] + token["height"] <= sheet["y"]


def test_a_saved_file_works_from_disk(browser: Browser, seen: AttentionMaps, tmp_path: Path) -> None:
    seen.save_html(tmp_path / "seen.html", kind="encoder", layer=1)
    for page in watched(browser, "file:"):
        page.goto(f"file://{tmp_path}/seen.html")
        expect(page.locator(".queries li").first).to_have_text("The")
        page.get_by_role("radio", name="Matrix").check()
        page.locator(".cells").focus()
        expect(page.locator(".inspector .caption")).to_have_text("The attends to")
        shown = number(page.locator(".inspector .bar.chosen .number").inner_text())
        assert shown == pytest.approx(float(seen.of("encoder", 1)[0, 0]), abs=1e-4)
        page.get_by_role("radio", name="All heads").check()
        expect(page.locator(".grid .picture")).to_have_count(12)


@pytest.mark.parametrize(("count", "layers", "heads"), [(60, 6, 8), (83, 1, 16)])
def test_many_tokens_and_heads_stay_smooth(
    browser: Browser, tmp_path: Path, count: int, layers: int, heads: int
) -> None:
    """All heads of a layer are drawn again for each token that is pointed at: how long that takes where nobody else
    uses the machine, so the fastest of twenty."""
    tokens = [f"·token{i}" for i in range(count)]
    maps = (torch.randn(layers, heads, count, count) * 2).softmax(-1)
    large = AttentionMaps("large", "text", tokens, tokens, "text", [-0.1] * count, dict.fromkeys(KINDS, maps))
    large.save_html(tmp_path / "large.html")
    for page in watched(browser, "file:"):
        page.goto(f"file://{tmp_path}/large.html")
        page.locator(".queries li").nth(count - 1).wait_for()
        milliseconds = page.evaluate(
            """async () => {
              const view = document.querySelector("v-saved");
              const took = [];
              for (const item of [...document.querySelectorAll(".queries li")].slice(0, 20)) {
                const start = performance.now();
                item.dispatchEvent(new MouseEvent("mouseenter"));
                await view.updateComplete;
                await view.querySelector("w-lines").updateComplete;
                took.push(performance.now() - start);
              }
              return Math.min(...took);
            }"""
        )
        assert milliseconds < 50
        start = time.monotonic()
        page.get_by_role("radio", name="All heads").check()
        expect(page.locator(".grid .picture")).to_have_count(layers * heads)
        assert time.monotonic() - start < 10


@pytest.mark.parametrize("count", [20, 50, 120])
def test_tokens_above_a_matrix_do_not_touch(browser: Browser, tmp_path: Path, count: int) -> None:
    """Two that are neighbours are further apart than they are high."""
    tokens = [f"·token{i}" for i in range(count)]
    maps = torch.full((1, 1, count, count), 1 / count)
    many = AttentionMaps("many", "text", tokens, tokens, "text", [-0.1] * count, dict.fromkeys(KINDS, maps))
    many.save_html(tmp_path / "many.html")
    for page in watched(browser, "file:"):
        page.goto(f"file://{tmp_path}/many.html")
        page.get_by_role("radio", name="Matrix").check()
        page.locator(".across text").nth(1).wait_for()
        apart, size = page.evaluate(
            """() => {
              const all = [...document.querySelectorAll(".across text")];
              const [one, other] = all.map(e => e.transform.baseVal.consolidate().matrix);
              return [(other.e - one.e) * Math.abs(one.b), parseFloat(getComputedStyle(all[0]).fontSize)];
            }"""
        )
        assert apart > 1.05 * size


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
        dots = page.locator(".curves circle:not(.ring)")
        caption = page.locator("w-cost > .caption")
        expect(dots).to_have_count(6)  # three lengths, fused and unfused
        dots.nth(2).hover(force=True)
        expect(caption).to_contain_text("256 tokens, width 64: 6.29 ms, fitted 6.29 ms; t² overtakes t at 128")
        page.get_by_role("radio", name="Memory").check()
        dots.nth(2).hover(force=True)
        expect(caption).to_contain_text("786 kB")
        page.get_by_role("radio", name="Against width").check()
        expect(dots).to_have_count(4)
        page.get_by_role("radio", name="Token of decoding").check()
        expect(dots).to_have_count(2)
        expect(page.get_by_role("radio", name="Memory")).to_be_hidden()
        page.get_by_role("button", name="made-up").click()
        expect(page.locator("w-figure")).to_contain_text("No plan is chosen.")
        assert page.locator(".told tbody tr").count() == 1 + 1 + 1 + 1 + 2 + 3 + 1
