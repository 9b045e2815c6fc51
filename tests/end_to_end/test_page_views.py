"""Run, Compute, Decide and Change of a translator in a real browser. What they show is what Python computes."""

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import weft
from tests.checking.test_checks import model_folder
from tests.contracts.tiny import tiny_plan
from tests.end_to_end.pages import TEXT, browser, number, open_view, served, watched
from tests.lm import toy_generator
from weft.decoding import best_first
from weft.plans.presets import plan
from weft.viewing.attention_heads import Head
from weft.viewing.attention_maps import AttentionMaps
from weft.viewing.search import Candidate, SearchTree
from weft.viewing.what_if import WhatIf

from playwright.sync_api import Browser, Locator, Page, Route, expect  # isort: skip

__all__ = ["browser"]
TWO = "I am tired. We are eating bread."
TIRED = "The animal didn't cross the street because it was too tired."
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
CROSS = [Head("cross", layer, head) for layer in (2, 3) for head in (1, 2, 3, 4)]
ANY = ["", "   ", "\n\n", "<b>&amp;</b>", "🍵", "مرحبا بالعالم. كيف حالك؟", "word " * 190, TEXT * 12]
VIEWS = ("run", "compute", "decide", "change")


@pytest.fixture(scope="module")
def model() -> weft.Translator:
    return weft.load("en-de")


@pytest.fixture(scope="module")
def seen(model: weft.Translator) -> AttentionMaps:
    return model.attention(TEXT)


@pytest.fixture(scope="module")
def tree(model: weft.Translator) -> SearchTree:
    return model.search_tree(TEXT)


@pytest.fixture(scope="module")
def address(model: weft.Translator) -> Iterator[str]:
    with served(model) as address:
        yield address


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    yield from watched(browser, address)


def percentage(text: str) -> float:
    """What the page writes for a probability."""
    if "·10" in text:
        size, power = text.split("·10")
        return float(size) * 10.0 ** int(power.translate(RAISED))
    return float(text.removesuffix(" %").replace("<", "")) / 100


# Run.


def typed(page: Page) -> Locator:
    return page.get_by_label("Text in English")


def test_type_and_translate(page: Page, address: str, model: weft.Translator) -> None:
    page.goto(address)
    typed(page).fill(TWO)
    expect(page.locator(".output")).to_have_text(model.translate([TWO], split=True)[0])
    assert page.locator(".alternatives tbody tr").count() >= 3
    page.locator(".output .token", has_text="müde").hover()
    lit = page.locator(".mirror mark")
    expect(lit).to_have_count(3)
    weights = lit.evaluate_all("all => all.map(e => Number(e.style.getPropertyValue('--weight')))")
    assert lit.nth(weights.index(1.0)).inner_text() == "tired.", "müde was made from it"
    page.locator(".output .token", has_text="Brot").hover()
    expect(lit).to_have_count(4)


def test_tokens_are_underlined_by_their_probability(page: Page, address: str, seen: AttentionMaps) -> None:
    open_view(page, address, "run")
    tokens = page.locator(".output .token")
    assert tokens.count() == len(seen.target) - 1, "the end is no word"
    doubts = tokens.evaluate_all("all => all.map(e => Number(e.style.getPropertyValue('--doubt')))")
    assert doubts == pytest.approx([1 - math.exp(one) for one in seen.log_probs[:-1]], abs=0.006)
    expect(tokens.first).to_have_attribute("title", f"Die: {math.exp(seen.log_probs[0]):.0%}".replace("%", " %"))


def test_the_first_sentences_come_before_the_last(page: Page, address: str) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route) if "bread" in str(route.request.post_data) else route.continue_()

    page.route("**/api/translate", hold)
    page.goto(f"{address}#/run?text={TWO.replace(' ', '+')}")
    expect(page.locator(".output")).to_have_text("Ich bin müde. …")
    held[0].continue_()
    expect(page.locator(".output")).to_have_text("Ich bin müde. Wir essen Brot.")


