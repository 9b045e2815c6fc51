"""The sentence splitter: nothing is lost, and the hard places of English, German and the full-width scripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.data.sentences import split_long, split_sentences

ANY_TEXT = st.text() | st.text(alphabet="aB1.?!…,;:\"'”»«() \n\t\u00a0\u2029。！」と，", max_size=60)


def sentences(text: str) -> list[str]:
    return [sentence for sentence, _ in split_sentences(text)]


@given(ANY_TEXT)
def test_nothing_is_lost(text: str) -> None:
    pieces = split_sentences(text)
    assert "".join(sentence + space for sentence, space in pieces) == text
    assert all(sentence == sentence.strip() for sentence, _ in pieces)
    assert all(space == "" or space.isspace() for _, space in pieces)
    assert all(sentence for sentence, _ in pieces[1:])


@given(ANY_TEXT, st.integers(min_value=0, max_value=30))
def test_nothing_is_lost_in_long_sentences(text: str, limit: int) -> None:
    pieces = split_long(text, lambda piece: len(piece) <= limit)
    assert "".join(piece + space for piece, space in pieces) == text
    assert all(len(piece) <= max(limit, 1) for piece, _ in pieces)


def test_white_space_is_kept_as_it_was() -> None:
    assert split_sentences("One.  Two.\n\n\tThree\n") == [("One.", "  "), ("Two.", "\n\n\t"), ("Three", "\n")]
    assert split_sentences("  One.") == [("", "  "), ("One.", "")]
    assert split_sentences(" ") == [("", " ")]
    assert split_sentences("") == []


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith met Mrs. Jones at St. Mary's.",
        "Fruit, e.g. Apples, i.e. Pears.",
        "J. R. R. Tolkien wrote it.",
        "Pages No. 5 and Nr. 7 and Fig. 3 are missing.",
        "Pi is 3.14 or so.",
        "Wait... and see.",
        "He asked “Why?” and left.",
        "Smith et al. (2017) say so.",
        "Städte, z. B. Berlin, d. h. Großstädte.",
        "Das kostet ca. 5 Euro bzw. Dollar.",
        "Brot, Milch usw. sind da.",
        "Sie kam am 3. Mai im 19. Jahrhundert.",
        "Er wohnt in der 2. Etage.",
        "Dipl.-Ing. Müller kommt.",
        "1. Introduction",
        "He (Dr. Smith) came.",
        "「行こう！」と言った。",
        "« Oui. » Non",
    ],
)
def test_one_sentence_stays_whole(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rains. It pours.", ["It rains.", "It pours."]),
        ("Really?! Yes… No... Maybe!", ["Really?!", "Yes…", "No...", "Maybe!"]),
        ("He said “Go.” She went. (They left.) End.", ["He said “Go.”", "She went.", "(They left.)", "End."]),
        ("Er sagte: „Geh!“ Sie ging.", ["Er sagte: „Geh!“", "Sie ging."]),
        ("Done. “Good.” [Pause.] 5 left.", ["Done.", "“Good.”", "[Pause.]", "5 left."]),
        ("Sí. ¿Qué? ¡No!", ["Sí.", "¿Qué?", "¡No!"]),
        ("No. Not me.", ["No.", "Not me."]),
        ("Brot, Milch usw. Der Rest fehlt.", ["Brot, Milch usw.", "Der Rest fehlt."]),
        ("He came at 5 p.m. She left.", ["He came at 5 p.m.", "She left."]),
        ("That was 2020. Then came 12. Good.", ["That was 2020.", "Then came 12.", "Good."]),
        ("今日は。明日！「はい？」終わり", ["今日は。", "明日！", "「はい？」", "終わり"]),
        ("Title\nText goes on", ["Title", "Text goes on"]),
        ("Content.\n1. Introduction", ["Content.", "1. Introduction"]),
        ("2020. Das war gut.", ["2020.", "Das war gut."]),
        ("Is he a Dr? Yes.", ["Is he a Dr?", "Yes."]),
    ],
)
def test_sentences_end_where_they_should(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def long(text: str, limit: int) -> list[str]:
    return [piece for piece, _ in split_long(text, lambda piece: len(piece) <= limit)]


def test_a_sentence_that_fits_is_not_cut() -> None:
    assert long("One, two; three. Four, five.", 16) == ["One, two; three.", "Four, five."]


def test_a_long_sentence_is_cut_at_marks_before_words() -> None:
    assert long("one, two three; four five six", 20) == ["one, two three;", "four five six"]
    assert long("one two three, four five six", 20) == ["one two three,", "four five six"]
    assert long("one two three four", 10) == ["one two", "three four"]
    assert long("第一部分，第二部分，第三", 8) == ["第一部分，", "第二部分，第三"]


def test_a_mark_near_the_end_leaves_no_crumb() -> None:
    assert long("Well, one two three four five six", 20) == ["Well, one two", "three four five six"]


def test_a_word_that_does_not_fit_is_cut_within() -> None:
    pieces = split_long("a Donaudampfschiff b", lambda piece: len(piece) <= 8)
    assert pieces == [("a", " "), ("Donaudam", ""), ("pfschiff", " "), ("b", "")]


def test_long_runs_take_no_quadratic_time() -> None:
    for run in ("。" * 100_000 + "」と", " " * 100_000, "." * 100_000, "a. " * 30_000, "”" * 100_000):
        assert "".join(sentence + space for sentence, space in split_sentences(run)) == run


def test_what_is_too_long_is_cut_at_every_end_mark_also_before_lower_case() -> None:
    pieces = split_long("hello you. this is fun. " * 3, lambda text: len(text) < 30)
    assert [text for text, _ in pieces] == ["hello you.", "this is fun."] * 3
    assert "".join(text + space for text, space in pieces) == "hello you. this is fun. " * 3
