"""The formats of pictures, by the suffix of their file."""

from pathlib import Path

from weft.errors import WeftError

FORMATS = (".png", ".svg", ".pdf")


def check_picture(file: Path) -> None:
    """Raise an error for a suffix that is none of them."""
    if file.suffix.lower() not in FORMATS:
        raise WeftError(f"{file} cannot be written: a picture is .png, .svg or .pdf, by the suffix of its name.")