def test_a_long_paste_leaves_the_page_usable(page: Page, address: str) -> None:
    """On a busy machine: 300 sentences once blocked it for 3 s, and 1,500 for 86 s."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "translate" in request.url else None)
    open_view(page, address, "run", "Hi.")
    page.evaluate("""() => { window.longest = 0; new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
    }).observe({ type: "longtask" }); }""")
    typed(page).fill("The cat sat. " * 700)
    expect(page.locator(".output w-tokens")).to_have_count(700)
    expect(page.locator(".output > div")).to_have_count(14)
    assert page.evaluate("longest") < 1_500
    assert len(asked) < 12, "the same sentence is asked about once"
    page.locator(".output .token").nth(1).click()
    expect(page.locator(".alternatives h2")).to_have_text("Sentence 1: other translations")


def test_what_is_unchanged_is_not_asked_about_again(page: Page, address: str) -> None:
    open_view(page, address, "run", TWO)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(str(request.post_data)) if "translate" in request.url else None)
    typed(page).fill(f"Yes. {TWO}")
    expect(page.locator(".output")).to_contain_text("Ja")
    expect(page.locator(".output")).to_contain_text("Brot")
    assert [json.loads(one)["text"] for one in asked] == ["Yes."]


def test_a_model_that_guesses_says_so(page: Page, address: str) -> None:
    open_view(page, address, "run")
    expect(page.locator(".guess")).to_have_count(0)
    typed(page).fill("הילד אוכל לחם.")
    expect(page.locator(".guess")).to_contain_text("The model is guessing")
    expect(typed(page)).to_have_css("direction", "rtl")


def test_alternatives_have_differences_and_scores(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "run", TIRED)
    rows = page.locator(".alternatives tbody tr")
    [found] = model.search([TIRED], best_first(5, 1.0))
    expect(page.locator(".alternatives th").nth(1)).to_have_text("mean log-probability of a token")
    best = number(rows.first.locator(".score").inner_text())
    assert best == pytest.approx(model.attention(TIRED).score, abs=1e-3)
    scores = [number(text) for text in rows.locator(".score").all_inner_texts()]
    assert scores == sorted(scores, reverse=True)
    changes = [number(text) for text in rows.locator("td:last-child").all_inner_texts()[1:]]
    assert changes == pytest.approx([score - best for score in scores[1:]], abs=2e-3)
    assert rows.nth(1).locator("em").count() >= 1
    texts = [*dict.fromkeys(one.text for one in found)]
    assert rows.locator("td:first-child").all_inner_texts() == texts


def test_alternatives_of_a_changed_sentence(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "run", TIRED, "&replace.11=wide")
    found = model.search_tree(TIRED, WhatIf(replace={11: "wide"})).ended
    expect(page.locator(".alternatives tr.winning td").first).to_have_text(found[0].text)
    expect(page.locator(".output")).to_have_text(found[0].text)
    assert number(page.locator(".alternatives tr.winning .score").inner_text()) == round(found[0].score, 3)


def test_words_with_multibyte_characters_are_highlighted(page: Page, address: str) -> None:
    open_view(page, address, "run", "Zoë likes 🍵 tea – a lot.")
    page.locator(".output .token").first.hover()
    expect(page.locator(".mirror mark")).to_have_text(["Zoë", "likes", "🍵", "tea", "–", "a", "lot."])


def test_copy_is_offered_where_the_browser_allows_it(page: Page, address: str) -> None:
    open_view(page, address, "run")
    expect(page.get_by_role("button", name="Copy")).to_be_visible()
    page.add_init_script("Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })")
    page.reload()
    page.locator(".output .token").first.wait_for()
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)


def test_the_chosen_sentence_is_that_of_other_views(page: Page, address: str) -> None:
    open_view(page, address, "run", TWO)
    page.locator(".output .token", has_text="Brot").click()
    expect(page.locator(".alternatives h2")).to_contain_text("Sentence 2")
    page.get_by_role("link", name="How it was found").click()
    expect(page.get_by_label("number of the sentence")).to_have_value("2")
    expect(page.locator(".origin q")).to_have_text("We are eating bread.")
    expect(page.locator(".why tr.winning td").first).to_have_text("Wir essen Brot.")
    page.get_by_role("link", name="Run").click()
    expect(typed(page)).to_have_value(TWO)


def test_a_rival_is_written_instead(page: Page, address: str, model: weft.Translator) -> None:
    """The same token goes into the address, and the model goes on from it."""
    open_view(page, address, "run")
    page.locator(".output .token").nth(1).click()
    rivals = page.locator(".inspector .bar")
    rivals.nth(1).click()
    forced = page.locator(".what-if")
    own = model.attention(TEXT).target[1].removeprefix("·")
    expect(forced).to_contain_text(f"{own} → ")
    token = forced.inner_text().removeprefix(f"{own} → ").removesuffix(" ×")
    expected = model.attention(TEXT, what_if=WhatIf(force={1: f"·{token}"})).translation
    expect(page.locator(".output")).to_have_text(expected)
    page.get_by_role("button", name="As the model has it").click()
    expect(page.locator(".output")).to_have_text(model.translate([TEXT])[0])


@pytest.mark.parametrize("text", ANY)
def test_any_text_is_translated_without_errors(page: Page, address: str, text: str) -> None:
    page.goto(f"{address}#/run")
    page.locator(".output .token").first.wait_for()
    typed(page).fill(text)
    if text.strip():
        expect(page.locator(".old")).to_have_count(0)
        page.locator(".output .token").first.wait_for()
    else:
        expect(page.locator(".output .token")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    seen, whole = typed(page).evaluate("e => [e.clientHeight, e.scrollHeight]")
    assert seen >= whole - 2, "all of the text is seen"


def test_too_long_a_sentence_is_translated_in_pieces(browser: Browser, address: str) -> None:
    """What can be done with one sentence only is refused in words."""
    page = browser.new_page()  # not a watched one: the browser itself notes in the console that it was refused
    page.set_default_timeout(60_000)
    page.goto(address)
    typed(page).fill("word " * 250)
    page.locator(".output .token").nth(200).wait_for()
    expect(page.locator(".trouble")).to_have_count(0)
    page.get_by_role("link", name="Decide").click()
    expect(page.locator(".trouble")).to_contain_text("this model allows 200")
    page.close()


# Compute.


def test_one_head_by_the_numbers(page: Page, address: str, seen: AttentionMaps) -> None:
    open_view(page, address, "compute", more="&at=decoder.2.cross:3&q=2")
    numbers = seen.numbers("cross", 2, 3, 2)
    expect(page.locator(".product-of span").first).to_have_text("q of schläft")
    expect(page.locator(".numbers tbody tr")).to_have_count(len(seen.source))
    assert numbers.scaled is not None
    columns = {".score": numbers.scores, ".scaled": numbers.scaled, ".weight .number": numbers.weights}
    for css, expected in columns.items():
        shown = [number(text) for text in page.locator(f".numbers tbody {css}").all_inner_texts()]
        torch.testing.assert_close(torch.tensor(shown), expected, atol=6e-3, rtol=1e-3)
    page.get_by_role("option", name="Katze").click()
    expect(page.locator(".product-of span").first).to_have_text("q of Katze")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".product-of span").first).to_have_text("q of schläft")
    assert "q=2" in page.url


def test_the_largest_summands_are_written_out(page: Page, address: str, seen: AttentionMaps) -> None:
    open_view(page, address, "compute", more="&at=decoder.2.cross:3&q=2&k=4")
    expect(page.locator(".product-of span").first).to_have_text("q of schläft")
    numbers = seen.numbers("cross", 2, 3, 2)
    products = numbers.query * numbers.keys[4]
    worked = page.locator(".worked")
    expect(worked.locator("b")).to_have_text("on")
    said = worked.locator("span").first.inner_text().split("=")[1]
    factors = [[number(one) for one in term.strip("() …").split(")(")] for term in said.split(" + ") if ")(" in term]
    expected = products[products.abs().topk(3).indices]
    assert [a * b for a, b in factors] == pytest.approx(expected.tolist(), abs=0.02)
    assert number(page.locator(".product-of .number").last.inner_text().removeprefix("Σ ")) == pytest.approx(
        float(products.sum()), abs=0.01
    )


def test_components_are_above_each_other(page: Page, address: str) -> None:
    """q, each key and their products have each dimension at one place; sorted, the largest is first."""
    open_view(page, address, "compute", more="&at=decoder.2.cross:3&q=2")
    ends = "all => all.map(e => e.getBoundingClientRect()).map(box => [box.left, box.right])"
    for places in (".product-of", ".numbers td.wide:nth-child(2)", ".numbers td.wide:nth-child(3)"):
        boxes = page.locator(f"{places} .strip").evaluate_all(ends)
        assert len(boxes) > 2
        assert all(box == pytest.approx(boxes[0], abs=0.5) for box in boxes)
    page.get_by_role("button", name="Sort by share").click()
    strips = page.locator(".product-of canvas")
    expect(strips).to_have_count(3)
    q, k, product = (strips.nth(i).evaluate("e => e.vector") for i in range(3))
    assert product == pytest.approx([a * b for a, b in zip(q, k)], abs=1e-6)
    assert [abs(one) for one in product] == sorted((abs(one) for one in product), reverse=True)
    strips.first.hover(position={"x": 3, "y": 3})
    expect(page.locator(".pointed")).to_contain_text("dimension")


def test_values_are_as_loud_as_their_weights(page: Page, address: str, seen: AttentionMaps) -> None:
    """What is masked is silent, and the sum is the head's output."""
    open_view(page, address, "compute", more="&at=decoder.1.mix:1&q=2")
    numbers = seen.numbers("decoder", 1, 1, 2)
    expect(page.locator(".product-of span").first).to_have_text("q of Katze")
    strips = page.locator(".numbers .strips canvas")
    expect(strips).to_have_count(len(numbers.weights) + 1)
    vectors = torch.tensor([strips.nth(i).evaluate("e => e.vector") for i in range(strips.count())])
    torch.testing.assert_close(vectors[-1], numbers.output, atol=2e-4, rtol=1e-3)
    torch.testing.assert_close(vectors[:-1].sum(0), numbers.output, atol=5e-3, rtol=1e-2)
    assert vectors[3:-1].abs().max() == 0
    expect(page.locator("tr.masked")).to_have_count(len(numbers.weights) - 3)
    page.get_by_role("button", name="Weighted values").click()
    shown = torch.tensor(strips.nth(0).evaluate("e => e.vector"))
    torch.testing.assert_close(shown, numbers.values[0], atol=1e-4, rtol=1e-3)


