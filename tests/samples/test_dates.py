"""Every form by hand on two days, no string with two meanings over the whole calendar, and an honest split."""

from datetime import date, datetime, timedelta

import pytest

from weft.errors import WeftError
from weft.samples.dates import FIRST, FORMS, LAST, de_ordinal, de_year, en_ordinal, en_year, make_dates, write

CALENDAR = [FIRST + timedelta(n) for n in range(36525)]  # 100 years, 25 of them leap years


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_named_by_how_it_writes_the_third_of_may_1999(form: str) -> None:
    language, example = form.split(": ", 1)
    assert language in {"en", "de"}
    assert write(date(1999, 5, 3), form) == example


def test_every_form_of_another_day() -> None:
    assert [write(date(2001, 10, 12), form) for form in FORMS] == [
        "the twelfth of October 2001",
        "the twelfth of October two thousand and one",
        "October the twelfth, 2001",
        "12th October 2001",
        "October 12, 2001",
        "12 October 2001",
        "12 october 2001",
        "Fri 12 Oct '01",
        "Friday, October 12, 2001",
        "2001 October 12",
        "10/12/2001",
        "10/12/01",
        "20011012",
        "12. Oktober 2001",
        "12. oktober 2001",
        "den 12. Oktober 2001",
        "der 12. Oktober '01",
        "am zwölften Oktober 2001",
        "zwölfter Oktober 2001",
        "zwölfter Oktober zweitausendeins",
        "Freitag, 12. Oktober 2001",
        "Fr., 12.10.2001",
        "12.10.2001",
        "12.10.01",
        "12.10.01",
        "12. 10. 2001",
    ]


def test_half_of_the_forms_are_english() -> None:
    assert sum(form.startswith("en: ") for form in FORMS) == sum(form.startswith("de: ") for form in FORMS) == 13


def test_no_string_means_two_days() -> None:
    assert CALENDAR[-1] == LAST
    meaning: dict[str, date] = {}
    for writer in FORMS.values():
        for day in CALENDAR:
            assert meaning.setdefault(writer(day), day) == day


@pytest.mark.parametrize(
    ("form", "pattern"),
    [("en: 05/03/1999", "%m/%d/%Y"), ("en: 19990503", "%Y%m%d"), ("de: 03.05.1999", "%d.%m.%Y")],
)
def test_numbers_are_read_back_by_the_stated_order(form: str, pattern: str) -> None:
    for day in CALENDAR[::97]:
        assert datetime.strptime(write(day, form), pattern).date() == day


def test_two_digit_years_reach_from_1950_to_2049() -> None:
    assert [write(date(year, 1, 2), "de: 3.5.99") for year in (1950, 1999, 2000, 2049)] == [
        "2.1.50",
        "2.1.99",
        "2.1.00",
        "2.1.49",
    ]


@pytest.mark.parametrize("day", [date(1949, 12, 31), date(2050, 1, 1)])
def test_days_outside_are_refused(day: date) -> None:
    with pytest.raises(WeftError, match="dates run from 1950-01-01 to 2049-12-31"):
        write(day, "en: 3 May 1999")


def test_an_unknown_form_is_answered_with_the_nearest() -> None:
    with pytest.raises(WeftError, match=r"no form of date 'en: 3 Mai 1999'\. Did you mean 'en: 3 May 1999'\?"):
        write(date(1999, 5, 3), "en: 3 Mai 1999")


def test_weekdays_are_those_of_the_calendar() -> None:
    moon, leap = date(1969, 7, 20), date(2024, 2, 29)
    assert write(moon, "en: Monday, May 3, 1999") == "Sunday, July 20, 1969"
    assert write(moon, "de: Mo., 03.05.1999") == "So., 20.07.1969"
    assert write(leap, "en: Mon 3 May '99") == "Thu 29 Feb '24"
    assert write(leap, "de: Montag, 3. Mai 1999") == "Donnerstag, 29. Februar 2024"


