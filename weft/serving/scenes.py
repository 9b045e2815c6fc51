"""The scenes of a lecture: the links of a Markdown file that lead to a state of the page."""

import re
from collections.abc import Iterator
from pathlib import Path

from weft.disk import read_text
from weft.errors import WeftError
from weft.serving.service import Scene

MOST_BYTES = 10_000_000
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
BETWEEN = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*+]|\d+[.)])[ \t])|(?<=\n)(?=#)|^(#.*)$", re.MULTILINE)
LINK = re.compile(r"\[((?:[^\[\]]|\\.)*)\]\(<?((?:[^()\s<>]|\([^()\s]*\))*)>?(?:[ \t]+\"[^\"]*\")?\)")
MARKS = re.compile(r"^[ \t]*(?:#+|[-*+]|\d+[.)]|>)[ \t]+|`|\*\*|(?<!\w)[*_]|[*_](?!\w)", re.MULTILINE)


def scenes_of(file: Path) -> list[Scene]:
    """Every link of a Markdown file whose target has #/; its caption is its paragraph, less a title that begins it."""
    try:
        text = read_text(file, MOST_BYTES)
    except FileNotFoundError:
        raise WeftError(f"{file} does not exist.") from None
    except (OSError, ValueError) as error:
        raise WeftError(f"{file} cannot be read: {error}.") from None
    scenes = list(_scenes(FENCED.sub("\n\n", text)))
    if not scenes:
        raise WeftError(f"{file} has no scenes: links such as [a title](#/look?text=Hello).")
    return scenes


def _scenes(text: str) -> Iterator[Scene]:
    for paragraph in filter(None, BETWEEN.split(text)):
        for title, target in LINK.findall(paragraph):
            if "#/" in target:
                name = _plain(title)
                caption = _plain(paragraph).removeprefix(name).lstrip(" .:")
                yield Scene(name, caption, target[target.index("#/") :])


def _plain(markdown: str) -> str:
    """A paragraph of Markdown without its markup, on one line."""
    return " ".join(MARKS.sub("", LINK.sub(r"\1", markdown)).split())