# Decide.


def node(page: Page, one: Candidate) -> Locator:
    return page.locator(f'.candidate[data-id="{one.id}"]')


def test_the_search_tree_and_its_winner(page: Page, address: str, tree: SearchTree) -> None:
    open_view(page, address, "decide")
    expect(page.locator(".candidate")).to_have_count(sum(map(len, tree.steps)))
    expect(page.locator(".why tr.winning td").first).to_have_text(tree.ended[0].text)
    shown = number(page.locator(".why tr.winning td").last.inner_text())
    assert shown == pytest.approx(tree.ended[0].score, abs=1e-4)
    page.get_by_label("step", exact=True).fill("2")
    expect(page.locator(".candidate:not(.later)")).to_have_count(sum(map(len, tree.steps[:2])))
    assert "t=1" in page.url
    page.get_by_label("length penalty α").fill("0")
    page.get_by_label("step", exact=True).fill(str(len(tree.steps)))
    likeliest = max(tree.ended, key=lambda one: one.log_prob)
    expect(page.locator(".why tr.winning td").first).to_have_text(likeliest.text)


def test_paths_have_their_probabilities(page: Page, address: str, tree: SearchTree) -> None:
    """The number is that of the path, by which rows are ranked; that of the token is small, and after ×."""
    open_view(page, address, "decide")
    for some in tree.steps[:4]:
        best = max(one.total for one in some)
        chances = []
        for one in some:
            place = node(page, one)
            chances.append(percentage(place.locator(".chance").text_content() or ""))
            assert chances[-1] == pytest.approx(math.exp(one.total), rel=0.06, abs=0.0006)
            bar, box = (place.locator(name).get_attribute("width") for name in (".share", ".box"))
            assert float(str(bar)) / float(str(box)) == pytest.approx(math.exp(one.total - best), abs=0.02)
        assert chances == sorted(chances, reverse=True)


