"""The formats of files, by their suffix."""

from pathlib import Path

from weft.errors import WeftError

FORMATS = (".png", ".svg", ".pdf")


def check_picture(file: Path) -> None:
    """Raise an error for a suffix that is none of them."""
    if file.suffix.lower() not in FORMATS:
        raise WeftError(f"{file} cannot be written: a picture is .png, .svg or .pdf, by the suffix of its name.")


def check_table(file: Path | None, option: str) -> None:
    """Raise an error where the suffix is not that of the option: --csv writes .csv. A pipe needs no suffix."""
    suffix = file.suffix.lower() if file else ""
    if file is None or suffix == f".{option}" or (file.exists() and not file.is_file()):
        return
    pictures = dict.fromkeys(FORMATS, "--map, --lines or --grid")
    others = {".csv": "--csv", ".html": "--html", ".json": "--json", **pictures}
    hint = f"; for {suffix} there is {others[suffix]}" if suffix in others else ""
    raise WeftError(f"{file} cannot be written: --{option} writes .{option}{hint}.")