def test_english_ordinals() -> None:
    assert " ".join(en_ordinal(n) for n in range(1, 32)) == (
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third "
        "twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
    )
    assert [write(date(1999, 5, n), "en: 3rd May 1999").split()[0] for n in (1, 2, 11, 13, 20, 21, 22, 30, 31)] == (
        ["1st", "2nd", "11th", "13th", "20th", "21st", "22nd", "30th", "31st"]
    )


def test_german_ordinals() -> None:
    assert " ".join(de_ordinal(n) + "er" for n in range(1, 32)) == (
        "erster zweiter dritter vierter fünfter sechster siebter achter neunter zehnter elfter zwölfter dreizehnter "
        "vierzehnter fünfzehnter sechzehnter siebzehnter achtzehnter neunzehnter zwanzigster einundzwanzigster "
        "zweiundzwanzigster dreiundzwanzigster vierundzwanzigster fünfundzwanzigster sechsundzwanzigster "
        "siebenundzwanzigster achtundzwanzigster neunundzwanzigster dreißigster einunddreißigster"
    )


def test_spoken_years() -> None:
    assert [en_year(year) for year in (1950, 1999, 2000, 2009, 2010, 2049)] == [
        "nineteen fifty",
        "nineteen ninety-nine",
        "two thousand",
        "two thousand and nine",
        "twenty ten",
        "twenty forty-nine",
    ]
    assert [de_year(year) for year in (1950, 1976, 2000, 2001, 2016, 2021)] == [
        "neunzehnhundertfünfzig",
        "neunzehnhundertsechsundsiebzig",
        "zweitausend",
        "zweitausendeins",
        "zweitausendsechzehn",
        "zweitausendeinundzwanzig",
    ]


def test_no_day_is_in_two_lists() -> None:
    pairs = make_dates()
    train, valid, test = ({row[1] for row in rows} for rows in (pairs.train, pairs.valid, pairs.test))
    assert not train & valid
    assert not train & test
    assert not valid & test
    assert (len(valid), len(test)) == (200, 2000)
    assert not {row[0] for row in pairs.train} & {row[0] for row in pairs.test}


def test_sizes_and_forms() -> None:
    pairs = make_dates(held_out=3, valid=5, train_pairs=7)
    assert (len(pairs.train), len(pairs.valid), len(pairs.test)) == (7, 5, 3 * len(FORMS))
    assert {form for _, _, form in pairs.test} == set(FORMS)
    assert all(write(date.fromisoformat(iso), form) == written for written, iso, form in pairs.test)


def test_every_form_is_trained_about_equally_often() -> None:
    pairs = make_dates()
    slashes = sum("/" in written for written, _ in pairs.train)  # two forms of 26
    assert slashes / len(pairs.train) == pytest.approx(2 / 26, rel=0.1)


def test_the_seed_decides_everything() -> None:
    small = {"held_out": 20, "valid": 20, "train_pairs": 100}
    assert make_dates(seed=4, **small) == make_dates(seed=4, **small)
    assert make_dates(seed=4, **small) != make_dates(seed=5, **small)


@pytest.mark.parametrize(
    ("held_out", "valid", "train_pairs"),
    [(36325, 200, 1), (36524, 0, len(FORMS) + 1), (36525, 1, 0), (-1, 200, 10), (10, -1, 10), (10, 10, -1)],
)
def test_impossible_sizes_are_refused(held_out: int, valid: int, train_pairs: int) -> None:
    with pytest.raises(
        WeftError, match=f"cannot hold out {held_out} days, keep {valid} .* make {train_pairs} training"
    ):
        make_dates(held_out=held_out, valid=valid, train_pairs=train_pairs)


def test_the_last_day_may_be_used_up() -> None:
    pairs = make_dates(held_out=0, valid=36524, train_pairs=len(FORMS))
    assert len({iso for _, iso in pairs.train}) == 1
    assert len(pairs.train) == len(FORMS)