def test_a_path_is_lit_and_equal_words_are_told_apart(page: Page, address: str, tree: SearchTree) -> None:
    open_view(page, address, "decide")
    by_id = {one.id: one for some in tree.steps for one in some}
    one = tree.steps[3][-1]
    node(page, one).hover()
    lit = {one.id}
    while (parent := one.parent) is not None:
        one = by_id[parent]
        lit.add(one.id)
    found = page.locator(".candidate.lit").evaluate_all("all => all.map(e => Number(e.dataset.id))")
    assert set(found) == lit
    for some in tree.steps:
        names = [node(page, one).get_attribute("aria-label") for one in some]
        words = [str(name).split(" × ")[0] for name in names]
        assert len(set(words)) == len(words)


def test_the_tree_goes_on_beyond_the_window(page: Page, address: str, tree: SearchTree) -> None:
    open_view(page, address, "decide", TIRED)
    more = page.locator(".beyond.right")
    expect(more).to_contain_text("more")
    expect(page.locator(".beyond.left")).to_have_count(0)
    more.click()
    expect(page.locator(".beyond.left")).to_contain_text("before")


def test_playing_moves_without_building_anew(page: Page, address: str, tree: SearchTree) -> None:
    page.emulate_media(reduced_motion="reduce")
    open_view(page, address, "decide", more="&t=0")
    first = node(page, tree.steps[0][0])
    first.evaluate("e => { e.kept = true; }")
    expect(page.locator(".candidate:not(.later)")).to_have_count(len(tree.steps[0]))
    page.get_by_label("speed").select_option("4")
    page.locator("main").focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.locator("main").focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".candidate:not(.later)")).to_have_count(sum(map(len, tree.steps)))
    assert first.evaluate("e => e.kept")


