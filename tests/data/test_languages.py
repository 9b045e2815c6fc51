"""What languages are called."""

import pytest

from weft.data.languages import Languages, direction_of, language_name


@pytest.mark.parametrize(
    ("carried", "called"),
    [
        (("en", "de"), ("en", "de")),
        (("en", "de-DE"), ("en", "de")),
        (("EN_us", "DE-de"), ("en", "de")),
        (("en-US", "en-GB"), ("en-US", "en-GB")),
        (("zh-Hans", "zh-Hant"), ("zh-Hans", "zh-Hant")),
    ],
)
def test_a_direction_is_named_by_languages_and_by_regions_only_where_it_must(
    carried: Languages, called: Languages
) -> None:
    assert direction_of(carried) == called


def test_languages_have_names() -> None:
    assert [language_name(tag) for tag in ("de", "en-US", "tlh")] == ["German", "English", "tlh"]
