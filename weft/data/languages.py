"""Names of languages, and whether a file must be reversed to be read in a direction."""

import re

Languages = tuple[str, str]  # of source and target, as tags: en, en-US, EN_gb

NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque",
    "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "he": "Hebrew",
    "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "is": "Icelandic", "it": "Italian",
    "ja": "Japanese", "ka": "Georgian", "ko": "Korean", "la": "Latin", "lt": "Lithuanian", "lv": "Latvian",
    "mk": "Macedonian", "ms": "Malay", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian",
    "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "th": "Thai", "tl": "Tagalog", "tr": "Turkish",
    "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


def language_of(tag: str) -> str:
    """The first subtag: en-US and EN_gb are both en."""
    return re.split("[-_]", tag.lower())[0]


def language_name(tag: str) -> str:
    """The English name of a common language, else the tag itself."""
    return NAMES.get(language_of(tag), tag)


def same_language(one: str, other: str) -> bool:
    return language_of(one) == language_of(other)


def direction_of(languages: Languages) -> Languages:
    """The name of a model's direction: from en-US to de-DE is en-de. Regions are named only if both sides are the same
    language, as from en-US to en-GB."""
    source, target = languages
    return languages if same_language(source, target) else (language_of(source), language_of(target))


def is_reversed(carried: Languages, wanted: Languages) -> bool | None:
    """Whether a file in `carried` must be reversed to be read as `wanted`; None if it is in other languages."""
    for agree in (lambda one, other: one.lower() == other.lower()), same_language:
        for turned in (False, True):
            source, target = reversed(wanted) if turned else wanted
            if agree(carried[0], source) and agree(carried[1], target):
                return turned
    return None