def test_controls_show_the_values_in_use(page: Page, address: str, model: weft.Translator) -> None:
    """A beam that the menu has not is added to it; α is where the slider can stand."""
    open_view(page, address, "decide", more="&beam=7&alpha=0.55")
    expect(page.get_by_label("beam", exact=True)).to_have_value("7")
    tree = model.search_tree(TEXT, beam=7)
    expect(page.locator(".candidate")).to_have_count(sum(map(len, tree.steps)))
    expect(page.get_by_label("length penalty α")).to_have_value("0.6")
    score = max(one.log_prob / one.length**0.6 for one in tree.ended)
    assert number(page.locator(".why tr.winning td").last.inner_text()) == pytest.approx(score, abs=1e-4)
    open_view(page, address, "decide", more="&alpha=null&beam=[]")
    expect(page.get_by_label("length penalty α")).to_have_value("1")


def test_a_candidate_is_forced(page: Page, address: str, model: weft.Translator, tree: SearchTree) -> None:
    """One that was pruned, which its own path leads to."""
    open_view(page, address, "decide")
    best = tree.steps[0][0]
    rival = next(one for one in tree.steps[1] if one.parent == best.id and one.fate == "pruned")
    node(page, rival).click()
    forced = model.search_tree(TEXT, WhatIf(force={1: rival.token}))
    expect(page.locator(".why tr.winning td").first).to_have_text(forced.ended[0].text)
    expect(page.locator(".what-if")).to_contain_text(f"→ {rival.token.removeprefix('·')}")
    page.go_back()
    expect(page.locator(".why tr.winning td").first).to_have_text(tree.ended[0].text)
    other = next(one for one in tree.steps[0] if one.token != best.token)
    node(page, other).press("Enter")
    forced = model.search_tree(TEXT, WhatIf(force={0: other.token}))
    expect(page.locator(".why tr.winning td").first).to_have_text(forced.ended[0].text)


def test_the_next_token_at_a_temperature(page: Page, address: str, seen: AttentionMaps, model: weft.Translator) -> None:
    """Bars of the chosen step move with the slider, and are what the model says at this temperature."""
    open_view(page, address, "decide", more="&t=2")
    bars = page.locator(".inspector .bar")
    first = bars.first.locator(".number")
    expect(first).to_have_text(f"{math.exp(seen.log_probs[2]) * 100:.0f} %")
    page.get_by_label("Temperature").fill("2")
    warm = model.attention(TEXT, seen.translation, WhatIf(temperature=2.0))
    shown = percentage(first.inner_text())
    assert shown == pytest.approx(math.exp(warm.log_probs[2]), rel=0.2), "of most tokens only the sum is known"
    page.wait_for_function("location.hash.includes('temperature=2')")


