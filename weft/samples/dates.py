"""Dates as people write them, in English and in German, paired with ISO dates: the task of `weft demo`.

    the third of May 1999  →  1999-05-03
    Montag, 3. Mai 1999    →  1999-05-03

The task needs no download, and every right answer is known. A model has to copy (the year), look up (the month's name),
reorder (day and month) and ignore (the weekday), so its attention is worth looking at.

Every written date means one day, by these conventions:

- dots are day.month.year, slashes month/day/year, eight digits year-month-day;
- two-digit years 00-49 are 20xx and 50-99 are 19xx, so days run from 1950-01-01 to 2049-12-31 and no further.

Names of months and weekdays are tables here, not `strftime`, because that answers in the language of the machine.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from weft.errors import WeftError, unknown

FIRST, LAST = date(1950, 1, 1), date(2049, 12, 31)

# Months are counted from 1, as `date.month` does; weekdays from Monday = 0, as `date.weekday()` does.
EN_MONTHS = ("", "January", "February", "March", "April", "May", "June", "July",
             "August", "September", "October", "November", "December")  # fmt: skip
DE_MONTHS = ("", "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli",
             "August", "September", "Oktober", "November", "Dezember")  # fmt: skip
EN_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DE_WEEKDAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")

# Numbers below twenty, then the tens; nothing is said for 0.
EN_SMALL = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
            "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")  # fmt: skip
EN_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
DE_SMALL = ("", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf",
            "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn")  # fmt: skip
DE_TENS = ("", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")

EN_IRREGULAR = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
                "twelve": "twelfth", "twenty": "twentieth", "thirty": "thirtieth"}  # fmt: skip
DE_IRREGULAR = {1: "erst", 3: "dritt", 7: "siebt", 8: "acht"}


@cache
def en_number(n: int) -> str:
    """23 → twenty-three, for numbers below 100."""
    if n < 20:
        return EN_SMALL[n]
    tens, ones = divmod(n, 10)
    return f"{EN_TENS[tens]}-{EN_SMALL[ones]}" if ones else EN_TENS[tens]


@cache
def de_number(n: int) -> str:
    """23 → dreiundzwanzig, for numbers below 100."""
    if n < 20:
        return DE_SMALL[n]
    tens, ones = divmod(n, 10)
    before = "ein" if ones == 1 else DE_SMALL[ones]
    return f"{before}und{DE_TENS[tens]}" if ones else DE_TENS[tens]


@cache
def en_ordinal(n: int) -> str:
    """23 → twenty-third, for days of a month: only the last word changes."""
    tens, dash, last = en_number(n).rpartition("-")
    return tens + dash + EN_IRREGULAR.get(last, last + "th")


@cache
def de_ordinal(n: int) -> str:
    """23 → dreiundzwanzigst, for days of a month: the stem, to which -en or -er is added."""
    return DE_IRREGULAR.get(n) or de_number(n) + ("t" if n < 20 else "st")


def en_year(year: int) -> str:
    """1999 → nineteen ninety-nine, 2010 → twenty ten, 2001 → two thousand and one."""
    century, rest = divmod(year, 100)
    if rest >= 10:
        return f"{en_number(century)} {en_number(rest)}"
    return f"two thousand and {en_number(rest)}" if rest else "two thousand"


def de_year(year: int) -> str:
    """1999 → neunzehnhundertneunundneunzig, 2001 → zweitausendeins."""
    return ("neunzehnhundert" if year < 2000 else "zweitausend") + de_number(year % 100)


def th(d: date) -> str:
    """3 → 3rd: the digits with the last two letters of the spoken ordinal."""
    return f"{d.day}{en_ordinal(d.day)[-2:]}"


# A form's name is its language and how it writes 3 May 1999, a Monday.
FORMS: dict[str, Callable[[date], str]] = {
    "en: the third of May 1999": lambda d: f"the {en_ordinal(d.day)} of {EN_MONTHS[d.month]} {d.year}",
    "en: the third of May nineteen ninety-nine": lambda d: (
        f"the {en_ordinal(d.day)} of {EN_MONTHS[d.month]} {en_year(d.year)}"
    ),
    "en: May the third, 1999": lambda d: f"{EN_MONTHS[d.month]} the {en_ordinal(d.day)}, {d.year}",
    "en: 3rd May 1999": lambda d: f"{th(d)} {EN_MONTHS[d.month]} {d.year}",
    "en: May 3, 1999": lambda d: f"{EN_MONTHS[d.month]} {d.day}, {d.year}",
    "en: 3 May 1999": lambda d: f"{d.day} {EN_MONTHS[d.month]} {d.year}",
    "en: 3 may 1999": lambda d: f"{d.day} {EN_MONTHS[d.month].lower()} {d.year}",
    "en: Mon 3 May '99": lambda d: f"{EN_WEEKDAYS[d.weekday()][:3]} {d.day} {EN_MONTHS[d.month][:3]} '{d:%y}",
    "en: Monday, May 3, 1999": lambda d: f"{EN_WEEKDAYS[d.weekday()]}, {EN_MONTHS[d.month]} {d.day}, {d.year}",
    "en: 1999 May 3": lambda d: f"{d.year} {EN_MONTHS[d.month]} {d.day}",
    "en: 05/03/1999": lambda d: f"{d.month:02d}/{d.day:02d}/{d.year}",
    "en: 5/3/99": lambda d: f"{d.month}/{d.day}/{d:%y}",
    "en: 19990503": lambda d: f"{d.year}{d.month:02d}{d.day:02d}",
    "de: 3. Mai 1999": lambda d: f"{d.day}. {DE_MONTHS[d.month]} {d.year}",
    "de: 3. mai 1999": lambda d: f"{d.day}. {DE_MONTHS[d.month].lower()} {d.year}",
    "de: den 3. Mai 1999": lambda d: f"den {d.day}. {DE_MONTHS[d.month]} {d.year}",
    "de: der 3. Mai '99": lambda d: f"der {d.day}. {DE_MONTHS[d.month]} '{d:%y}",
    "de: am dritten Mai 1999": lambda d: f"am {de_ordinal(d.day)}en {DE_MONTHS[d.month]} {d.year}",
    "de: dritter Mai 1999": lambda d: f"{de_ordinal(d.day)}er {DE_MONTHS[d.month]} {d.year}",
    "de: dritter Mai neunzehnhundertneunundneunzig": lambda d: (
        f"{de_ordinal(d.day)}er {DE_MONTHS[d.month]} {de_year(d.year)}"
    ),
    "de: Montag, 3. Mai 1999": lambda d: f"{DE_WEEKDAYS[d.weekday()]}, {d.day}. {DE_MONTHS[d.month]} {d.year}",
    "de: Mo., 03.05.1999": lambda d: f"{DE_WEEKDAYS[d.weekday()][:2]}., {d.day:02d}.{d.month:02d}.{d.year}",
    "de: 03.05.1999": lambda d: f"{d.day:02d}.{d.month:02d}.{d.year}",
    "de: 03.05.99": lambda d: f"{d.day:02d}.{d.month:02d}.{d:%y}",
    "de: 3.5.99": lambda d: f"{d.day}.{d.month}.{d:%y}",
    "de: 3. 5. 1999": lambda d: f"{d.day}. {d.month}. {d.year}",
}


def write(day: date, form: str) -> str:
    """The day written in a form.

    >>> write(date(1999, 5, 3), "de: am dritten Mai 1999")
    'am dritten Mai 1999'
    """
    if form not in FORMS:
        raise WeftError(unknown("form of date", form, FORMS))
    if not FIRST <= day <= LAST:
        raise WeftError(f"{day} is out of range: dates run from {FIRST} to {LAST}.")
    return FORMS[form](day)


@dataclass(frozen=True)
class DatePairs:
    """Written dates and their ISO dates; no day of one list occurs in another."""

    train: list[tuple[str, str]]  # written, ISO
    valid: list[tuple[str, str]]
    test: list[tuple[str, str, str]]  # written, ISO, name of the form


def make_dates(seed: int = 1, held_out: int = 2000, valid: int = 200, train_pairs: int = 60000) -> DatePairs:
    """Split the calendar by days, then write: the same seed gives the same pairs.

    - the test has `held_out` days, each in every form, shuffled, so that any first part of it is a fair sample;
    - validation has `valid` further days, each in one random form;
    - training has `train_pairs` different choices of a remaining day and a form.

    Splitting by days, not by pairs, means that no answer of the test was ever seen in training.
    """
    forms = list(FORMS)
    days = [FIRST + timedelta(n) for n in range((LAST - FIRST).days + 1)]
    remaining = len(days) - held_out - valid
    if min(held_out, valid, train_pairs, remaining) < 0 or train_pairs > remaining * len(forms):
        raise WeftError(
            f"cannot hold out {held_out} days, keep {valid} for validation and make {train_pairs} training pairs of "
            f"the rest: there are {len(days)} days in {len(forms)} forms each, and no number may be negative."
        )

    rng = random.Random(seed)
    rng.shuffle(days)
    test_days, valid_days, train_days = days[:held_out], days[held_out : held_out + valid], days[held_out + valid :]
    test = [(write(day, form), day.isoformat(), form) for day in test_days for form in forms]
    rng.shuffle(test)
    chosen = (divmod(n, len(forms)) for n in rng.sample(range(remaining * len(forms)), train_pairs))
    return DatePairs(
        train=[(write(train_days[row], forms[column]), train_days[row].isoformat()) for row, column in chosen],
        valid=[(write(day, rng.choice(forms)), day.isoformat()) for day in valid_days],
        test=test,
    )
