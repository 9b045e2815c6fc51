"""Any text survives the subwords."""

from weft.checking.model_under_test import Finding, ModelUnderTest

HARD = (
    "",
    " two  spaces, before and between and after ",
    "a\ttab\r\nand\u2028every\u0085kind\x0bof line",
    "e\u0301 is not é, and \ufb01 is not fi",  # combining, ligature
    "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽",  # joined, flags, skin
    "שלום عَرَبِيّ ‏العربية‎ mixed",  # right to left, with marks
    "ภาษาไทย 中文 日本語 한국어 ᄒ\u1161\u11ab हिन्दी ქართული",
    "Z̸̧̡̢͔͍̳̈́̃̾a̶̧͙̟̅l̷̰͐g̴o̵",
    "\ufeff\u200b\u00ad\u2060 invisible \U000e0041",
    "\x00\x01\x1b[31m\x7f control",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010ffff \ue000 \ufffd \ufffe",
    "</s> <pad> <unk> the end Ġ ▁ @@",  # what other tools take for signs
    "x" * 10_000,
)


def round_trip(subject: ModelUnderTest) -> Finding:
    """A text as ids and back = the text."""
    lost = [text for text in HARD if subject.tokeniser.decode(subject.tokeniser.encode(text)) != text]
    return Finding(len(lost), 0, f"of {len(HARD)} texts")