def test_nothing_is_shown_before_the_tree(page: Page, address: str) -> None:
    held: list[Route] = []
    page.route("**/api/search", lambda route: held.append(route))
    with page.expect_request("**/api/search"):
        page.goto(f"{address}#/decide")
    expect(page.get_by_role("button", name="Play")).to_have_count(0)
    page.wait_for_timeout(50)
    held[0].continue_()
    expect(page.get_by_role("button", name="Play")).to_be_visible()


# Change.


def test_switch_heads_off(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "change")
    board = page.get_by_role("region", name="Encoder–decoder")
    for layer in (2, 3):
        board.get_by_role("button", name=f"layer {layer}", exact=True).click()
    without = model.attention(TEXT, what_if=WhatIf(off=CROSS))
    now = page.locator(".results tr.now")
    expect(now.locator("th")).to_have_text("Without 8 heads")
    expect(now.locator("td").first).to_have_text(without.translation)
    score = number(now.locator(".score").inner_text())
    assert score == pytest.approx(without.score, abs=1e-4)
    whole = number(page.locator(".results .score").first.inner_text())
    assert number(now.locator(".change").inner_text()) == pytest.approx(score - whole, abs=2e-4)
    first = board.get_by_role("button", name="Encoder–decoder layer 2 head 1")
    expect(first).to_have_attribute("aria-pressed", "false")
    page.get_by_role("link", name="Look").click()
    expect(page.locator(".what-if")).to_have_count(8)
    page.get_by_role("link", name="Change").click()
    expect(first).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="All on").click()
    expect(first).to_have_attribute("aria-pressed", "true")
    expect(now).to_have_count(0)


def test_what_was_written_is_scored_without_heads(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "change", more="&off=" + ",".join(f"cross.{one.layer}.{one.head}" for one in CROSS))
    after = model.attention(TEXT, model.attention(TEXT).ids, WhatIf(off=CROSS))
    row = page.locator(".results tr", has_text="rated without them")
    assert number(row.locator(".score").inner_text()) == pytest.approx(after.score, abs=1e-4)


def test_heads_ranked_over_many_texts(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "change")
    ranked = json.loads((model.folders[0].path / "heads.json").read_text(encoding="utf-8"))["heads"]
    bars = page.locator(".ranked .bar")
    shown = [text.replace("−", "-").split(" ± ") for text in bars.locator(".number").all_inner_texts()]
    assert [float(loss) for loss, _ in shown] == pytest.approx([one["loss"] for one in ranked], abs=1e-4)
    assert [float(half) for _, half in shown] == pytest.approx([(o["high"] - o["low"]) / 2 for o in ranked], abs=1e-4)
    expect(page.locator(".inspector")).to_contain_text("1,000 pairs")
    bars.first.click()
    best = ranked[0]
    page.wait_for_function(f"location.hash.includes('off={best['kind']}.{best['layer']}.{best['head']}')")


def test_heads_that_matter_here(page: Page, address: str, model: weft.Translator, seen: AttentionMaps) -> None:
    """Each cell is filled as it comes; a new sentence forgets them."""
    open_view(page, address, "change")
    page.get_by_role("button", name="Which heads matter here?").click()
    expect(page.locator(".switch")).to_have_count(36)
    expect(page.get_by_role("radio", name="Here")).to_be_checked()
    expect(page.get_by_role("button", name="Which heads matter here?")).to_be_enabled()
    cell = page.get_by_role("button", name="Encoder layer 1 head 2", exact=False)
    fall = seen.score - model.attention(TEXT, seen.ids, WhatIf(off=[Head("encoder", 1, 2)])).score
    said = number(str(cell.get_attribute("aria-label")).split(": ")[1].split(",")[0])
    assert said == pytest.approx(fall, abs=2e-4)
    page.get_by_label("English").fill("We are eating bread.")
    expect(page.get_by_role("radio", name="Here")).to_have_count(0)
    expect(page.get_by_role("radio", name="Over many texts")).to_be_checked()


