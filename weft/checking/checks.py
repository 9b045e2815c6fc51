"""The list of all checks."""

import math
from collections.abc import Iterator, Mapping

from weft.checking.decoding import batched, beam_of_one, cached, padded, watched
from weft.checking.exports import exported
from weft.checking.model_under_test import Check, Finding, ModelUnderTest
from weft.checking.text import round_trip
from weft.checking.training import resumed
from weft.checking.weights import fast_attention, stored
from weft.errors import Interrupted, WeftError
from weft.exports.export import FORMATS
from weft.folder import Folder

CHECKS: dict[str, Check] = {
    "cached = uncached decoding": cached,
    "batched = single": batched,
    "padded = unpadded": padded,
    "beam 1 = greedy": beam_of_one,
    "watched = unwatched": watched,
    "fused = reference attention": fast_attention,
    "saved and loaded = original": stored,
    "text = its round trip": round_trip,
    "resumed = uninterrupted": resumed,
    **{f"export to {to} = original": exported(to) for to in FORMATS},
}


def check(
    folder: Folder, device: str = "cpu", checks: Mapping[str, Check] = CHECKS
) -> Iterator[tuple[str, Finding | str]]:
    """Run all checks; yield the name of each and its finding, or why it was skipped."""
    subject = ModelUnderTest.of(folder, device)
    for name, measure in checks.items():
        yield name, _measured(measure, subject)


def _measured(measure: Check, subject: ModelUnderTest) -> Finding | str:
    """The finding of a check; one that raises an error has failed, and the others still run."""
    try:
        return measure(subject)
    except Interrupted:
        raise
    except WeftError as error:
        return Finding(math.nan, 0, " ".join(str(error).split()))