def test_importance_of_another_sentence_is_not_shown(page: Page, address: str) -> None:
    held: list[Route] = []
    page.route("**/api/importance", lambda route: held.append(route))
    open_view(page, address, "change")
    with page.expect_request("**/api/importance"):
        page.get_by_role("button", name="Which heads matter here?").click()
    page.get_by_label("English").fill("We are eating bread.")
    expect(page.locator(".results td").first).to_have_text("Wir essen Brot.")
    page.wait_for_timeout(50)
    held[0].fulfill(content_type="application/x-ndjson", body='{"kind": "cross", "layer": 1, "head": 1, "fall": 9.0}\n')
    page.wait_for_timeout(200)
    expect(page.locator('.switch[aria-label*="9.0000"]')).to_have_count(0)


def test_replace_a_token(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "change", TIRED)
    source = model.attention(TIRED).source
    at = source.index("·tired")
    page.get_by_role("listbox", name="tokens of the text").get_by_role("option", name="tired").click()
    page.get_by_label("in place of tired").fill("wide")
    page.keyboard.press("Enter")
    changed = model.attention(TIRED, what_if=WhatIf(replace={at: "wide"}))
    expect(page.locator(".results tr.now td").first).to_have_text(changed.translation)
    assert number(page.locator(".results tr.now .score").inner_text()) == pytest.approx(changed.score, abs=1e-4)
    page.get_by_role("button", name="As it is").click()
    expect(page.locator(".results tr.now")).to_have_count(0)


def test_force_a_word(page: Page, address: str, model: weft.Translator) -> None:
    open_view(page, address, "change")
    page.get_by_role("listbox", name="tokens that are written").get_by_role("option").first.click()
    page.get_by_label("another word").fill("Eine")
    page.keyboard.press("Enter")
    changed = model.attention(TEXT, what_if=WhatIf(force={0: "·Eine"}))
    expect(page.locator(".results tr.now td").first).to_have_text(changed.translation)
    expect(page.locator(".results tr.now th")).to_have_text("1 forced token")


def test_switches_are_one_tab_stop(page: Page, address: str) -> None:
    open_view(page, address, "change")
    grid = page.get_by_role("grid").first
    assert grid.locator("[tabindex='0']").count() == 1
    grid.locator("[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert str(page.locator(":focus").get_attribute("aria-label")).startswith("Encoder layer 2 head 2")
    page.keyboard.press("Space")
    expect(page.locator(".what-if")).to_contain_text("Encoder 2·2 off")


@pytest.mark.parametrize("heads", [16, 32])
def test_many_heads_do_not_overlap(browser: Browser, tmp_path: Path, heads: int) -> None:
    """The middle of each switch is that switch, and the page is not wider than the window."""
    settings = {"width": 64, "layers": 2, "mixer.heads": heads, "cross.heads": heads}
    many = plan("transformer-tiny").with_settings(settings)
    with served(weft.Translator([model_folder(tmp_path / "model", many, ("en", "de"))])) as address:
        for width in (390, 1280):
            for page in watched(browser, address, viewport={"width": width, "height": 800}):
                open_view(page, address, "change", "A red dog")
                expect(page.locator(".switch")).to_have_count(3 * 2 * heads)
                covered = page.locator(".switch").evaluate_all(
                    """all => all.filter((e) => {
                      e.scrollIntoView({ block: "center", inline: "center" });
                      const { left, top, width, height } = e.getBoundingClientRect();
                      return document.elementFromPoint(left + width / 2, top + height / 2) !== e;
                    }).length"""
                )
                assert covered == 0
                assert page.evaluate("document.documentElement.scrollWidth") <= width


# All of them.


@pytest.mark.parametrize("family", ["bahdanau", "luong", "gnmt", "convs2s", "seq2seq-rnn"])
def test_every_family_in_one_and_two_panes(browser: Browser, tmp_path: Path, family: str) -> None:
    small = tiny_plan("preset", f"{family}-tiny").with_settings({"width": 32})
    translator = weft.Translator([model_folder(tmp_path / "model", small, ("en", "de"))])
    attends = family != "seq2seq-rnn"
    with served(translator) as address:
        for page in watched(browser, address):
            for view in VIEWS if attends else ("run", "decide", "change"):
                open_view(page, address, view, "A red dog")
                open_view(page, address, view, "A red dog", "&b=1&b.text=An+old+cat+sleeps")
                page.locator(f"main > [pane=b] {'.candidate' if view == 'decide' else 'tbody tr'}").first.wait_for()
                assert page.evaluate("document.documentElement.scrollWidth") <= 1280
            expect(page.locator("nav a")).to_have_count(6 if attends else 4)
            if attends:
                open_view(page, address, "compute", "A red dog")
                seen = translator.attention("A red dog")
                layer = len(seen.each("cross", None))
                numbers = seen.numbers("cross", layer, 1, 0)
                shown = [number(text) for text in page.locator(".numbers tbody .score").all_inner_texts()]
                torch.testing.assert_close(torch.tensor(shown), numbers.scores, atol=6e-3, rtol=1e-3)
                expect(page.locator(".numbers .scaled")).to_have_count(0)
                expect(page.locator(".remark")).to_contain_text("It is not scaled")


def test_a_language_model_in_compute_and_change(browser: Browser, tmp_path: Path) -> None:
    generator = weft.load(toy_generator(tmp_path / "lm").path)
    text = "The red cat"
    with served(generator) as address:
        for page in watched(browser, address):
            open_view(page, address, "compute", text, "&at=decoder.1.mix:2&q=2")
            numbers = generator.attention(text).numbers("decoder", 1, 2, 2)
            shown = [number(one) for one in page.locator(".numbers tbody .score").all_inner_texts()]
            torch.testing.assert_close(torch.tensor(shown), numbers.scores, atol=6e-3, rtol=1e-3)
            open_view(page, address, "change", text)
            page.locator(".switch").first.click()
            without = generator.attention(text, what_if=WhatIf(off=[Head("decoder", 1, 1)]))
            expect(page.locator(".results tr.now th")).to_have_text("Without 1 head")
            expect(page.locator(".stage")).to_have_attribute("aria-busy", "false")
            written = without.log_probs[-len(without.ids) :]
            score = number(page.locator(".results tr.now .score").inner_text())
            assert score == pytest.approx(sum(written) / len(written), abs=1e-4)
            after = generator.attention(text, generator.attention(text).ids, WhatIf(off=[Head("decoder", 1, 1)]))
            again = number(page.locator(".results tr", has_text="rated without them").locator(".score").inner_text())
            assert again == pytest.approx(sum(after.log_probs[-len(written) :]) / len(written), abs=1e-4)
            page.get_by_role("button", name="Which heads matter here?").click()
            expect(page.get_by_role("button", name="Which heads matter here?")).to_be_enabled()
            expect(page.locator(".ranked .bar")).to_have_count(4)


@pytest.mark.parametrize("width", [390, 1280, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_fits(browser: Browser, address: str, scheme: str, width: int) -> None:
    """Nothing is wider than the window, and no token is cut."""
    for page in watched(browser, address, viewport={"width": width, "height": 844}, color_scheme=scheme):
        for view in VIEWS:
            open_view(page, address, view, TIRED)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view
            cut = page.evaluate(
                "[...document.querySelectorAll('main .token, main .chip, main .segmented span, main textarea, main b')]"
                ".filter(e => e.clientWidth)"
                ".filter(e => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 2)"
                ".map(e => e.textContent || e.value)"
            )
            assert cut == [], view
            tables = page.locator(".table-place").evaluate_all("e => e.map(e => [e.clientWidth, e.scrollWidth])")
            assert all(whole <= seen for seen, whole in tables), view


def test_numbers_are_saved_as_a_table(page: Page, address: str, seen: AttentionMaps, tmp_path: Path) -> None:
    open_view(page, address, "compute", more="&at=decoder.2.cross:3&q=2")
    page.get_by_label("Save or copy this figure").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save CSV").click()
    download.value.save_as(tmp_path / "numbers.csv")
    rows = [*csv.DictReader((tmp_path / "numbers.csv").open(encoding="utf-8"))]
    keys = [row for row in rows if not row["key"].startswith("(") or row["key"] == "(end)"]
    weights = torch.tensor([float(row["weight"]) for row in keys])
    torch.testing.assert_close(weights, seen.numbers("cross", 2, 3, 2).weights, atol=1e-4, rtol=0)
